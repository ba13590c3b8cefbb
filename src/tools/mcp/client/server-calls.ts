import { randomUUID } from 'node:crypto'
import type { CreateMessageResult, ElicitResult } from '@modelcontextprotocol/client'
import { ToolloopError } from '../../../core/errors.ts'
import type { JsonObject } from '../../../core/messages.ts'
import { processClock } from '../../../core/time/process-clock.ts'
import type { Question, ToolContext } from '../../tool.ts'
import type { McpClientSdk } from '../sdk/load-sdk.ts'
import type { McpServer } from '../server-config.ts'
import { withCallStream } from '../transport/http-transport.ts'
import { progressExtends } from './call-time.ts'
import { askedAtOnce } from './calls/asked-at-once.ts'
import { CallNotes, type NotedTask } from './calls/call-notes.ts'
import { linksIn, type McpToolResult, readCallResult } from './calls/call-result.ts'
import { HeldCalls } from './calls/held-calls.ts'
import { type AnsweredRequest, type CallAnswer, type HeldQuestion, OpenCall, type Progress } from './calls/open-call.ts'
import { OpenCalls } from './calls/open-calls.ts'
import { type AskedByServer, questionOf, readAnswers, readAsked, readRequest, type ServerRequest } from './calls/questions.ts'
import { Sampler, samplingLimits } from './calls/sampling.ts'
import { streamEnded } from './calls/stream-ended.ts'
import { askOfTask, asksForTask, cancelTask, readTask, type Task, taskTimeoutMs } from './calls/tasks.ts'
import { GivenLinks } from './context/given-links.ts'
import { type ListedTool, noTimeoutMs } from './listing/list-tools.ts'
import type { Connection } from './session/connection.ts'
import type { Send } from './session/in-session.ts'
import { asideOf } from './set-aside.ts'
import { effectOf } from './trust.ts'
import { endsTask, overBrokenConnections, type TaskWait, waitForTask } from './wait-for-task.ts'

/** Maximum number of repetitions of a call that a server may request without asking a question. */
const mostRounds = 10

/** The data that is sent with a repeated call. */
interface Answers {
  inputResponses?: Record<string, JsonObject>
  requestState?: string
}

/** A call of a tool, with the functions that send it. */
export interface CallRequest {
  /** The current connection. */
  connection(): Connection
  /** Sends a request over the connection. Sends it again if the server has forgotten the session. */
  inSession<T>(send: Send<T>): Promise<T>
  /** Throws if the server's tool has changed, because the call must then not be sent again. */
  checkAgain(): void
  /** Waits for a new connection after an error. Rejects if no new connection is possible. */
  recover(error: unknown): Promise<void>
  tool: ListedTool
  args: JsonObject
  ctx: ToolContext
}

/** A call in flight, and its state. */
interface Running extends CallRequest {
  notes: CallNotes
  /** The token that identifies the call in the server's progress reports. */
  progressToken: string
  sampler: Sampler | undefined
  progress: ToolContext['progress']
}

export class ServerCalls {
  readonly #sdk: McpClientSdk
  readonly #name: string
  readonly #server: McpServer
  readonly #open = new OpenCalls()
  readonly #held = new HeldCalls()
  /** Receivers of progress reports, by token. */
  readonly #told = new Map<unknown, Progress>()
  /** The links in the results of the server's tools. */
  readonly links: GivenLinks

  constructor(sdk: McpClientSdk, name: string, server: McpServer) {
    this.#sdk = sdk
    this.#name = name
    this.#server = server
    this.links = new GivenLinks(name)
  }

  /** Makes a call, or continues a call that has asked a question or become a task. Rejects with the SDK's errors, or with `tool_failed`. */
  async run(request: CallRequest): Promise<McpToolResult | Question> {
    const { ctx } = request
    const asked = readAsked(ctx.asked)
    const notes = new CallNotes(ctx, asked?.notes)
    const limits = samplingLimits(this.#server)
    const isKept = asked?.state.form === 'again' || asked?.state.form === 'task'
    const sampler = limits && new Sampler(this.#name, limits, notes, isKept)
    const progressToken = notes.noted.task?.progressToken ?? randomUUID()
    const running: Running = { ...request, notes, sampler, progressToken, progress: progressExtends(ctx, this.#server) }
    if (asked === undefined || ctx.answer === undefined) {
      const { task } = notes.noted
      return task === undefined ? this.#settle(running, this.#start(running)) : this.#followTask(running, task)
    }
    const answers = await readAnswers(asked.requests, ctx.answer)
    if ('problem' in answers) return questionOf(asked, answers.problem)
    return this.#continueCall(running, asked, answers.results)
  }

  /** Asks a question that the server sends during a call. */
  async elicit(params: unknown, signal: AbortSignal): Promise<ElicitResult> {
    return this.#open.ask(readRequest(params), params, signal)
  }

  /** Handles a server's request to the model. Rejects if no call may answer the request. */
  async sample(params: unknown): Promise<CreateMessageResult> {
    const result = await this.#open.sample(params)
    if (result === undefined) throw new ToolloopError('tool_denied', 'The model can only be asked in the course of a call.')
    return result as never as CreateMessageResult
  }

  progressed(token: unknown, update: Parameters<Progress>[0]): void {
    this.#told.get(token)?.(update)
  }

  close(): void {
    this.#held.close()
  }

  #start(running: Running, answers: Answers = {}, known?: AnsweredRequest): OpenCall {
    const { tool, args, ctx, notes, sampler, progressToken } = running
    const ttl = taskTimeoutMs(this.#server)
    const paramsFor = ({ client }: Connection) => ({
      name: tool.name,
      arguments: args,
      ...(ttl !== undefined && asksForTask(client, tool, notes.areSafe) ? { task: { ttl } } : {}),
      ...answers,
      _meta: { ...ctx.trace?.headers(), progressToken },
    })
    const toolDefinition = { name: tool.name, inputSchema: { ...tool.inputSchema, type: 'object' as const } }
    const send = async (call: OpenCall, signal: AbortSignal, onProgress: Progress) => {
      const options = { signal, timeout: noTimeoutMs, allowInputRequired: true, toolDefinition }
      const answer = () =>
        running.inSession(async (connection, isAgain) => {
          if (isAgain) running.checkAgain()
          return withCallStream(streamEnded, call, () => connection.client.callTool(paramsFor(connection) as never, options))
        })
      // The SDK's types lack tasks and questions.
      return (await this.#telling(progressToken, onProgress, () => this.#open.during(call, ctx.runId, answer))) as never as CallAnswer
    }
    return new OpenCall(send, { known, sampler })
  }

  async #continueCall(running: Running, { state, requests }: AskedByServer, results: ElicitResult[]): Promise<McpToolResult | Question> {
    const { task } = running.notes.noted
    switch (state.form) {
      case 'again': {
        // The call was already repeated before a crash, and the server runs it as a task.
        if (task !== undefined) return this.#followTask(running, task)
        const { names, requestState, answers = {} } = state
        const inputResponses = { ...answers, ...byName(names, results) }
        return this.#settle(running, this.#start(running, { inputResponses, requestState }))
      }
      case 'task': {
        if (task === undefined) throw this.#gone()
        const isAnswered = state.names.every((name) => task.answered?.includes(name))
        if (!isAnswered) await this.#answerTask(running, task, byName(state.names, results))
        return this.#followTask(running, task)
      }
      case 'held': {
        const [asked] = requests
        const [result] = results
        if (asked === undefined || result === undefined) throw this.#gone()
        const known = { request: asked, result }
        const call = this.#held.answer(state.id, result)
        if (task !== undefined) return this.#followTask(running, task, { call, known })
        if (call !== undefined) return this.#settle(running, call)
        if (effectOf(this.#server, running.tool) === 'unsafe') throw this.#gone()
        return this.#settle(running, this.#start(running, {}, known))
      }
      case 'repeat':
        if (results.some(({ action }) => action !== 'accept')) throw new ToolloopError('tool_failed', declinedText)
        return task === undefined ? this.#settle(running, this.#start(running)) : this.#followTask(running, task)
    }
  }

  async #settle(running: Running, first: OpenCall): Promise<McpToolResult | Question> {
    let call = first
    for (let round = 1; round <= mostRounds; ) {
      const next = await this.#next(running, call)
      if ('question' in next) return next.question
      const { answer } = next
      const task = asideOf(answer).task
      if (task !== undefined) return this.#becomeTask(running, readTask(task))
      if (answer.resultType !== 'input_required') return this.#resultOf(answer, running)
      const { inputRequests, requestState } = answer
      const state = typeof requestState === 'string' ? { requestState } : {}
      const { answers, names, requests } = await askedAtOnce(this.#name, this.#server, running, inputRequests)
      if (requests.length > 0) {
        return this.#questionOf(running, requests, { form: 'again', names, ...state, ...(isEmpty(answers) ? {} : { answers }) })
      }
      // Repetitions with answers from the model don't count, because `maxRequests` limits them.
      if (isEmpty(answers)) round++
      call = this.#start(running, { ...state, ...(isEmpty(answers) ? {} : { inputResponses: answers }) })
    }
    throw new ToolloopError('tool_failed', `The MCP server \`${this.#name}\` wanted the call to be repeated more than ${mostRounds} times.`)
  }

  async #next(running: Running, call: OpenCall): Promise<{ answer: CallAnswer } | { question: Question }> {
    try {
      const { ctx, notes, progress } = running
      const next = await call.next({ ...ctx, notes, progress })
      return 'held' in next ? { question: this.#hold(running, call, next.held) } : next
    } catch (error) {
      if (!(error instanceof this.#sdk.UrlElicitationRequiredError)) throw error
      return { question: this.#questionOf(running, error.elicitations.map(readRequest), { form: 'repeat' }) }
    }
  }

  #hold(running: Running, call: OpenCall, question: HeldQuestion): Question {
    return this.#questionOf(running, [question.request], { form: 'held', id: this.#held.hold(call, question) })
  }

  #questionOf({ notes }: Running, requests: ServerRequest[], state: AskedByServer['state']): Question {
    const { noted } = notes
    return questionOf({ mcpServer: this.#name, requests, state, ...(isEmpty(noted) ? {} : { notes: noted as JsonObject }) })
  }

  /** Waits for the task in which the server runs the call. Stores the task first, so that a crash does not repeat the call. */
  async #becomeTask(running: Running, said: Task | undefined): Promise<McpToolResult | Question> {
    if (said === undefined || taskTimeoutMs(this.#server) === undefined) throw this.#noResult()
    const { progressToken } = running
    const task: NotedTask = { id: said.id, since: processClock.now(), progressToken }
    await running.notes.add({ task })
    return this.#followTask(running, task, { said })
  }

  async #followTask(running: Running, task: NotedTask, soFar: TaskSoFar = {}): Promise<McpToolResult | Question> {
    const { ctx, progressToken, connection } = running
    const onProgress: Progress = (update) => ctx.progress({ ...update })
    try {
      return await this.#telling(progressToken, onProgress, () => this.#untilTaskEnds(running, task, soFar))
    } catch (error) {
      if (endsTask(ctx.signal)) cancelTask(connection().client, task.id).catch(() => {})
      throw error
    }
  }

  async #telling<T>(token: string, onProgress: Progress, work: () => Promise<T>): Promise<T> {
    this.#told.set(token, onProgress)
    try {
      return await work()
    } finally {
      // Another wait for the same task may have replaced the receiver.
      if (this.#told.get(token) === onProgress) this.#told.delete(token)
    }
  }

  async #untilTaskEnds(running: Running, task: NotedTask, { said, call, known }: TaskSoFar): Promise<McpToolResult | Question> {
    const { ctx } = running
    const limitMs = taskTimeoutMs(this.#server) ?? 0
    ctx.extendTimeout?.(Math.max(1, task.since + limitMs - processClock.now()))
    const wait = this.#waitOf(running, task)
    let [latest, stream] = [said, call]
    for (;;) {
      const end = stream === undefined ? await waitForTask({ ...wait, said: latest }) : { asks: true as const }
      latest = undefined
      if ('result' in end) return this.#resultOf(end.result, running)
      if ('asks' in end) {
        const next = await this.#overResult(running, stream ?? this.#openResult(running, task, known))
        stream = undefined
        if (next !== undefined) return next
      } else {
        const { answers, names, requests } = await askedAtOnce(this.#name, this.#server, running, end.inputRequests)
        if (!isEmpty(answers)) await this.#answerTask(running, task, answers)
        if (requests.length > 0) return this.#questionOf(running, requests, { form: 'task', names })
      }
    }
  }

  #waitOf({ ctx, connection, inSession, recover }: Running, task: NotedTask): TaskWait {
    return { sdk: this.#sdk, server: this.#name, task, ctx, connection, inSession, recover }
  }

  /** Requests a task's result. A server of protocol 2025-11-25 asks its questions during this request. */
  #openResult(running: Running, { id: taskId }: NotedTask, known: AnsweredRequest | undefined): OpenCall {
    const send = (call: OpenCall, signal: AbortSignal) =>
      this.#open.duringTask(call, taskId, () =>
        running.inSession(({ client }) => askOfTask(client, 'result', { taskId }, { signal, owner: call })),
      )
    return new OpenCall(send, { known, sampler: running.sampler })
  }

  /** Waits for a task's result. Undefined if the connection broke, so that the caller polls the task again. */
  async #overResult(running: Running, call: OpenCall): Promise<McpToolResult | Question | undefined> {
    try {
      const next = await this.#next(running, call)
      return 'question' in next ? next.question : this.#resultOf(next.answer, running)
    } catch (error) {
      if (running.ctx.signal.aborted || ToolloopError.isInstance(error) || error instanceof this.#sdk.ProtocolError) throw error
      await running.recover(error)
      return undefined
    }
  }

  /** Sends the answers to the task's questions. Stores which questions were answered, so that each is answered only once. */
  async #answerTask(running: Running, task: NotedTask, inputResponses: Record<string, JsonObject>): Promise<void> {
    const params = { taskId: task.id, inputResponses }
    await overBrokenConnections(this.#waitOf(running, task), ({ client }) => askOfTask(client, 'update', params, running.ctx))
    task.answered = [...(task.answered ?? []), ...Object.keys(inputResponses)]
    await running.notes.add({ task })
  }

  async #resultOf(answer: CallAnswer, { ctx }: Running): Promise<McpToolResult> {
    const result = readCallResult(answer)
    if (result === undefined) throw this.#noResult()
    if ('failure' in result) {
      const unsaid = `The MCP server \`${this.#name}\` says that the call failed, but not why.`
      throw new ToolloopError('tool_failed', result.failure === '' ? unsaid : result.failure)
    }
    await this.links.add(ctx, linksIn(answer))
    return result
  }

  #noResult(): ToolloopError {
    return new ToolloopError('tool_failed', `The MCP server \`${this.#name}\` answered with something other than a tool result.`)
  }

  #gone(): ToolloopError {
    return new ToolloopError(
      'tool_failed',
      `The question of the MCP server \`${this.#name}\` was answered, but the server has stopped waiting for it. Whether the call took effect is not known.`,
    )
  }
}

interface TaskSoFar {
  /** The server's latest report about the task. */
  said?: Task | undefined
  /** The open request for the task's result. */
  call?: OpenCall | undefined
  known?: AnsweredRequest | undefined
}

const declinedText = 'What the server asked for was declined. The call was not made.'

function byName(names: readonly string[], results: readonly ElicitResult[]): Record<string, JsonObject> {
  return Object.fromEntries(results.map((result, at) => [names[at] ?? '', { ...result } as never as JsonObject]))
}

function isEmpty(value: object): boolean {
  return Object.keys(value).length === 0
}
