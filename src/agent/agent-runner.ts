import { EventBus, type EventListener, type EventName } from '../core/events.ts'
import { defaultLogger, type Logger, redacting } from '../core/logger.ts'
import { toChatMessages } from '../core/message-input.ts'
import type { Json } from '../core/messages.ts'
import type { ChatModel } from '../models/chat-model.ts'
import type { ToolSet } from '../tools/registry.ts'
import { runToolRound } from './calls/tool-round.ts'
import { askWithinWindow } from './conversation/compact-when-full.ts'
import { decide, goesOn, type RunState, readState } from './decisions/paused-run.ts'
import { withClaim } from './decisions/resume-claim.ts'
import { type DurableInput, inputFromJson, inputToJson, resultFromJson, resultToJson } from './durable/durable-run.ts'
import type { Durable, Engine } from './durable/journal.ts'
import { closeAnswer, closeStep, endingOfAnswer } from './next-step.ts'
import { checkResumeOptionNames, checkRunnerOptionNames, checkRunOptionNames } from './option-names.ts'
import { checkSettings, mergeOptions, toMessages, toModel, toToolSet, warnOfDeprecated } from './options.ts'
import type { AnswerOf, OutputSchema } from './output/output.ts'
import { carryOut, carryOutHere, checkedInput, conclude, type Loop, openRecord } from './run/execution.ts'
import { type Budget, RepeatBreaker, refuseAll, resolveLimits } from './run/limits.ts'
import { openRun, prepareModel, type Watch, withParent } from './run/open-run.ts'
import type { LiveRun } from './run/run-context.ts'
import { RunControl } from './run/run-control.ts'
import { type Ending, endingOfTurn, type RunRecord } from './run/run-state.ts'
import { RunStream } from './run/run-stream.ts'
import type { OutputOptions, ResumeOptions, RunInput, RunnerOptions, RunOptions, RunResult } from './types.ts'

/**
 * Drives a bounded tool loop: asks the model, runs the tools it calls, gives it the results, until it answers or a bound is reached.
 * One runner serves any number of runs at once. The constructor throws `invalid_option`, `invalid_tool` or `unknown_provider`.
 */
export class AgentRunner<Context = unknown> {
  readonly bus: EventBus
  readonly #options: RunnerOptions<Context>
  readonly #model: ChatModel
  readonly #tools: ToolSet
  readonly #logger: Logger
  readonly #engine: Engine | undefined
  readonly #loop: Loop
  /** Runs under a journal that were started here, so that an execution in this process gets the caller's context and listeners. */
  readonly #liveRuns = new Map<string, LiveRun>()

  /**
   * `loop`: another one in place of this file's; `createAgentRunner` of `toolloop/backends` gives it. `warns`: whether it logs that a
   * setting of its model is deprecated; false where the agent it is a part of has.
   */
  constructor(options: RunnerOptions<Context>, loop: Loop = runLoop, { warns = true }: { warns?: boolean } = {}) {
    checkRunnerOptionNames(options, '`AgentRunner`', new.target !== AgentRunner)
    resolveLimits(options)
    this.#options = options
    this.#loop = loop
    this.#model = toModel(options)
    checkSettings(options, this.#model)
    this.#tools = toToolSet(options.tools)
    this.#logger = options.logger === undefined ? defaultLogger : redacting(options.logger)
    if (warns) warnOfDeprecated(this.#model, options.logger)
    this.bus = options.bus ?? new EventBus((error, event) => this.#logger.error({ error, event }, 'event listener failed'))
    this.#engine = options.journal?.connect((durable, input) => this.#execute(durable, input))
  }

  get model(): ChatModel {
    return this.#model
  }

  get tools(): ToolSet {
    return this.#tools
  }

  get instructions(): RunnerOptions<Context>['instructions'] {
    return this.#options.instructions
  }

  /** Subscribes to one kind of event of all runs; returns the function that unsubscribes. */
  on<K extends EventName>(name: K, listener: EventListener<K>): () => void {
    return this.bus.on(name, listener)
  }

  /**
   * Runs until the model answers or a bound is reached. How it ended is in the result, which always has the messages: a failing
   * provider, an abort and a limit resolve too, unless `throwOnError` is set. Rejects for options and messages that are not allowed and for
   * a model that is not set up (`missing_api_key`, `missing_dependency`, …), before anything is sent; with a `RunError` where another model
   * turns out so in the middle of the run.
   */
  run<const S extends OutputSchema>(input: RunInput, options: RunOptions<Context> & OutputOptions<S>): Promise<RunResult<AnswerOf<S>>>
  run(input: RunInput, options?: RunOptions<Context>): Promise<RunResult>
  run(input: RunInput, options: RunOptions<Context> = {}): Promise<RunResult<never>> {
    return this.#start(input, options)
  }

  /** The same run, to be watched: events, or `.text`, as they come, and `.result`. Leaving the iteration aborts the run. */
  stream<const S extends OutputSchema>(input: RunInput, options: RunOptions<Context> & OutputOptions<S>): RunStream<AnswerOf<S>>
  stream(input: RunInput, options?: RunOptions<Context>): RunStream
  stream(input: RunInput, options: RunOptions<Context> = {}): RunStream<never> {
    const { control = new RunControl() } = options
    return new RunStream((watch) => this.#start(input, { ...options, control }, watch), control)
  }

  /**
   * Goes on with a run that ended `paused`, in this process or another one: `state` is its result's. Decided calls are carried out, each
   * once; the model is asked again when nothing is pending any more, else the result is `paused` as before. What `run` was given of context,
   * tools, hooks, guardrails, output and callbacks is to be given anew. Rejects with `invalid_option` for an invalid state or decision, and with `already_resumed` when
   * the same state is being resumed (see `claim`); nothing has happened then.
   *
   * ```ts
   * const decisions = paused.pending.map((item) => ({ ...item, approved: true as const }))
   * const result = await runner.resume(paused.state, { decisions })
   * ```
   */
  resume<const S extends OutputSchema>(
    state: RunState | undefined,
    options: ResumeOptions<Context> & OutputOptions<S>,
  ): Promise<RunResult<AnswerOf<S>>>
  resume(state: RunState | undefined, options?: ResumeOptions<Context>): Promise<RunResult>
  resume(state: RunState | undefined, options: ResumeOptions<Context> = {}): Promise<RunResult<never>> {
    return this.#resume(state, options)
  }

  /** The same, to be watched. See `stream`. */
  resumeStream<const S extends OutputSchema>(
    state: RunState | undefined,
    options: ResumeOptions<Context> & OutputOptions<S>,
  ): RunStream<AnswerOf<S>>
  resumeStream(state: RunState | undefined, options?: ResumeOptions<Context>): RunStream
  resumeStream(state: RunState | undefined, options: ResumeOptions<Context> = {}): RunStream<never> {
    const { control = new RunControl() } = options
    return new RunStream((watch) => this.#resume(state, { ...options, control }, watch), control)
  }

  async #resume(state: unknown, { decisions = [], claim, ...options }: ResumeOptions<Context>, watch?: Watch): Promise<RunResult<never>> {
    checkResumeOptionNames(options)
    const paused = readState(state)
    const input = inputFromJson(paused.input)
    const stored = mergeOptions(this.#options, input.settings as RunOptions<Context>)
    const settings = mergeOptions(stored, withParent({ ...options, runId: paused.runId }, stored))
    const run = this.#liveRun(settings, input, watch)
    try {
      await prepareModel(run)
      const { decisionTimeoutMs: timeoutMs } = settings
      const decided = await decide(paused, decisions, { registry: run.registry, logger: this.#logger, timeoutMs })
      const carryOn = () => carryOutHere(this.#loop, run, input, openRecord(input), decided)
      return await conclude(await (goesOn(decided, timeoutMs) ? withClaim(run, paused, claim, carryOn) : carryOn()), run)
    } finally {
      run.dispose()
    }
  }

  async #start(input: RunInput, options: RunOptions<Context>, watch?: Watch): Promise<RunResult<never>> {
    checkRunOptionNames(options)
    const settings = mergeOptions(this.#options, withParent(options, this.#options))
    // Copied at once: the caller may change the lists while the run goes on.
    const given = [...toChatMessages(options.messages ?? [])]
    const asked = [...toMessages(input)]
    const run = this.#liveRun(settings, { steerable: settings.control !== undefined }, watch)
    try {
      await prepareModel(run)
      const instructions = await this.#prompt(settings.context as Context, run)
      const { messages, ...checked } = await checkedInput(run, asked)
      const start: DurableInput = {
        instructions,
        messages: [...given, ...messages],
        given: given.length,
        steerable: run.steerable,
        settings: settings as RunOptions<never>,
        ...checked,
      }
      const record = openRecord(start)
      if (record.history.healed)
        this.#logger.warn({ runId: run.runId, ...record.history.healing }, 'the conversation handed in was not valid and has been healed')
      if (this.#engine === undefined || run.depth > 0) return await conclude(await carryOutHere(this.#loop, run, start, record), run)
      this.#liveRuns.set(run.runId, run)
      await this.#engine.start(run.runId, inputToJson(start))
      return await conclude(resultFromJson(await this.#engine.result(run.runId), run), run)
    } finally {
      this.#liveRuns.delete(run.runId)
      run.dispose()
    }
  }

  /** The instructions; undefined when the run is interrupted before they are made. */
  async #prompt(context: Context, run: LiveRun): Promise<string | undefined> {
    const { instructions } = this.#options
    if (typeof instructions !== 'function') return instructions
    return run.untilInterrupted(Promise.resolve(instructions({ context })))
  }

  /** What the journal calls for each execution of a run, in this process or, after a crash, in another. */
  async #execute(durable: Durable, json: Json): Promise<Json> {
    const input = inputFromJson(json)
    const live = this.#liveRuns.get(durable.runId)
    const run = live ?? this.#liveRun(mergeOptions(this.#options, { ...input.settings, runId: durable.runId }), input)
    try {
      return resultToJson(await carryOut(this.#loop, durable, run, input, openRecord(input)))
    } finally {
      if (live === undefined) run.dispose()
    }
  }

  /** Throws `invalid_option` for settings that are not allowed, before anything is sent. */
  #liveRun(settings: RunOptions<Context>, { steerable = false }: Pick<DurableInput, 'steerable'>, watch?: Watch): LiveRun {
    const limits = resolveLimits(settings)
    checkSettings(settings, this.#model)
    const parts = { model: this.#model, limits, settings: settings as RunOptions<never>, steerable, ...watch }
    return openRun({ ...parts, bus: this.bus, logger: this.#logger, tools: settings.tools ?? this.#tools })
  }
}

/** THE LOOP. Decides only by its arguments and by what steps return, so that a run can be taken up again from its recorded steps. */
export async function runLoop(durable: Durable, run: LiveRun, record: RunRecord): Promise<Ending> {
  const { history } = record
  const budget = run.begin()
  const breaker = new RepeatBreaker(run.limits.repeatedCalls)
  for (let iteration = 1; ; iteration++) {
    const turn = await askWithinWindow(durable, run, history, iteration)
    budget.spend(record.addTurn(turn, `${iteration}.model`))
    if (turn.kind !== 'reply') return endingOfTurn(turn)

    const { planned } = turn
    const round = planned.length === 0 ? undefined : await runToolRound(durable, run, iteration, budget.admit(planned))
    const next = await closeStep(durable, run, record, { iteration, turn, round, budget, breaker })
    if (next === undefined) continue
    return next.answerFirst ? lastAnswer(durable, run, record, { iteration: iteration + 1, budget, limit: next.ending }) : next.ending
  }
}

/** A run that has come to a limit, and the iteration in which it is asked for an answer all the same. */
interface AtLimit {
  iteration: number
  budget: Budget
  limit: Ending
}

/** One more request, in which nothing can be called: so that there is an answer. */
async function lastAnswer(durable: Durable, run: LiveRun, record: RunRecord, { iteration, budget, limit }: AtLimit): Promise<Ending> {
  const turn = await askWithinWindow(durable, run, record.history, iteration, 'none')
  budget.spend(record.addTurn(turn, `${iteration}.answer`))
  if (turn.kind !== 'reply' || turn.planned.length === 0) return endingOfAnswer(limit, turn)
  const planned = refuseAll(turn.planned, run.output?.tool.name)
  return closeAnswer(run, record, limit, await runToolRound(durable, run, iteration, planned))
}
