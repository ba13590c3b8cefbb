import type { EventBus } from '../../core/callbacks/event-bus.ts'
import { messageOf, type ToolloopError } from '../../core/errors.ts'
import { copyAsJson } from '../../core/json.ts'
import { type Logger, redacting } from '../../core/logger.ts'
import { type ChatMessage, deepFreeze, type JsonObject } from '../../core/messages.ts'
import { SecretTexts } from '../../core/redaction/secret-texts.ts'
import type { ChatModel } from '../../models/chat-model.ts'
import type { PreparedCall } from '../../tools/arguments.ts'
import type { ToolSet } from '../../tools/registry.ts'
import type { RunScope } from '../../tools/tool.ts'
import type { ToolCallEnvironment } from '../../tools/tool-runner.ts'
import type { Durable, StepTags } from '../journal/journal.ts'
import { KeptResults } from '../large-results/kept-results.ts'
import { withReadResult } from '../large-results/read-result.ts'
import { RunUsage } from '../limits/run-usage.ts'
import type { NestedRuns } from '../nested/nested-runs.ts'
import { failSafe, type RunRecorder } from '../observe/recorder.ts'
import { measuredParent, type RunTelemetry } from '../observe/telemetry.ts'
import { checkModelCost } from '../options/limits.ts'
import type { OutputFormat } from '../output/output.ts'
import type { SessionPlace, SessionTurn } from '../sessions/session-turn.ts'
import { chooseCallForm } from '../text-calls/mode.ts'
import type { EventTap } from '../types/event-tap.ts'
import type { AgentRules, RunOptions } from '../types/options.ts'
import type { ResolvedLimits } from '../types/resolved-limits.ts'
import { type ActiveAgent, activeAgent, type NextAgent } from './active-agent.ts'
import { Lifetime } from './lifetime.ts'
import { originOf, RunEvents } from './run-events.ts'

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
  /** Where it is inside another run. */
  parent?: RunParent
  /** Asks its model for a tool. */
  askModel?: ToolCallEnvironment['askModel']
  /** Whether it listens to a `RunControl`; known from its start on, so that a replay does the same. */
  steerable?: boolean
}

/** The call of another run that a run was made inside of. */
export interface RunParent {
  run: RunContext
  /** Undefined for one that a guardrail, a hook or a summary made. */
  toolCallId: string | undefined
  /** Whether those who watch the other run see this one's events too. */
  forwards: boolean
}

/**
 * What of a run lives only in this process: its signal, the agent that has the conversation, where its events go. What the loop decides by is elsewhere, as plain data (`LoopState`). `dispose` releases every timer and listener.
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
  /** Calls made ready by the plan, by id; a resumed run makes them again. */
  readonly prepared: Map<string, PreparedCall> = new Map()
  /** Values tools returned, by call id: too rich for the record, so kept only here. */
  readonly values: Map<string, unknown> = new Map()
  /** Errors as they were thrown, by step key: the record has only their plain form. */
  readonly errors: Map<string, ToolloopError> = new Map()
  /** Approvals that need not be asked for again; of the execution under way. */
  remembered: Set<string> = new Set()
  /** Why this run has to end, by the call that found out: a guardrail of this run has stopped the script in that call. */
  readonly stops: Map<string, string> = new Map()
  /** Its long results, as far as they are kept aside. */
  readonly keptResults: KeptResults
  /** The port of the execution under way: for runs inside its calls. */
  durable: Durable | undefined
  /** The runs inside its calls, if there were any. */
  nested: NestedRuns | undefined
  /** Resumed expressly again: the calls of this iteration that wait may have run before. */
  mayHaveRunIn: number | undefined
  /** A call was carried out as somebody decided. */
  hasCarriedOut = false
  /** Whether it goes on from a turn that was recorded before. */
  resumed = false
  /** Its hold on its session, while it has one. */
  turn: SessionTurn | undefined
  /** Where in its session it begins. */
  place: SessionPlace | undefined
  /** The whole conversation, when an execution of it in a session has ended here. */
  conversation: readonly ChatMessage[] | undefined
  readonly #parent: RunParent | undefined
  readonly #first: ActiveAgent
  #agent: ActiveAgent
  #budget: RunUsage
  readonly events: RunEvents

  constructor(parts: RunContextParts) {
    const { runId = `run_${crypto.randomUUID()}`, model, tools, limits, settings, output, parent, steerable = false } = parts
    super()
    // What must not be in the log.
    const secrets = new SecretTexts()
    const logger = redacting(parts.logger, secrets)
    this.runId = runId
    this.depth = parent === undefined ? 0 : parent.run.depth + 1
    this.steerable = steerable
    this.askModel = parts.askModel
    // Whoever plays a run again asks no hooks and no guardrails.
    const outer = parent?.toolCallId === undefined ? undefined : parent.run.recorder
    this.recorder = settings.recorder === undefined ? outer : failSafe(settings.recorder, runId, logger)
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
    const measured = { runId, name: settings.name, metadata: this.metadata, parent: measuredParent(parent), logger }
    this.telemetry = settings.telemetry?.openRun(measured)
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

  /** The run that this one is made inside of. */
  get outer(): RunContext | undefined {
    return this.#parent?.run
  }

  /** The call of another run that this one is made in. */
  get within(): { runId: string; toolCallId: string | undefined } | undefined {
    return this.#parent && { runId: this.#parent.run.runId, toolCallId: this.#parent.toolCallId }
  }

  /** How deep runs may be nested: as the outermost one says. */
  get depthLimit(): number {
    return this.#parent?.run.depthLimit ?? this.limits.depth
  }

  /** The agent that has the conversation. */
  get agent(): ActiveAgent {
    return this.#agent
  }

  /** What the execution under way has used up: it belongs to that one's state, and is here for the runs inside its calls. */
  get budget(): RunUsage {
    return this.#budget
  }

  /** An execution begins, the first or a later one: with the agent the run began with, and a budget of its own. */
  begin(): RunUsage {
    this.#agent = this.#first
    // Else calls that an execution before this one has made ready would start before others.
    this.prepared.clear()
    this.#budget = this.#openBudget()
    return this.#budget
  }

  /** Continues as another agent: with its model, its tools and its rules. */
  handTo({ model, tools, rules, limits }: NextAgent): void {
    this.#agent = this.#agentOf(model, tools, this.#agent.output, rules)
    this.#budget = this.#budget.handOver(limits)
    // It ends with the agent's turn at the conversation.
    this.endAfter(limits.deadlineMs, () => this.#agent.rules === rules)
  }

  /** Goes on with another model; with its own where that can't be. */
  useModel(model: ChatModel): void {
    try {
      this.#agent = { ...this.#agent, model: this.usable(model) }
    } catch (error) {
      this.logger.error({ runId: this.runId, error: messageOf(error) }, 'the run can’t switch to the requested model and keeps its own')
    }
  }

  /** The model, if the run can go on with it. Throws `invalid_option`. */
  usable(model: ChatModel): ChatModel {
    checkModelCost(this, this.#agent.rules?.limits, model)
    chooseCallForm(this.settings, model)
    return model
  }

  /** Logs a step, where the logger says that it writes such records: `fields` is asked only then. */
  logStep(fields: () => object, message: string): void {
    if (this.logger.isLevelEnabled?.('debug') !== true) return
    const outer = this.#parent === undefined ? {} : { parentRunId: this.#parent.run.runId }
    this.logger.debug({ runId: this.runId, ...outer, ...fields() }, message)
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

/** What an event carries of the step it came from. */
export function tagsOf({ survivesCrashes, attempt }: Durable, key: string): StepTags {
  return survivesCrashes ? { step: key, attempt } : {}
}
