import pTimeout from 'p-timeout'
import type { ErrorCode } from '../core/errors.ts'
import { messageOf, show } from '../core/errors.ts'
import { type Logger, redacting, redactText, secretTexts } from '../core/logger.ts'
import { toToolCall } from '../core/message-input.ts'
import {
  type Content,
  copyJson,
  type Json,
  type JsonObject,
  type ParsedToolCall,
  type ToolCall,
  type ToolResultMessage,
  textOf,
  toolMessage,
} from '../core/messages.ts'
import { type Preparation, type PreparedCall, prepareArguments } from './arguments.ts'
import { capContent, resultText } from './result-text.ts'
import { cancelledText, clientToolText, notFoundText, silentFailureText, timedOutText, unaskedText } from './told.ts'
import { type AnyTool, isQuestion, type Question, type RunScope, type ToolContext } from './tool.ts'

/** What one call needs to know of the run it belongs to. */
export interface ToolCallEnvironment {
  context: unknown
  /** Aborted when the run ends: the call is then abandoned at once. */
  signal: AbortSignal
  toolCallId: string
  runId: string
  iteration: number
  idempotencyKey: string
  answer?: Json
  asked?: Json
  run?: RunScope
  /** Somebody has consented to the call. Only for `run`, which else refuses what needs an approval. */
  approved?: boolean
  /** The run's time limit of one attempt in milliseconds; the tool's own wins. */
  timeoutMs: number
  maxResultBytes: number
  logger: Logger
  /** Called immediately before the tool's function; must not throw. */
  onStart?(args: JsonObject): void
  onProgress?(update: Json): void
}

/** How a call ended, as data: running a call never throws. */
export type ToolCallEnd =
  | { outcome: 'ok'; content: Content; value: unknown; attempts: number }
  | { outcome: 'failed' | 'timeout' | 'cancelled'; content: string; code: ErrorCode; attempts: number }
  | { outcome: 'rejected'; content: string; code: ErrorCode; args?: JsonObject }
  | { outcome: 'question'; question: Question; attempts: number }

type UnsuccessfulEnd = Extract<ToolCallEnd, { content: string; attempts: number }>

/** One attempt at a call. */
interface Attempt {
  end: ToolCallEnd
  /** What was thrown, for the log. */
  thrown?: unknown
  /** The tool itself has succeeded: what failed after it would fail again. */
  ran?: true
}

/** Stands for the value of work that was not done in time. */
const overTime = Symbol('over time')

/** The first wait between two attempts at a call; doubled each time. */
const firstRetryDelayMs = 200
const longestRetryDelayMs = 5_000

/**
 * Runs single calls: parse → validate → execute with a time limit → bounded result text. It never throws and always settles: a tool that
 * ignores its signal is abandoned and its late result dropped.
 */
export class ToolRunner {
  readonly #lookup: (name: string) => AnyTool | undefined
  readonly #names: () => string[]
  #lateResults = 0

  constructor(tools: { get(name: string): AnyTool | undefined; names(): string[] }) {
    this.#lookup = (name) => tools.get(name)
    this.#names = () => tools.names()
  }

  /** How many abandoned calls have come back since, their results dropped. */
  get lateResults(): number {
    return this.#lateResults
  }

  /** What a call to a tool that is not there gets as its result. */
  notFound(name: string): string {
    return notFoundText(name, this.#names())
  }

  /**
   * A whole call, as a model or `ToolAgent.generate()` makes it, up to the tool message. Refuses a tool that needs an approval: there is
   * nobody here to ask. Rejects with `invalid_message` for what is no call.
   */
  async run(
    given: ToolCall | ParsedToolCall,
    environment: Omit<ToolCallEnvironment, 'toolCallId'>,
  ): Promise<{ message: ToolResultMessage; end: ToolCallEnd }> {
    const call = toToolCall(given, 'call')
    const end = await this.#end(call, { ...environment, logger: redacting(environment.logger), toolCallId: call.id })
    const content = end.outcome === 'question' ? resultText(end.question.about) : end.content
    const ok = end.outcome === 'ok' || end.outcome === 'question'
    return { message: toolMessage({ id: call.id, name: call.function.name }, content, ok), end }
  }

  async #end(call: ToolCall, environment: ToolCallEnvironment): Promise<ToolCallEnd> {
    const tool = this.#lookup(call.function.name)
    if (tool === undefined) return { outcome: 'rejected', content: this.notFound(call.function.name), code: 'tool_not_found' }
    if (tool.approval !== undefined && tool.approval !== false && environment.approved !== true) {
      return { outcome: 'rejected', content: unaskedText(tool.name), code: 'tool_denied' }
    }
    const { signal } = environment
    const milliseconds = tool.timeoutMs ?? environment.timeoutMs
    let prepared: Preparation | typeof overTime
    try {
      // A schema may check asynchronously, and so may never be done.
      prepared = await pTimeout(prepareArguments(tool, call.function.arguments), { milliseconds, fallback: () => overTime, signal })
    } catch {
      return this.#cancelled(tool, 0)
    }
    if (prepared === overTime) return timedOut(tool, milliseconds, 0)
    if (prepared.ok) return this.execute(prepared.call, environment)
    const { message, code, args } = prepared.problem
    return { outcome: 'rejected', content: message, code, ...(args === undefined ? {} : { args }) }
  }

  /** Runs a call that has been prepared, with its retries. */
  async execute(call: PreparedCall, environment: ToolCallEnvironment): Promise<ToolCallEnd> {
    const { tool, args } = call
    const { signal } = environment
    if (tool.execute === undefined) {
      return { outcome: 'rejected', content: clientToolText(tool.name), code: 'tool_denied', args }
    }
    if (signal.aborted) return this.#cancelled(tool, 0)
    environment.onStart?.(args)
    const mostAttempts = (tool.retries ?? 0) + 1
    for (let attempt = 1; ; attempt++) {
      if (signal.aborted) return this.#cancelled(tool, attempt - 1)
      const { end, ran, thrown } = await this.#attempt(call, environment, attempt)
      if (end.outcome !== 'failed' && end.outcome !== 'timeout') return end
      environment.logger.warn(
        {
          tool: tool.name,
          toolCallId: environment.toolCallId,
          runId: environment.runId,
          outcome: end.outcome,
          attempt,
          code: end.code,
          ...loggedFailure(call, thrown),
        },
        'tool call failed',
      )
      if (attempt >= mostAttempts || ran) return end
      await waitFor(Math.min(firstRetryDelayMs * 2 ** (attempt - 1), longestRetryDelayMs), signal)
    }
  }

  async #attempt(call: PreparedCall, environment: ToolCallEnvironment, attempt: number): Promise<Attempt> {
    const { tool } = call
    const { signal, maxResultBytes } = environment
    const timeoutMs = tool.timeoutMs ?? environment.timeoutMs
    const controller = new AbortController()
    const abort = () => controller.abort(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    const watch = { isOver: false, isAbandoned: false }
    const countIfLate = () => {
      if (watch.isAbandoned) this.#lateResults++
    }
    let value: unknown
    try {
      const work = this.#start(call, environment, attempt, controller.signal, watch)
      work.then(countIfLate, countIfLate)
      value = await pTimeout(work, { milliseconds: timeoutMs, fallback: () => overTime, signal })
    } catch (error) {
      watch.isAbandoned = true
      if (signal.aborted) return { end: this.#cancelled(tool, attempt) }
      return failed(error, maxResultBytes, attempt)
    } finally {
      watch.isOver = true
      signal.removeEventListener('abort', abort)
    }
    if (value === overTime) {
      watch.isAbandoned = true
      const end = timedOut(tool, timeoutMs, attempt)
      controller.abort(new DOMException(end.content, 'TimeoutError'))
      return { end }
    }
    if (typeof value === 'object' && isQuestion(value)) return { end: { outcome: 'question', question: value, attempts: attempt } }
    return returned(tool, value, maxResultBytes, attempt)
  }

  async #start(
    { tool, args, input }: PreparedCall,
    environment: ToolCallEnvironment,
    attempt: number,
    signal: AbortSignal,
    watch: { readonly isOver: boolean },
  ): Promise<unknown> {
    const { answer, asked, run, onProgress } = environment
    const ctx: ToolContext = {
      context: environment.context,
      signal,
      toolCallId: environment.toolCallId,
      runId: environment.runId,
      iteration: environment.iteration,
      idempotencyKey: environment.idempotencyKey,
      attempt,
      ...(answer === undefined ? {} : { answer }),
      ...(asked === undefined ? {} : { asked }),
      ...(run === undefined ? {} : { run }),
      logger: environment.logger,
      progress: (update) => {
        // A report that comes after the attempt's end, by a tool that was abandoned or left work behind, says nothing about the run any more.
        if (!watch.isOver && !signal.aborted) onProgress?.(update)
      },
    }
    const execute: ((input: never, ctx: ToolContext<never>) => unknown) | undefined = tool.execute
    // A copy: what a tool does to its arguments must not reach the record of the call, or the next attempt.
    const given = input === args ? copyJson(args) : input
    return execute?.call(tool, given as never, ctx as ToolContext<never>)
  }

  #cancelled(tool: AnyTool, attempts: number): UnsuccessfulEnd {
    return { outcome: 'cancelled', content: cancelledText(tool.name), code: 'tool_cancelled', attempts }
  }
}

/** For a call that a tool makes while it runs itself: its number among those tells it apart. */
export function callWithin(ctx: ToolContext, number: number): Omit<ToolCallEnvironment, 'toolCallId'> {
  return {
    context: ctx.context,
    signal: ctx.signal,
    runId: ctx.runId,
    iteration: ctx.iteration,
    idempotencyKey: `${ctx.idempotencyKey}.${number}`,
    timeoutMs: 30_000,
    maxResultBytes: 1_048_576,
    logger: ctx.logger,
    ...(ctx.run === undefined ? {} : { run: ctx.run }),
  }
}

/** The end of a call that has taken effect and whose value is known, though its function was not run here. */
export function endOf(tool: AnyTool, value: unknown, maxResultBytes: number): ToolCallEnd {
  return returned(tool, value, maxResultBytes, 1).end
}

/** A value that can't be shown is a failure, but no reason to run the tool again. */
function returned(tool: AnyTool, value: unknown, maxResultBytes: number, attempt: number): Attempt {
  try {
    return { end: contentOf(tool, value, maxResultBytes, attempt) }
  } catch (error) {
    return { ...failed(error, maxResultBytes, attempt), ran: true }
  }
}

/** The end of a call that returned `value`: what the model sees of it, and the value itself. Throws what `toContent` throws. */
function contentOf(tool: AnyTool, value: unknown, maxResultBytes: number, attempts: number): ToolCallEnd & { outcome: 'ok' } {
  const full: unknown = tool.toContent === undefined ? resultText(value) : tool.toContent(value as never)
  if (typeof full !== 'string' && !Array.isArray(full)) {
    throw new TypeError(`Expected \`toContent\` of tool \`${tool.name}\` to return a string or an array of parts, got \`${show(full)}\``)
  }
  const { content, cutBytes } = capContent(typeof full === 'string' || full.length === 0 ? resultText(String(full)) : full, maxResultBytes)
  // A value too long to show is not kept either: hundreds of them would fill the memory of a long run.
  return { outcome: 'ok', content, value: cutBytes === 0 ? value : undefined, attempts }
}

function timedOut({ name }: AnyTool, milliseconds: number, attempts: number): UnsuccessfulEnd {
  return { outcome: 'timeout', content: timedOutText(name, milliseconds), code: 'tool_timeout', attempts }
}

function failed(thrown: unknown, maxResultBytes: number, attempts: number): Attempt {
  const { content } = capContent(failureText(thrown), maxResultBytes)
  return { end: { outcome: 'failed', content: textOf(content), code: 'tool_failed', attempts }, thrown }
}

/** What the log may know of a failure: everything but the secrets the call carried. */
export function loggedFailure({ tool, args }: Pick<PreparedCall, 'tool' | 'args'>, thrown: unknown): object {
  if (thrown === undefined) return {}
  const secrets = secretTexts(args, new Set(tool.secrets))
  const stack = stackOf(thrown)
  return { error: redactText(messageOf(thrown), secrets), ...(stack === undefined ? {} : { stack: redactText(stack, secrets) }) }
}

function stackOf(thrown: unknown): string | undefined {
  try {
    return thrown instanceof Error && typeof thrown.stack === 'string' ? thrown.stack : undefined
  } catch {
    return undefined // A getter or a proxy that throws: then there is no stack to show.
  }
}

const stackLine = /^\s+at .*(:\d+:\d+\)?|\((native|index \d+)\)|<anonymous>\)?)\r?$/

/** What the model is told of a thrown value: its message, without stack traces and without this machine's folders. */
function failureText(thrown: unknown): string {
  const lines = messageOf(thrown).toWellFormed().replaceAll('file://', '').split('\n')
  let text = lines.filter((line) => !stackLine.test(line)).join('\n')
  // Importing Node's own modules loads all of each; importing this package is to cost next to nothing.
  const { homedir } = process.getBuiltinModule('node:os')
  for (const folder of [process.cwd(), homedir()]) if (folder.length > 1) text = withoutFolder(text, folder)
  return text.trim() === '' ? silentFailureText : text
}

/** `folder/file` becomes `file`, the folder itself `.`; not where its name is only a part of a longer path or word. */
function withoutFolder(text: string, folder: string): string {
  if (!text.includes(folder)) return text
  const path = new RegExp(`(?<![\\w./\\\\-])${folder.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}(?:[/\\\\](?=\\w|\\.|-)|(?!\\.?[\\w-]))`, 'g')
  return text.replace(path, (found) => (/[/\\]$/.test(found) && found.length > folder.length ? '' : '.'))
}

function waitFor(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, milliseconds)
    signal.addEventListener('abort', done, { once: true })
    if (signal.aborted) done()
  })
}
