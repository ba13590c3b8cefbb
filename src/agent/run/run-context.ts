import type { EventBus } from '../../core/callbacks/event-bus.ts'
import { messageOf, type ToolloopError } from '../../core/errors.ts'
import type { StopReason } from '../../core/events.ts'
import { copyAsJson } from '../../core/json.ts'
import { type Logger, redacting } from '../../core/logger.ts'
import { type ChatMessage, deepFreeze, type JsonObject } from '../../core/messages.ts'
import { SecretTexts } from '../../core/redaction/secret-texts.ts'
import type { ChatModel } from '../../models/chat-model.ts'
import type { PreparedCall } from '../../tools/arguments.ts'
import type { ToolSet } from '../../tools/registry.ts'
import type { RunScope } from '../../tools/tool.ts'
import type { ToolCallEnvironment } from '../../tools/tool-runner.ts'
import type { HookPlace } from '../callbacks/hooks.ts'
import type { Durable, StepTags } from '../journal/journal.ts'
import { KeptResults } from '../journal/kept-values.ts'
import { withReadResult } from '../large-results/read-result.ts'
import { RunUsage } from '../limits/run-usage.ts'
import type { NestedRuns } from '../nested/nested-runs.ts'
import type { RunRecorder } from '../observe/recorder.ts'
import { measuredParent, type RunTelemetry } from '../observe/telemetry.ts'
import { checkModelCost } from '../options/limits.ts'
import type { OutputFormat } from '../output/output.ts'
import type { SessionLease, SessionPlace } from '../sessions/session-lease.ts'
import { chooseCallForm } from '../text-calls/mode.ts'
import type { EventTap } from '../types/event-tap.ts'
import type { AgentRules, RunOptions } from '../types/options.ts'
import type { ResolvedLimits } from '../types/resolved-limits.ts'
import { type ActiveAgent, activeAgent, type NextAgent } from './active-agent.ts'
import { abortErrorOf } from './run-error.ts'
import { originOf, RunEvents } from './run-events.ts'

type Interruption = Extract<StopReason, 'aborted' | 'deadline'>

/** The lifetime of a run. It ends when the run is aborted or its deadline passes. `dispose` releases every timer and listener. */
class Lifetime {
  readonly #controller = new AbortController()
  readonly #release = new Set<() => void>()
  /** Listeners for an interruption. A plain set, because listeners on an `AbortSignal` are expensive. */
  readonly #waiting = new Set<() => void>()
  #interruption: Interruption | undefined
  #abortError: ToolloopError | undefined

  /** The signal of the run. It is aborted when the caller aborts, when the consumer stops watching, or when the deadline passes. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** The reason why the run has to end now. Undefined if the run may continue. */
  get interruption(): Interruption | undefined {
    return this.#interruption
  }

  /** The error of an aborted run. Undefined if the run was not aborted in this process. */
  get abortError(): ToolloopError | undefined {
    return this.#abortError
  }

  interrupt(why: Interruption, reason?: unknown): void {
    if (this.#interruption !== undefined) return
    this.#interruption = why
    if (why === 'aborted') this.#abortError = abortErrorOf(reason)
    this.#controller.abort(reason)
    for (const stopWaiting of this.#waiting) stopWaiting()
  }

  /** Ends the run when `signal` is aborted. Returns a function that stops listening to `signal`. */
  follow(signal: AbortSignal): () => void {
    const abort = () => this.interrupt('aborted', signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    const release = () => {
      signal.removeEventListener('abort', abort)
      this.#release.delete(release)
    }
    this.#release.add(release)
    return release
  }

  /** Calls `listener` when the run is interrupted, until the returned function is called. */
  readonly whenInterrupted = (listener: () => void): (() => void) => {
    this.#waiting.add(listener)
    return () => this.#waiting.delete(listener)
  }

  /**
   * Settles like `work`, or resolves with undefined as soon as the run is interrupted. Abandoned work is not awaited, and its rejection is
   * ignored.
   */
  untilInterrupted<T>(work: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const stopWaiting = () => resolve(undefined)
      this.#waiting.add(stopWaiting)
      if (this.#interruption !== undefined) stopWaiting()
      work.then(
        (value) => {
          this.#waiting.delete(stopWaiting)
          resolve(value)
        },
        (error: unknown) => {
          this.#waiting.delete(stopWaiting)
          reject(error)
        },
      )
    })
  }

  dispose(): void {
    for (const release of this.#release) release()
  }

  /** Ends the run after this many milliseconds, if `isDue` returns true at that time. */
  protected endAfter(milliseconds: number, isDue: () => boolean = () => true): void {
    this.#release.add(startDeadline(milliseconds, () => isDue() && this.interrupt('deadline')))
  }

  /** Ends this run when the outer run ends. The signal of the outer call no longer fires once the call's attempt has ended. */
  protected endWith(outer: Lifetime): void {
    const abort = () => this.interrupt('aborted', outer.signal.reason)
    if (outer.interruption !== undefined) abort()
    this.#release.add(outer.whenInterrupted(abort))
  }
}

export interface RunContextParts {
  runId?: string
  model: ChatModel
  tools: ToolSet
  limits: ResolvedLimits
  settings: RunOptions<never>
  bus: EventBus
  logger: Logger
  tap?: EventTap
  output?: OutputFormat
  parent?: RunParent
  /** Asks the run's model on behalf of a tool. */
  askModel?: ToolCallEnvironment['askModel']
  /** Whether the run listens to a `RunControl`. This is decided at the start, so that a replay behaves in the same way. */
  steerable?: boolean
}

/** The outer run of a nested run, and the call that started the nested run. */
export interface RunParent {
  run: RunContext
  /** The call that started the run. Undefined for a run that a guardrail, a hook or a summary started. */
  toolCallId: string | undefined
  /** Whether watchers of the outer run also see the events of this run. */
  forwards: boolean
}

/**
 * The parts of a run that exist only in this process: its signal, the agent that has the conversation, the listeners of its events. State
 * that a replay restores is in `LoopState` instead. `dispose` releases every timer and listener.
 */
export class RunContext extends Lifetime implements RunScope {
  readonly runId: string
  readonly depth: number
  readonly steerable: boolean
  readonly recorder: RunRecorder | undefined
  readonly askModel: ToolCallEnvironment['askModel']
  readonly limits: ResolvedLimits
  readonly settings: RunOptions<never>
  readonly logger: Logger
  readonly metadata: JsonObject | undefined
  readonly telemetry: RunTelemetry | undefined
  /** Prepared calls, by call id. A resumed run prepares them again. */
  readonly prepared: Map<string, PreparedCall> = new Map()
  /** Values that tools returned, by call id. They are kept only in memory, because they may not be JSON. */
  readonly values: Map<string, unknown> = new Map()
  /** Errors as they were thrown, by step key. The run's record contains only their code and message. */
  readonly errors: Map<string, ToolloopError> = new Map()
  /** The approvals that the current execution remembers. */
  remembered: Set<string> = new Set()
  /** The reasons why guardrails of this run stopped scripts, by the id of the call that runs the script. A reason ends this run. */
  readonly stops: Map<string, string> = new Map()
  /** The large results of the run, and the texts stored with `keep`. */
  readonly keptResults: KeptResults
  /** The `Durable` of the current execution, which nested runs use. */
  durable: Durable | undefined
  /** The runs nested in the run's calls. */
  nested: NestedRuns | undefined
  /** The iterations whose pending calls may have run in an earlier attempt. Set if the run is resumed with `again`. */
  mayHaveRunIn: ReadonlySet<number> | undefined
  /** The agent that planned each call of a preview, by call id. */
  readonly notedBy: Map<string, ActiveAgent> = new Map()
  /** Whether any call was carried out after a decision. */
  hasCarriedOut = false
  /** The run's claim on its session. */
  lease: SessionLease | undefined
  sessionPlace: SessionPlace | undefined
  /** The whole conversation. Set when an execution in a session has ended in this process. */
  conversation: readonly ChatMessage[] | undefined
  readonly #parent: RunParent | undefined
  readonly #first: ActiveAgent
  #agent: ActiveAgent
  #budget: RunUsage
  readonly events: RunEvents

  constructor(parts: RunContextParts) {
    const { runId = `run_${crypto.randomUUID()}`, model, tools, limits, settings, output, parent, steerable = false } = parts
    super()
    // The texts that the log must not show.
    const secrets = new SecretTexts()
    const logger = redacting(parts.logger, secrets)
    this.runId = runId
    this.depth = parent === undefined ? 0 : parent.run.depth + 1
    this.steerable = steerable
    this.askModel = parts.askModel
    // Runs that hooks or guardrails start are not recorded, because a replay of a recording calls no hooks and no guardrails.
    this.recorder = settings.recorder ?? (parent?.toolCallId === undefined ? undefined : parent.run.recorder)
    this.limits = limits
    this.settings = settings
    this.logger = logger
    const { onText, onCut, metadata } = settings
    this.metadata = metadata === undefined ? parent?.run.metadata : deepFreeze(copyAsJson(metadata))
    this.#parent = parent
    this.keptResults = new KeptResults(parent?.run.keptResults)
    this.#first = this.#agentOf(model, tools, output)
    this.#agent = this.#first
    this.#budget = this.#openBudget()
    const { name, telemetry } = settings
    this.telemetry = telemetry?.openRun({ runId, name, metadata: this.metadata, parent: measuredParent(parent), logger })
    const taps = [parts.tap, this.telemetry?.tap, ...(parent?.forwards === true ? parent.run.events.taps : [])]
    this.events = new RunEvents({
      bus: parts.bus,
      taps: taps.filter((tap) => tap !== undefined),
      watcher: parts.tap,
      onText,
      onCut,
      origin: originOf(this),
      logger,
      secrets,
      outside: parent?.run.events,
      isOver: () => this.interruption !== undefined,
    })
    if (settings.signal !== undefined) this.follow(settings.signal)
    if (parent !== undefined) this.endWith(parent.run)
    this.endAfter(limits.deadlineMs)
  }

  /** The run in which this run is nested. */
  get outer(): RunContext | undefined {
    return this.#parent?.run
  }

  /** The call of another run that started this run. */
  get within(): { runId: string; toolCallId: string | undefined } | undefined {
    return this.#parent && { runId: this.#parent.run.runId, toolCallId: this.#parent.toolCallId }
  }

  /** The limit for nesting, set by the outermost run. */
  get depthLimit(): number {
    return this.#parent?.run.depthLimit ?? this.limits.depth
  }

  get agent(): ActiveAgent {
    return this.#agent
  }

  /** The usage of the current execution. Nested runs read it here. */
  get budget(): RunUsage {
    return this.#budget
  }

  /** Starts an execution: resets the agent to the run's first agent, and the usage to zero. */
  begin(): RunUsage {
    this.#agent = this.#first
    // Drops calls that an earlier execution prepared: they would start before other calls.
    this.prepared.clear()
    this.#budget = this.#openBudget()
    return this.#budget
  }

  /** Switches to the agent that planned a call of a preview. Returns a function that switches back. */
  switchToAgentOf(callId: string): () => void {
    const current = this.#agent
    this.#agent = this.notedBy.get(callId) ?? current
    return () => {
      this.#agent = current
    }
  }

  /** Continues as another agent, with its model, tools and rules. */
  handTo({ model, tools, rules, limits }: NextAgent): void {
    this.#agent = this.#agentOf(model, tools, this.#agent.output, rules)
    this.#budget = this.#budget.handOver(limits)
    // The deadline applies only while the agent has the conversation.
    this.endAfter(limits.deadlineMs, () => this.#agent.rules === rules)
  }

  /** Switches to another model. Keeps the current model if the other model can't be used. */
  useModel(model: ChatModel): void {
    try {
      this.#agent = { ...this.#agent, model: this.usable(model) }
    } catch (error) {
      this.logger.error(
        { runId: this.runId, error: messageOf(error) },
        'the run can’t switch to the requested model and keeps its current one',
      )
    }
  }

  /** Returns the model if the run can continue with it, otherwise throws `invalid_option`. */
  usable(model: ChatModel): ChatModel {
    checkModelCost(this, this.#agent.rules?.limits, model)
    chooseCallForm(this.settings, model)
    return model
  }

  /** `fields` is called only if the logger writes debug records. */
  logStep(fields: () => object, message: string): void {
    if (this.logger.isLevelEnabled?.('debug') !== true) return
    const outer = this.#parent === undefined ? {} : { parentRunId: this.#parent.run.runId }
    this.logger.debug({ runId: this.runId, ...outer, ...fields() }, message)
  }

  /** Warns about a limit that ends the run or makes it ask for a last answer. */
  logLimit(stopReason: StopReason | undefined, iterations: number, toolCalls: number): void {
    const words = stopReason && limitWords[stopReason]
    if (words !== undefined) this.logger.warn({ runId: this.runId, stopReason, iterations, toolCalls }, words)
  }

  async keep(name: string, text: string): Promise<void> {
    await this.keptResults.put(name, text)
  }

  kept(name: string): Promise<string | undefined> {
    return this.keptResults.get(name)
  }

  #agentOf(model: ChatModel, given: ToolSet, format: OutputFormat | undefined, rules?: AgentRules<never>): ActiveAgent {
    const tools = this.limits.largeResults === undefined ? given : withReadResult(given, this)
    return activeAgent({ model, tools, format, settings: this.settings, rules })
  }

  #openBudget(): RunUsage {
    const parent = this.#parent
    return new RunUsage(this.limits, parent && { budget: parent.run.budget, toolCallId: parent.toolCallId ?? '', runId: this.runId })
  }
}

const limitWords: Partial<Record<StopReason, string>> = {
  truncated: 'run ended: the answer was cut off at a token limit',
  max_iterations: 'run ended: the iteration limit is reached and the model still calls tools',
  budget: 'run ended: a budget is used up',
  repeated_calls: 'run ended: the model repeats the same call',
}

/** The step and the attempt of an event. Empty if the journal doesn't survive crashes. */
export function tagsOf({ survivesCrashes, attempt }: Durable, key: string): StepTags {
  return survivesCrashes ? { step: key, attempt } : {}
}

/** Creates the `HookPlace` that hooks and guardrails get. */
export function placeOf(run: RunContext, iteration: number): HookPlace<never> {
  const { runId, metadata, signal, settings } = run
  return { runId, iteration, context: settings.context as never, metadata, signal, run }
}

/** Calls `end` after `milliseconds`. Returns a function that stops the timer. */
function startDeadline(milliseconds: number, end: () => void): () => void {
  if (!Number.isFinite(milliseconds)) return () => {}
  // A timer with a delay of 2^31 ms or more would fire at once, so long times are split into parts.
  const longest = 2 ** 31 - 1
  let timer: NodeJS.Timeout
  const waitFor = (left: number) => {
    timer = setTimeout(() => (left > longest ? waitFor(left - longest) : end()), Math.min(left, longest))
  }
  waitFor(milliseconds)
  return () => clearTimeout(timer)
}
