import { syncText } from '../core/callbacks/callbacks.ts'
import { EventBus, type EventListener } from '../core/callbacks/event-bus.ts'
import { hashOf } from '../core/digest.ts'
import { InvalidOptionError, ToolloopError } from '../core/errors.ts'
import type { EventName } from '../core/events.ts'
import { defaultLogger, type Logger, redacting } from '../core/logger.ts'
import { toChatMessages } from '../core/message-input.ts'
import type { ChatModel } from '../models/chat-model.ts'
import { openModel } from '../models/create-model.ts'
import type { ToolSet } from '../tools/registry.ts'
import type { ModelAnswer, ModelQuestion, ToolContext } from '../tools/tool.ts'
import { readState } from './calls/waiting/paused-run.ts'
import { RunControl, toMessages } from './conversation/run-input.ts'
import { RunnerJournal } from './durable/runner-journal.ts'
import type { RecoveredRun, RecoverOptions, Runs } from './durable/runs.ts'
import { runLoop } from './loop.ts'
import { checkedInput } from './middleware/guardrails/ask-guardrails.ts'
import { resolveLimits } from './options/limits.ts'
import {
  checkResumeOptions,
  checkRunnerOptions,
  checkRunOptions,
  checkSettings,
  mergeOptions,
  rulesOf,
  toModel,
  toToolSet,
  warnOfDeprecated,
} from './options.ts'
import type { AnswerOf, OutputSchema, PartialAnswerOf } from './output/output.ts'
import { RunContext } from './run/run-context.ts'
import { openState } from './run/run-state.ts'
import { type ActiveRun, ActiveRuns, type CloseOptions } from './runner/active-runs.ts'
import { type ContinueRun, continueRun } from './runner/continue-run.ts'
import { askRestore, type DurableInput, inputToJson, lackingIn, notStored } from './runner/durable-run.ts'
import type { GivenHere, RecordedStart, RunOpener } from './runner/live-run.ts'
import type { GivenToResume, GivenToRun, GivenToRunner, ResumeOptionsOf, RunOptionsOf } from './runner/run-arguments.ts'
import { RunStream, type Watch } from './runner/run-stream.ts'
import { OwnedRuns, type PerformedRun, type RunnerOwner } from './runner/runner-owner.ts'
import { conclude, executeHere, openRun, prepareModel, withParent } from './runner/start-run.ts'
import { sessionOptions } from './sessions/session-options.ts'
import { begunRun, nestedRun } from './sub-agents/nested-run.ts'
import type { EventTap } from './types/event-tap.ts'
import type { Loop } from './types/execution.ts'
import type { AgentRules, NestingPlace, OutputOptions, RunInput, RunnerOptions, RunOptions, RunResult, RunState } from './types/options.ts'
import type { AgentTools, Needed, ToolCallOf } from './types/typed.ts'

type OwnerOf<Context, Tools extends AgentTools> = RunnerOwner<Needed<Context, Tools>> & { warns?: boolean; isRecorded?: boolean }

/**
 * Runs agents: asks the model, runs the tools it calls, sends back their results, and repeats until the model answers or a limit is
 * reached. One runner serves any number of runs at once. The constructor throws `invalid_option`, `invalid_tool` or `unknown_provider`.
 */
export class AgentRunner<Context = unknown, Tools extends AgentTools = AgentTools> {
  readonly bus: EventBus
  readonly #options: RunnerOptions<Needed<Context, Tools>>
  readonly #owned: OwnedRuns<Needed<Context, Tools>>
  readonly #model: ChatModel
  readonly #tools: ToolSet
  readonly #logger: Logger
  readonly #journal: RunnerJournal
  readonly #loop: Loop
  readonly #active = new ActiveRuns()
  readonly #continue: ContinueRun
  /** Whether a nested run is recorded as part of the tool call that starts it. */
  readonly #isRecorded: boolean

  /** `options`: the fields of `RunnerOptions`, with tools that fit the type of the context. */
  constructor(options: GivenToRunner<Context, Tools>)
  /** `loop` replaces the built-in loop (see `createAgentRunner`). `owner`: the agent that this runner belongs to. @internal */
  constructor(options: GivenToRunner<Context, Tools>, loop?: Loop, owner?: OwnerOf<Context, Tools>)
  constructor(
    options: GivenToRunner<Context, Tools>,
    loop: Loop = runLoop,
    { warns = true, isRecorded = true, ...owner }: OwnerOf<Context, Tools> = {},
  ) {
    checkRunnerOptions(options, '`AgentRunner`', new.target !== AgentRunner)
    resolveLimits(options)
    this.#options = options
    this.#owned = new OwnedRuns(owner, options.history)
    this.#loop = loop
    this.#isRecorded = isRecorded
    this.#model = toModel(options)
    checkSettings(options, this.#model)
    this.#tools = toToolSet(options.tools)
    this.#logger = options.logger === undefined ? defaultLogger : redacting(options.logger)
    if (warns) warnOfDeprecated(this.#model, options.logger)
    this.bus = options.bus ?? new EventBus((error, event) => this.#logger.error({ error, event }, 'event listener failed'))
    const opener: RunOpener = {
      logger: this.#logger,
      active: this.#active,
      open: (recorded, given) => this.#open(recorded, given),
      restored: (recorded, given) => this.#restored(recorded, given),
      executed: (run, input, alone, next) => this.#owned.executed(run, input, alone as RunOptionsOf<Context, Tools>, next),
    }
    const { provider, model } = this.#model
    this.#journal = new RunnerJournal(options, loop, opener, { provider, model, tools: this.#tools })
    this.#continue = continueRun({ opener, loop, sessions: this.#journal.sessions })
  }

  get model(): ChatModel {
    return this.#model
  }

  get tools(): ToolSet {
    return this.#tools
  }

  get instructions(): RunnerOptions<Needed<Context, Tools>>['instructions'] {
    return this.#options.instructions
  }

  /** The hooks, guardrails and limits that wrap the runner's turns and calls. They also apply after a `handoff` to this runner. */
  get handoffRules(): AgentRules<Needed<Context, Tools>> {
    return rulesOf(this.#options)
  }

  /** The runs in the journal. */
  get runs(): Runs {
    return this.#journal.runs
  }

  /** The runs that this process executes, and the callers that wait for a run, oldest first. */
  get active(): ActiveRun[] {
    return this.#active.list
  }

  /** Subscribes to one kind of event of all runs. Returns the function that unsubscribes. */
  on<K extends EventName>(name: K, listener: EventListener<K>): () => void {
    return this.bus.on(name, listener)
  }

  /**
   * Runs until the model answers or a limit is reached. The promise also resolves if a provider fails or the run is aborted, unless
   * `throwOnError` is set. The result tells how the run ended, and always contains the messages.
   *
   * `options`: the fields of `RunOptions`, and `output` for an answer with a schema. They can be omitted unless the agent declares the type
   * of its context.
   *
   * Rejects before anything is sent if options or messages are invalid, or if the model is not set up (`missing_api_key`,
   * `missing_dependency`, …). Rejects with a `RunError` if a model that the run switches to is not set up.
   */
  run<const S extends OutputSchema = never, T extends AgentTools = Tools>(
    input: RunInput,
    ...options: GivenToRun<Needed<Context, Tools>, T, S>
  ): Promise<RunResult<AnswerOf<S>, ToolCallOf<T>>>
  run(input: RunInput, options: RunOptionsOf<Context, Tools> = {}): Promise<RunResult<never>> {
    return this.#owned.start(input, options, (run) => this.#start(run))
  }

  /** Like `run`, as a stream: iterate over the events or `.text`, and await `.result`. Leaving the iteration aborts the run. */
  stream<const S extends OutputSchema = never, T extends AgentTools = Tools>(
    input: RunInput,
    ...options: GivenToRun<Needed<Context, Tools>, T, S>
  ): RunStream<AnswerOf<S>, ToolCallOf<T>, PartialAnswerOf<S>>
  stream(input: RunInput, options: RunOptionsOf<Context, Tools> & Partial<OutputOptions> = {}): RunStream<never> {
    const { control = new RunControl() } = options
    return new RunStream((watch) => this.#owned.start(input, options, (run) => this.#start(run, watch)), control, options)
  }

  /**
   * Continues a run that ended `paused`, in this process or in another process. `state` comes from the result of that run. Carries out each
   * decided call once. The model is asked again when no call is pending; until then the result is `paused`. Pass the context, tools, hooks,
   * guardrails, output and callbacks of `run` again.
   *
   * Rejects with `invalid_option` for an invalid state or decision, and with `already_resumed` if the same state is being resumed (see
   * `claim`). No call has been carried out in either case.
   *
   * With a journal, pass the run's id instead of the state, in any process that has the journal. Decisions are stored before they are
   * carried out. A forged, duplicate or late decision rejects with `decision_refused`, and none of the decisions passed with it is stored.
   * For a run that has ended, resolves with its result. An unknown id rejects with `unknown_run`.
   *
   * ```ts
   * const decisions = paused.pending.map((item) => ({ ...item, approved: true as const }))
   * const result = await runner.resume(paused.state, { decisions })
   * ```
   */
  resume<const S extends OutputSchema = never, T extends AgentTools = Tools>(
    state: RunState | string | undefined,
    ...options: GivenToResume<Needed<Context, Tools>, T, S>
  ): Promise<RunResult<AnswerOf<S>, ToolCallOf<T>>>
  resume(state: RunState | string | undefined, options: ResumeOptionsOf<Context, Tools> = {}): Promise<RunResult<never>> {
    return this.#owned.continue(state, options, (given) => this.#resume(state, given))
  }

  /** Like `resume`, as a stream. See `stream`. */
  resumeStream<const S extends OutputSchema = never, T extends AgentTools = Tools>(
    state: RunState | string | undefined,
    ...options: GivenToResume<Needed<Context, Tools>, T, S>
  ): RunStream<AnswerOf<S>, ToolCallOf<T>, PartialAnswerOf<S>>
  resumeStream(
    state: RunState | string | undefined,
    options: ResumeOptionsOf<Context, Tools> & Partial<OutputOptions> = {},
  ): RunStream<never> {
    const { control = new RunControl() } = options
    const resume = (watch: Watch) => this.#owned.continue(state, options, (given) => this.#resume(state, given, watch))
    return new RunStream(resume, control, options)
  }

  /**
   * Continues every recorded run that a process left unfinished. Also continues waiting runs that got a decision or were cancelled while no
   * process was running, and runs that have waited longer than their `decisionTimeoutMs`. Call it at startup, and from time to time if
   * several processes share the journal. Resolves when each run has ended or waits for a decision. Context, tools and callbacks that were
   * passed to a single run are lost with its process.
   */
  async recover(options: RecoverOptions = {}): Promise<RecoveredRun[]> {
    this.#active.checkOpen()
    return this.#journal.recover(options)
  }

  /**
   * Stops accepting work: `run`, `resume` and `recover` reject with `runner_closed`, and the journal resumes no more runs in this process.
   * Waits up to `drainMs` milliseconds (default 20,000) for running work. Then aborts runs that are not recorded, and leaves recorded runs
   * unfinished, so that another process can continue them. Callers that wait for an unfinished run get `runner_closed`. Resolves when
   * nothing is running. Leaves the journal and the sessions open: close them afterwards. Throws `invalid_option` for invalid options.
   */
  close(options: CloseOptions = {}): Promise<void> {
    return this.#active.close(options, (drained, problem) => this.#journal.close(drained, problem))
  }

  async #resume(state: unknown, given: ResumeOptionsOf<Context, Tools>, watch?: Watch): Promise<RunResult<never>> {
    checkResumeOptions(given)
    const { decisions = [], claim, again = false, replay = true, ...options } = given
    this.#active.checkOpen(options.parent)
    const here = this.#given(options, watch)
    if (typeof state !== 'string') return this.#continue(readState(state), here, { decisions, claim, again })
    const nested = options.parent && (await begunRun(options.parent as NestingPlace<never>, state))
    if (nested?.recorded === undefined) {
      if (watch === undefined || !replay) return this.#journal.resume(state, decisions, here)
      const resume = (tap: EventTap) => this.#journal.resume(state, decisions, { ...here, watch: { ...watch, tap } })
      const tools = options.tools === undefined ? undefined : toToolSet(options.tools)
      return this.#journal.replayed(state, watch, tools, resume)
    }
    return this.#continue(nested.recorded, here, { decisions, again, place: nested.place })
  }

  /** Merges the options that were recorded with a run and the options that this process has for it. */
  #open({ runId, input }: RecordedStart, { options, completed, watch }: GivenHere): RunContext {
    const stored = mergeOptions(this.#options, input.settings as RunOptionsOf<Context, Tools>)
    const given = (completed ?? this.#owned.complete(options as RunOptionsOf<Context, Tools>)) as RunOptionsOf<Context, Tools>
    const settings = mergeOptions(stored, withParent({ ...given, runId }, stored))
    settings.control = watch?.control ?? settings.control
    return this.#openRun(settings, input, watch)
  }

  /**
   * Calls `restore` for the options that can't be stored, such as tools, if this process doesn't have them. Rejects with `not_restored` if
   * `restore` fails or leaves an option out.
   */
  async #restored({ runId, input }: RecordedStart, given: GivenHere): Promise<GivenHere> {
    const { needs, session, settings } = input
    const lacks = lackingIn(given.options, needs)
    if (lacks.length === 0) return given
    const { metadata } = settings
    const run = { runId, metadata, session }
    const { toolTimeoutMs: timeoutMs } = resolveLimits(mergeOptions(this.#options, settings as RunOptionsOf<Context, Tools>))
    const restored = await askRestore({ restore: this.#options.restore as RunnerOptions<never>['restore'], run, lacks, timeoutMs })
    return { options: { ...given.options, ...restored }, watch: given.watch }
  }

  #given(options: RunOptionsOf<Context, Tools>, watch: Watch | undefined): GivenHere {
    return { options: options as RunOptions<never>, completed: this.#owned.complete(options) as RunOptions<never>, watch }
  }

  async #start({ input, options }: PerformedRun<Needed<Context, Tools>>, watch?: Watch): Promise<RunResult<never>> {
    checkRunOptions(options)
    this.#active.checkOpen(options.parent)
    const here = this.#given(options, watch)
    // The lists are copied at once, because the caller may change them during the run.
    const given = [...toChatMessages(options.messages ?? [])]
    const asked = [...toMessages(input as RunInput)]
    const parent = this.#isRecorded ? (options.parent as NestingPlace<never> | undefined) : undefined
    const nested = parent && (await nestedRun(parent, { runId: options.runId, input: [...given, ...asked] }))
    if (nested?.recorded !== undefined) return this.#continue(nested.recorded, here, { decisions: [], place: nested.place })
    const settings = mergeOptions(this.#options, withParent(here.completed as RunOptionsOf<Context, Tools>, this.#options))
    settings.control = watch?.control ?? settings.control
    const session = settings.session === undefined ? undefined : sessionOptions(settings.session)
    if (session !== undefined && options.messages !== undefined)
      throw new InvalidOptionError('messages', 'absent with a `session`, which has the conversation', options.messages)
    if (nested !== undefined) settings.runId = nested.runId
    const run = this.#openRun(settings, { steerable: settings.control !== undefined }, watch)
    const isRecorded = this.#journal.keeps(run)
    const leave = this.#active.enter(run, { isRecorded: false, session: session?.id })
    const { sessions } = this.#journal
    const needs = notStored(options as RunOptions<never>)
    const { metadata } = settings
    const inputDigest = isRecorded
      ? hashOf([...given, ...asked, session?.id, ...(session?.replaces === undefined ? [] : [session.replaces]), metadata] as never)
      : undefined
    try {
      if (options.runId !== undefined && inputDigest !== undefined) await this.#journal.checkSame(run.runId, inputDigest)
      await prepareModel(run)
      if (session !== undefined) await sessions.enter(run, session)
      const instructions = await this.#prompt(settings, run)
      const own = session === undefined && options.messages === undefined ? await this.#owned.loadHistory(run) : undefined
      const earlier = own === undefined ? given : toChatMessages(own, 'history')
      const { messages, refused, beside } = await checkedInput(run, asked)
      const start: DurableInput = {
        instructions,
        messages: [...earlier, ...messages],
        given: earlier.length,
        session: session?.id,
        replaces: session?.replaces,
        ownHistory: own === undefined ? undefined : true,
        steerable: run.steerable,
        refused,
        beside,
        settings: settings as RunOptions<never>,
        ...(needs.length === 0 ? {} : { needs }),
        inputDigest,
      }
      const state = openState({ input: start, run })
      const { healed, healing } = state.history
      if (healed) this.#logger.warn({ runId: run.runId, ...healing }, 'the conversation passed in was not valid and was repaired')
      if (isRecorded) return await this.#journal.start(run, start, here)
      // The messages of a session are not loaded yet, so the state of a run in a session is created later.
      const begun = session === undefined ? state : undefined
      await nested?.place.record.begin(inputToJson(start))
      const carryOut = () => executeHere({ loop: this.#loop, run, input: start, sessions, state: begun, place: nested?.place })
      return await conclude(await this.#owned.executed(run, start, undefined, carryOut), run)
    } finally {
      if (session !== undefined) await sessions.leave(run)
      run.dispose()
      leave()
    }
  }

  /** Returns the instructions of the run, or undefined if the run is interrupted while they are computed. */
  async #prompt(
    { instructions = this.#options.instructions, context }: RunOptionsOf<Context, Tools>,
    run: RunContext,
  ): Promise<string | undefined> {
    if (typeof instructions !== 'function') return instructions
    const made = await run.untilInterrupted(Promise.resolve(instructions({ context: context as Needed<Context, Tools> })))
    return made === undefined ? undefined : syncText('instructions', made)
  }

  #openRun(settings: RunOptionsOf<Context, Tools>, { steerable = false }: Pick<DurableInput, 'steerable'>, watch?: Watch): RunContext {
    const limits = resolveLimits(settings)
    const model = settings.model === undefined ? this.#model : openModel(settings.model)
    checkSettings(settings, model)
    const place = { bus: this.bus, logger: this.#logger }
    const tools = settings.tools ?? this.#tools
    return openRun({ ...watch, ...place, model, tools, limits, askModel, steerable, settings: settings as RunOptions<never> })
  }
}

/** Asks the run's model on behalf of a tool. The question is a nested run of one turn, and counts toward the run's limits and budgets. */
async function askModel({ messages, instructions, ...sampling }: ModelQuestion, ctx: ToolContext): Promise<ModelAnswer> {
  const { run } = ctx
  if (!(run instanceof RunContext) || run.budget.isUsedUp) throw new ToolloopError('tool_denied', 'The run has used up its budget.')
  const { model } = run.agent
  const { stream, streamIdleTimeoutMs, streamStallTimeoutMs } = run.settings
  const options = { model, logger: run.logger, instructions }
  // The nested run is not recorded: asking a model has no side effects, so a repeated call may ask again.
  const runner = new AgentRunner(options, runLoop, { warns: false, isRecorded: false })
  const given = Object.entries({ stream, streamIdleTimeoutMs, streamStallTimeoutMs }).filter(([, value]) => value !== undefined)
  const settings = { ...sampling, ...Object.fromEntries(given), parent: ctx as ToolContext<never>, maxIterations: 1 }
  const { stopReason, text, steps, error } = await runner.run(messages, settings)
  const step = steps.at(-1)
  // A truncated answer is not an error: the tool can see from `finishReason` that it was cut off.
  if ((stopReason !== 'answered' && stopReason !== 'truncated') || step === undefined)
    throw error ?? new ToolloopError('tool_failed', `The model did not answer (${stopReason})`)
  return { text, provider: step.provider, model: step.model, finishReason: step.finishReason }
}
