import { isThenable, syncAnswer } from '../core/callbacks/callbacks.ts'
import { show, ToolloopError } from '../core/errors.ts'
import { childLogger, type RecordLevel, redacting } from '../core/logger.ts'
import { toToolCall } from '../core/message-input.ts'
import {
  copyJson,
  type Json,
  type ParsedToolCall,
  type ToolCall,
  type ToolResultMessage,
  textOf,
  toolMessage,
  withoutUndefined,
} from '../core/messages.ts'
import { wait } from '../core/time/wait.ts'
import { type PreparedCall, prepareArguments } from './arguments.ts'
import { type ExecutedEnd, failSafe, listen, type ToolCallEnd, type ToolCallEnvironment } from './call/environment.ts'
import { askReconcile, type Finding, type LeftEnd, withFinding } from './call/reconcile.ts'
import { cancelledText, clientToolText, failureText, loggedFailure, notFoundText, timedOutText, unaskedText } from './call-texts.ts'
import { askSet, listedBy } from './registry.ts'
import { capContent, resultText } from './result-text.ts'
import { type AnyTool, checkTool, isQuestion, type ModelQuestion, type ToolContext, type WritableContext } from './tool.ts'

export type { ExecutedEnd, RawEnd, ToolCallEnd, ToolCallEnvironment } from './call/environment.ts'

/** Returned by a tool's function to end the call exactly as it was recorded. Used by tools that replay a recording. */
export class RecordedEnd {
  /** `value` is the recorded return value, for hooks that wrap the call. */
  readonly recorded: { end: ExecutedEnd; value: unknown }

  constructor(recorded: { end: ExecutedEnd; value: unknown }) {
    this.recorded = recorded
  }
}

/**
 * Runs single calls: parses and validates the arguments, executes the tool with a time limit, and limits the result text. Never throws and
 * always settles: a tool that ignores its signal is abandoned, and its late result is dropped.
 */
export class ToolRunner {
  readonly #tools: { get(name: string): AnyTool | undefined; names(): string[] }

  constructor(tools: { get(name: string): AnyTool | undefined; names(): string[] }) {
    this.#tools = tools
  }

  /** Returns the result of a call to an unknown tool. */
  notFound(name: string): string {
    const names = listedBy('names', () => this.#tools.names())
    return notFoundText(
      name,
      names.filter((one) => typeof one === 'string'),
    )
  }

  #checked(name: string): AnyTool | undefined {
    const tool = syncAnswer('get', this.#tools.get(name)) ?? undefined
    if (tool !== undefined) checkTool(tool)
    return tool
  }

  /**
   * Runs a complete call of a model or of `ToolAgent.generate()`, and returns its tool message. Refuses a tool that requires approval,
   * because nobody can approve it here. Rejects with `invalid_message` if `given` is not a call, and with `invalid_tool` if the tools can't
   * be looked up.
   */
  async run(
    given: ToolCall | ParsedToolCall,
    environment: Omit<ToolCallEnvironment, 'toolCallId'>,
  ): Promise<{ message: ToolResultMessage; end: ToolCallEnd }> {
    const call = toToolCall(given, 'call')
    const end = await this.#end(call, failSafe({ ...environment, logger: redacting(environment.logger), toolCallId: call.id }))
    const content = end.outcome === 'question' ? resultText(end.question.about) : end.content
    const ok = end.outcome === 'ok' || end.outcome === 'question'
    return { message: toolMessage({ id: call.id, name: call.function.name }, content, ok), end }
  }

  async #end({ function: { name, arguments: raw } }: ToolCall, environment: ToolCallEnvironment): Promise<ToolCallEnd> {
    const tool = askSet('get', () => this.#checked(name))
    if (tool === undefined) return { outcome: 'rejected', content: this.notFound(name), code: 'tool_not_found' }
    if (tool.approval !== undefined && tool.approval !== false && environment.approved !== true)
      return { outcome: 'rejected', content: unaskedText(name), code: 'tool_denied' }
    const prepared = await prepareArguments(tool, raw, { ...environment, maxValues: environment.maxArgumentValues, asNative: true })
    if (prepared.ok) return executeCall(prepared.call, environment)
    const { message: content, code, args } = prepared.problem
    if (code === 'tool_timeout') return { outcome: 'timeout', content, code, attempts: 0 }
    if (code === 'tool_cancelled') return { outcome: 'cancelled', content, code, attempts: 0 }
    return { outcome: 'rejected', content, code, ...withoutUndefined({ args }) }
  }
}

/** The delay before the first retry of a call, in milliseconds. It is doubled for each further retry. */
const firstRetryDelayMs = 200
const longestRetryDelayMs = 5_000

/** Runs a prepared call with its time limit and retries. Never rejects and always settles. */
export async function executeCall(call: PreparedCall, environment: ToolCallEnvironment): Promise<ToolCallEnd> {
  const { tool, args } = call
  const { signal, toolCallId, runId } = environment
  if (tool.execute === undefined) return { outcome: 'rejected', content: clientToolText(tool.name), code: 'tool_denied', args }
  if (signal.aborted) return cancelled(tool, 0)
  environment.onStart?.(args)
  // A listener for the start of the call may have aborted the run.
  if (signal.aborted) return cancelled(tool, 0)
  const { effect = 'unsafe', retries = 0 } = tool
  const mostAttempts = retries + 1
  let mayHaveRun = false
  for (let attempt = 1; ; attempt++) {
    const { end, ran, thrown } = await new Attempt(call, environment, attempt).run()
    if (environment.raw !== undefined) environment.raw.thrown = thrown
    if (end.outcome === 'cancelled' && !ran) return settled(call, environment, end)
    if (end.outcome !== 'failed' && end.outcome !== 'timeout') return end
    const failure = { outcome: end.outcome, attempt, code: end.code, ...loggedFailure(call, thrown) }
    environment.logger.warn({ tool: tool.name, toolCallId, runId, ...failure }, 'tool call failed')
    if (ran) return end
    mayHaveRun ||= end.outcome === 'timeout'
    if (attempt >= mostAttempts) return mayHaveRun ? settled(call, environment, end) : end
    if (end.outcome === 'timeout') {
      // A call that is not `unsafe` may be repeated even if it has taken effect.
      const found = effect === 'unsafe' ? await askReconcile(call, environment, attempt) : undefined
      if (effect === 'unsafe' && found?.ran !== false) return told(call, environment, end, found)
      environment.saved = await environment.readSaved?.()
    }
    const waited = await wait(Math.min(firstRetryDelayMs * 2 ** (attempt - 1), longestRetryDelayMs), signal)
    if (!waited) return mayHaveRun ? settled(call, environment, cancelled(tool, attempt)) : cancelled(tool, attempt)
  }
}

/** Calls the tool's `reconcile`, and adds its finding to `end`. Does nothing for a tool that only reads. */
async function settled(call: PreparedCall, environment: ToolCallEnvironment, end: LeftEnd): Promise<ToolCallEnd> {
  return call.tool.effect === 'read' ? end : told(call, environment, end, await askReconcile(call, environment, end.attempts))
}

function told({ tool }: PreparedCall, { maxResultBytes }: ToolCallEnvironment, end: LeftEnd, found: Finding | undefined): ToolCallEnd {
  return withFinding(end, found, (value) => endOf(tool, value, maxResultBytes))
}

/** The outcome of one attempt. */
interface Tried {
  end: ToolCallEnd
  /** The value that the function threw, for the log. */
  thrown?: unknown
  /** Set if the call must not be retried: the function returned a value that can't be shown, or a `RecordedEnd`. */
  ran?: true
}

/** One attempt at a call. */
class Attempt {
  readonly #call: PreparedCall
  readonly #environment: ToolCallEnvironment
  readonly #number: number
  /** Controls the signal that the tool receives. */
  readonly #controller = new AbortController()
  #timer: NodeJS.Timeout | undefined
  /** Abandons the tool. Set while the attempt waits for the tool. */
  #leave: ((tried: Tried) => void) | undefined
  #unfollow: (() => void) | undefined
  /** The time limit that the tool has set, possibly before the attempt waits for the tool. */
  #extendedMs: number | undefined
  /** The time at which the attempt began to wait for the tool. */
  #since: number | undefined
  #isOver = false

  constructor(call: PreparedCall, environment: ToolCallEnvironment, number: number) {
    this.#call = call
    this.#environment = environment
    this.#number = number
  }

  run(): Promise<Tried> {
    const { tool, args, input } = this.#call
    const execute: ((input: never, ctx: ToolContext<never>) => unknown) | undefined = tool.execute
    const abort = () => this.#abort()
    const { signal, whenOver } = this.#environment
    this.#unfollow = whenOver?.(abort) ?? listen(signal, abort)
    try {
      // The arguments are copied, so that changes by the tool don't affect the record of the call and the next attempt.
      const given = input === args ? copyJson(args) : input
      const value = execute?.call(tool, given as never, this.#context() as ToolContext<never>)
      // A value that is returned synchronously is the result, even if the run has ended in the meantime.
      const isPending = (typeof value === 'object' || typeof value === 'function') && isThenable(value)
      return isPending ? this.#waitFor(value) : Promise.resolve(this.#returned(value))
    } catch (error) {
      return Promise.resolve(this.#threw(error))
    }
  }

  #context(): ToolContext {
    const environment = this.#environment
    const { context, toolCallId, runId, iteration, idempotencyKey, logger, toolLogger = logger } = environment
    const { metadata, answer, asked, decision, run, trace, mcpClient, saved, save, askModel } = environment
    const { signal } = this.#controller
    // Ignores a report that arrives after the attempt has ended, for example from an abandoned tool.
    const progress = (update: Json) => {
      if (!this.#isOver && !signal.aborted) environment.onProgress?.(update)
    }
    const { name: tool } = this.#call.tool
    // The child logger is created on demand, because most tools log nothing.
    const log = (level: RecordLevel) => (fields: object, message: string) => {
      childLogger(toolLogger, { runId, tool, toolCallId })[level](fields, message)
    }
    const ctx: WritableContext = {
      context,
      signal,
      toolCallId,
      runId,
      iteration,
      idempotencyKey,
      attempt: this.#number,
      progress,
      timeoutMs: this.#timeoutMs,
      extendTimeout: (milliseconds) => this.#limit(milliseconds),
      logger: { ...toolLogger, debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') },
      run,
      askModel: askModel && ((question: ModelQuestion) => askModel(question, ctx)),
    }
    if (metadata !== undefined) ctx.metadata = metadata
    if (trace !== undefined) ctx.trace = trace
    if (mcpClient !== undefined) ctx.mcpClient = mcpClient
    if (answer !== undefined) ctx.answer = answer
    if (asked !== undefined) ctx.asked = asked
    if (decision !== undefined) ctx.decision = decision
    if (saved !== undefined) ctx.saved = saved
    // The function is a local constant. If it were created in the assignment below, V8 would keep the function and its run in memory until
    // a full garbage collection.
    const saveWhileRunning: ToolContext['save'] = save && ((value) => (this.#isOver ? this.#refuseToSave() : save(value)))
    if (saveWhileRunning !== undefined) ctx.save = saveWhileRunning
    return ctx
  }

  /**
   * Refuses a late value, because it would replace a value that a later attempt has saved. The rejection is handled here, so that it can't
   * end the process if the tool doesn't await it.
   */
  #refuseToSave(): Promise<never> {
    const refused = Promise.reject(new ToolloopError('tool_cancelled', 'The attempt is over: its value was not saved'))
    refused.catch(() => {})
    return refused
  }

  #waitFor(work: PromiseLike<unknown>): Promise<Tried> {
    return new Promise((resolve) => {
      this.#leave = resolve
      this.#limit(this.#extendedMs ?? this.#timeoutMs)
      Promise.resolve(work).then(
        (value) => (this.#isOver ? this.#tellLate() : resolve(this.#returned(value))),
        (error: unknown) => (this.#isOver ? this.#tellLate() : resolve(this.#threw(error))),
      )
      // The tool itself may have aborted its run.
      if (this.#environment.signal.aborted) this.#abort()
    })
  }

  get #timeoutMs(): number {
    return this.#call.tool.timeoutMs ?? this.#environment.timeoutMs
  }

  /** Sets the time limit of the attempt, in milliseconds from now. */
  #limit(milliseconds: number): void {
    if (this.#isOver) return
    this.#extendedMs = milliseconds
    clearTimeout(this.#timer)
    if (this.#leave === undefined) return
    const now = performance.now()
    this.#since ??= now
    const wholeMs = Math.round(now - this.#since + milliseconds)
    // A timer for a longer time would fire at once.
    if (milliseconds < 2 ** 31) this.#timer = setTimeout(() => this.#timeOut(wholeMs), milliseconds)
  }

  #abort(): void {
    this.#controller.abort(this.#environment.signal.reason)
    // Before the tool's function has returned, there is nothing to abandon.
    this.#leave?.(this.#end() ?? { end: cancelled(this.#call.tool, this.#number) })
  }

  #timeOut(milliseconds: number): void {
    const content = timedOutText(this.#call.tool.name, milliseconds)
    this.#leave?.(this.#end() ?? { end: { outcome: 'timeout', content, code: 'tool_timeout', attempts: this.#number } })
    this.#controller.abort(new DOMException(content, 'TimeoutError'))
  }

  #returned(value: unknown): Tried {
    const over = this.#end()
    if (over !== undefined) return over
    const recorded = value instanceof RecordedEnd ? value.recorded : undefined
    if (this.#environment.raw !== undefined) this.#environment.raw.value = recorded === undefined ? value : recorded.value
    if (recorded !== undefined) return { end: recorded.end, ran: true }
    if (typeof value === 'object' && isQuestion(value)) return { end: { outcome: 'question', question: value, attempts: this.#number } }
    return returned(this.#call.tool, value, this.#environment.maxResultBytes, this.#number)
  }

  #threw(error: unknown): Tried {
    return this.#end() ?? failed(error, this.#environment.maxResultBytes, this.#number)
  }

  /** Ends the attempt. If the run has ended too, returns the outcome of a cancelled attempt. */
  #end(): Tried | undefined {
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#unfollow?.()
    return this.#environment.signal.aborted ? { end: cancelled(this.#call.tool, this.#number) } : undefined
  }

  #tellLate(): void {
    const { toolCallId, runId, logger } = this.#environment
    logger.debug({ tool: this.#call.tool.name, toolCallId, runId }, 'an abandoned tool call has ended; its result is dropped')
  }
}

/** Creates the `ToolCallEnd` of a successful call whose value is already known. */
export function endOf(tool: AnyTool, value: unknown, maxResultBytes: number): ToolCallEnd {
  return returned(tool, value, maxResultBytes, 1).end
}

/** Creates the outcome of an attempt that returned `value`. A value that can't be shown is a failure, but the tool must not run again. */
function returned(tool: AnyTool, value: unknown, maxResultBytes: number, attempts: number): Tried {
  try {
    return { end: contentOf(tool, value, maxResultBytes, attempts) }
  } catch (error) {
    return { ...failed(error, maxResultBytes, attempts), ran: true }
  }
}

/**
 * Creates the `ToolCallEnd` of a call that returned `value`, with the content for the model and the value itself. Throws the errors of
 * `toContent`.
 */
function contentOf(tool: AnyTool, value: unknown, maxResultBytes: number, attempts: number): ToolCallEnd {
  const full: unknown = tool.toContent === undefined ? resultText(value) : syncAnswer('toContent', tool.toContent(value as never))
  if (typeof full !== 'string' && !Array.isArray(full)) {
    throw new TypeError(`Expected \`toContent\` of tool \`${tool.name}\` to return a string or an array of parts, got \`${show(full)}\``)
  }
  const { content, cutBytes } = capContent(typeof full === 'string' || full.length === 0 ? resultText(String(full)) : full, maxResultBytes)
  // Drops a value that is too long to show, because hundreds of such values would fill the memory of a long run.
  return { outcome: 'ok', content, value: cutBytes === 0 ? value : undefined, attempts }
}

function failed(thrown: unknown, maxResultBytes: number, attempts: number): Tried {
  const { content } = capContent(failureText(thrown), maxResultBytes)
  return { end: { outcome: 'failed', content: textOf(content), code: 'tool_failed', attempts }, thrown }
}

function cancelled(tool: AnyTool, attempts: number): LeftEnd {
  return { outcome: 'cancelled', content: cancelledText(tool.name), code: 'tool_cancelled', attempts }
}
