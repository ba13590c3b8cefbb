import { randomUUID } from 'node:crypto'
import type { CallToolResult, ElicitResult, InputRequiredResult } from '@modelcontextprotocol/client'
import { ToolloopError } from '../../../../core/errors.ts'
import type { JsonObject } from '../../../../core/messages.ts'
import type { Question, ToolContext } from '../../../tool.ts'
import { callOfStream, withCallStream } from '../../transport/http-transport.ts'
import type { McpClientSdk } from '../../transport/load-sdk.ts'
import type { Connection } from '../connection.ts'
import { GivenLinks } from '../context/given-links.ts'
import { type ListedTool, noTimeoutMs } from '../list-tools.ts'
import { linksIn, type McpToolResult, readCallResult } from './call-result.ts'
import { type CallAnswer, type HeldQuestion, OpenCall, type Progress } from './open-call.ts'
import { type AskedByServer, questionOf, readAnswers, readAsked, readRequest, type ServerRequest } from './questions.ts'

/** How long a server is left waiting for an answer: it holds a connection open meanwhile. */
const longestHoldMs = 60 * 60_000
/** How many calls may be held open at once. */
const mostHeld = 100
/** How often a server may have a call made again without asking anything. */
const mostRounds = 10

interface HeldCall {
  call: OpenCall
  question: HeldQuestion
  timer: NodeJS.Timeout
}

/** What a server is given back with the answers to its questions. */
interface Answers {
  inputResponses?: Record<string, ElicitResult>
  requestState?: string
}

/** A call of a tool, as its function is given it. */
export interface CallRequest {
  connection: Connection
  tool: ListedTool
  args: JsonObject
  ctx: Pick<ToolContext, 'runId' | 'signal' | 'progress' | 'trace' | 'answer' | 'asked'>
}

/** The calls of one server's tools, also over the questions that it asks in their course. */
export class ServerCalls {
  readonly #sdk: McpClientSdk
  readonly #name: string
  /** Whether a call may be made a second time where it is not known what came of the first. */
  readonly #mayRepeat: (tool: ListedTool) => boolean
  readonly #open = new Set<OpenCall>()
  readonly #held = new Map<string, HeldCall>()
  /** What its results have linked to. */
  readonly links: GivenLinks = new GivenLinks()

  constructor(sdk: McpClientSdk, name: string, mayRepeat: (tool: ListedTool) => boolean) {
    this.#sdk = sdk
    this.#name = name
    this.#mayRepeat = mayRepeat
  }

  /** Makes a call, or goes on with one that has asked something. Rejects with what the SDK does, or `tool_failed`. */
  async run(request: CallRequest): Promise<McpToolResult | Question> {
    const { asked: before, answer } = request.ctx
    const asked = readAsked(before)
    if (asked === undefined || answer === undefined) return this.#settle(request, this.#start(request))
    const answers = await readAnswers(asked.requests, answer)
    if ('problem' in answers) return questionOf(asked, answers.problem)
    return this.#settle(request, this.#goOn(request, asked, answers.results))
  }

  /** Takes a question that a server asks on its own account: that of a call which it holds open. */
  async elicit(params: unknown, signal: AbortSignal): Promise<ElicitResult> {
    const request = readRequest(params)
    // Over HTTP it comes in the response of its call. Else nothing says to which call it belongs: where there are several, perhaps of several
    // callers, to none.
    const own = callOfStream()
    const [only] = this.#open.size === 1 ? this.#open : []
    const call = own instanceof OpenCall ? own : only
    return call === undefined ? { action: 'cancel' } : call.ask(request, signal)
  }

  /** Ends what is held open. */
  close(): void {
    for (const id of this.#held.keys()) this.#take(id)?.call.cancel(new Error('closed'))
  }

  #start({ connection, tool, args, ctx: { trace } }: CallRequest, answers: Answers = {}, known?: AnsweredRequest): OpenCall {
    const params = { name: tool.name, arguments: args, ...answers, ...(trace === undefined ? {} : { _meta: trace.headers() }) }
    const toolDefinition = { name: tool.name, inputSchema: { ...tool.inputSchema, type: 'object' as const } }
    const send = async (call: OpenCall, signal: AbortSignal, onprogress: Progress) => {
      const options = { signal, timeout: noTimeoutMs, onprogress, allowInputRequired: true, toolDefinition }
      this.#open.add(call)
      try {
        return await withCallStream(streamEnded, call, () => connection.client.callTool(params, options))
      } finally {
        this.#open.delete(call)
      }
    }
    return new OpenCall(send, known)
  }

  #goOn(request: CallRequest, { state, requests }: AskedByServer, results: ElicitResult[]): OpenCall {
    switch (state.form) {
      case 'again': {
        const { names, requestState } = state
        const inputResponses = Object.fromEntries(results.map((result, at) => [names[at] ?? '', result]))
        return this.#start(request, { inputResponses, ...(requestState === undefined ? {} : { requestState }) })
      }
      case 'held': {
        const [asked] = requests
        const [result] = results
        if (asked === undefined || result === undefined) throw this.#gone()
        const held = this.#take(state.id)
        held?.question.reply(result)
        if (held !== undefined) return held.call
        if (!this.#mayRepeat(request.tool)) throw this.#gone()
        return this.#start(request, {}, { request: asked, result })
      }
      case 'repeat':
        if (results.some(({ action }) => action !== 'accept')) throw new ToolloopError('tool_failed', declinedText)
        return this.#start(request)
    }
  }

  async #settle(request: CallRequest, first: OpenCall): Promise<McpToolResult | Question> {
    for (let round = 1, call = first; round <= mostRounds; round++) {
      const next = await this.#next(request, call)
      if ('question' in next) return next.question
      const { answer } = next
      if (isResult(answer)) {
        return this.#resultOf(answer, request)
      }
      const question = this.#questionIn(answer)
      if (question !== undefined) return question
      const { requestState } = answer
      call = this.#start(request, requestState === undefined ? {} : { requestState })
    }
    throw new ToolloopError('tool_failed', `The MCP server \`${this.#name}\` wanted the call made again more than ${mostRounds} times.`)
  }

  async #next({ ctx }: CallRequest, call: OpenCall): Promise<{ answer: CallAnswer } | { question: Question }> {
    try {
      const next = await call.next(ctx)
      return 'held' in next ? { question: this.#hold(call, next.held) } : next
    } catch (error) {
      if (!(error instanceof this.#sdk.UrlElicitationRequiredError)) throw error
      const requests = error.elicitations.map(readRequest)
      return { question: questionOf({ mcpServer: this.#name, requests, state: { form: 'repeat' } }) }
    }
  }

  #resultOf(answer: CallToolResult, { ctx: { runId } }: CallRequest): McpToolResult {
    const result = readCallResult(answer)
    if (result === undefined) {
      throw new ToolloopError('tool_failed', `The MCP server \`${this.#name}\` answered with something other than a tool result.`)
    }
    if ('failure' in result) throw new ToolloopError('tool_failed', result.failure)
    this.links.add(runId, linksIn(answer))
    return result
  }

  #hold(call: OpenCall, question: HeldQuestion): Question {
    const id = randomUUID()
    const timer = setTimeout(() => this.#take(id)?.question.reply({ action: 'cancel' }), longestHoldMs).unref()
    this.#held.set(id, { call, question, timer })
    const [oldest] = this.#held.keys()
    if (this.#held.size > mostHeld && oldest !== undefined) this.#take(oldest)?.question.reply({ action: 'cancel' })
    return questionOf({ mcpServer: this.#name, requests: [question.request], state: { form: 'held', id } })
  }

  #take(id: string): HeldCall | undefined {
    const held = this.#held.get(id)
    this.#held.delete(id)
    clearTimeout(held?.timer)
    return held
  }

  /** What the server needs to know; undefined if it only wants the call made again. */
  #questionIn({ inputRequests = {}, requestState }: InputRequiredResult): Question | undefined {
    const names = Object.keys(inputRequests)
    if (names.length === 0) return undefined
    const requests = Object.values(inputRequests).map((one): ServerRequest => {
      if (one.method !== 'elicitation/create') {
        throw new ToolloopError('tool_failed', `The MCP server \`${this.#name}\` wants \`${one.method}\`, which is not allowed here.`)
      }
      return readRequest(one.params)
    })
    const state = { form: 'again' as const, names, ...(requestState === undefined ? {} : { requestState }) }
    return questionOf({ mcpServer: this.#name, requests, state })
  }

  #gone(): ToolloopError {
    return new ToolloopError(
      'tool_failed',
      `The question of the MCP server \`${this.#name}\` was answered, but the server has stopped waiting for it. Whether the call took effect is not known.`,
    )
  }
}

type AnsweredRequest = { request: ServerRequest; result: ElicitResult }

const declinedText = 'What the server asked for was declined. The call was not made.'

function isResult(answer: CallAnswer): answer is CallToolResult {
  return !('resultType' in answer) || answer.resultType !== 'input_required'
}

export function streamEnded(): Error {
  return new Error('the connection closed before the response arrived')
}
