import { Event, EventBus, type EventListener, type EventName, type StopReason } from '../events.ts'
import { defaultLogger, type Logger, redacting } from '../log.ts'
import type { Json } from '../messages.ts'
import type { ChatModel } from '../models/model.ts'
import type { ToolSet } from '../tools/registry.ts'
import { askWithinWindow } from './context-window.ts'
import { type DurableInput, inputFromJson, inputToJson, resultFromJson, resultToJson } from './durable-run.ts'
import { History } from './history.ts'
import { type Durable, type Engine, InMemory, type Recorded } from './journal.ts'
import { Budget, RepeatBreaker, type ResolvedLimits, refuseAll, resolveLimits } from './limits.ts'
import { type EventTap, LiveRun } from './live-run.ts'
import { checkSettings, mergeOptions, toMessages, toModel, toToolSet, warnOfDeprecated } from './options.ts'
import { decide, type RunState, readState } from './paused-run.ts'
import type { ResumeOptions, RunInput, RunnerOptions, RunOptions, RunResult } from './run.ts'
import { type Ending, RunRecord } from './run-record.ts'
import { RunStream } from './run-stream.ts'
import { runToolRound } from './tool-round.ts'

/**
 * Drives a bounded tool loop: asks the model, runs the tools it calls, gives it the results, until it answers or a bound is reached.
 * One runner serves any number of runs at once. The constructor throws `invalid_option`, `invalid_tool` or `unknown_provider`.
 */
export class AgentRunner<Context = unknown> {
  readonly bus: EventBus
  readonly #options: RunnerOptions<Context>
  readonly #model: ChatModel
  readonly #registry: ToolSet
  readonly #logger: Logger
  readonly #engine: Engine | undefined
  /** Runs under a journal that were started here, so that an execution in this process gets the caller's context and listeners. */
  readonly #liveRuns = new Map<string, LiveRun>()

  constructor(options: RunnerOptions<Context>) {
    resolveLimits(options)
    this.#options = options
    this.#model = toModel(options)
    checkSettings(options, this.#model)
    this.#registry = toToolSet(options.tools)
    this.#logger = options.logger === undefined ? defaultLogger : redacting(options.logger)
    warnOfDeprecated(this.#model, options.logger)
    this.bus = options.bus ?? new EventBus((error, event) => this.#logger.error({ error, event }, 'event listener failed'))
    this.#engine = options.journal?.connect((durable, input) => this.#execute(durable, input))
  }

  /** Subscribes to one kind of event of all runs; returns the function that unsubscribes. */
  on<K extends EventName>(name: K, listener: EventListener<K>): () => void {
    return this.bus.on(name, listener)
  }

  /**
   * Runs until the model answers or a bound is reached. How it ended is in the result, which always has the messages: a failing
   * provider, an abort and a limit resolve too. Rejects only for options and messages that are not allowed, before anything is sent.
   */
  run(input: RunInput, options: RunOptions<Context> = {}): Promise<RunResult> {
    return this.#start(input, options)
  }

  /** The same run, to be watched: events, or `.text`, as they come, and `.result`. Leaving the iteration aborts the run. */
  stream(input: RunInput, options: RunOptions<Context> = {}): RunStream {
    return new RunStream((tap, signal) => this.#start(input, options, tap, signal))
  }

  /**
   * Goes on with a run that ended `paused`, in this process or another one: `state` is its result's. Decided calls are carried out, each
   * once; the model is asked again when nothing is pending any more, else the result is `paused` as before. Context, tools given to `run`,
   * and callbacks are to be given anew. Rejects with `invalid_option` for a state or a decision that is none; nothing has happened then.
   *
   * ```ts
   * const decisions = paused.pending.map((item) => ({ ...item, approved: true as const }))
   * const result = await runner.resume(paused.state, { decisions })
   * ```
   */
  async resume(state: RunState | undefined, { decisions = [], ...options }: ResumeOptions<Context> = {}): Promise<RunResult> {
    const paused = readState(state)
    const input = inputFromJson(paused.input)
    const stored = mergeOptions(this.#options, input.settings as RunOptions<Context>)
    const settings = mergeOptions(stored, { ...options, runId: paused.runId })
    checkSettings(settings, this.#model)
    const run = this.#liveRun(settings, resolveLimits(settings), options.tools)
    try {
      const decided = await decide(paused, decisions, {
        registry: run.registry,
        logger: this.#logger,
        timeoutMs: settings.decisionTimeoutMs,
      })
      return await carryOutHere(run, input, openRecord(input), decided)
    } finally {
      run.dispose()
    }
  }

  async #start(input: RunInput, options: RunOptions<Context>, tap?: EventTap, consumer?: AbortSignal): Promise<RunResult> {
    const settings = mergeOptions(this.#options, options)
    const limits = resolveLimits(settings)
    checkSettings(settings, this.#model)
    const messages = [...(options.messages ?? []), ...toMessages(input)]
    const run = this.#liveRun(settings, limits, options.tools, tap)
    if (consumer !== undefined) run.follow(consumer)
    try {
      const start: DurableInput = {
        instructions: await this.#prompt(options.context as Context, run),
        messages,
        given: options.messages?.length ?? 0,
        settings: settings as RunOptions<never>,
      }
      const record = openRecord(start)
      if (record.history.healed)
        this.#logger.warn({ runId: run.runId, ...record.history.healing }, 'the conversation handed in was not valid and has been healed')
      if (this.#engine === undefined) return await carryOutHere(run, start, record)
      this.#liveRuns.set(run.runId, run)
      await this.#engine.start(run.runId, inputToJson(start))
      return resultFromJson(await this.#engine.result(run.runId), run)
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
    const settings = mergeOptions(this.#options, { ...input.settings, runId: durable.runId })
    const live = this.#liveRuns.get(durable.runId)
    const run = live ?? this.#liveRun(settings, resolveLimits(settings), undefined)
    try {
      return resultToJson(await carryOut(durable, run, openRecord(input)))
    } finally {
      if (live === undefined) run.dispose()
    }
  }

  #liveRun(settings: RunOptions<Context>, limits: ResolvedLimits, tools: RunOptions['tools'], tap?: EventTap): LiveRun {
    const registry = tools === undefined ? this.#registry : toToolSet(tools)
    const { runId } = settings
    return new LiveRun({
      runId,
      model: this.#model,
      registry,
      limits,
      settings: settings as RunOptions<never>,
      bus: this.bus,
      logger: this.#logger,
      tap,
    })
  }
}

function openRecord({ instructions, messages, given }: DurableInput): RunRecord {
  const history = new History(messages, instructions, given)
  return new RunRecord(history, history.earlier)
}

/** Carries the run out in this process; one that has to wait can be taken up again from its result's `state`. */
async function carryOutHere(run: LiveRun, input: DurableInput, record: RunRecord, recorded?: Recorded): Promise<RunResult> {
  const durable = new InMemory(run.runId, run.signal, recorded)
  const result = await carryOut(durable, run, record)
  if (result.stopReason !== 'paused') return result
  return { ...result, state: { version: 1, runId: run.runId, input: inputToJson(input), pending: result.pending, ...durable.recorded() } }
}

async function carryOut(durable: Durable, run: LiveRun, record: RunRecord): Promise<RunResult> {
  const { provider, model } = run.model
  await durable.step('start', async () => {
    run.emit(Event.RUN_START, { provider, model, tools: run.registry.names() }, { iteration: 0 })
    return null
  })
  const result = record.close(await runLoop(durable, run, record), run)
  await durable.step('end', async () => {
    const { stopReason, usage, iterations, error } = result
    run.emit(
      Event.RUN_END,
      { stopReason, usage, iterations, ...(error === undefined ? {} : { errorCode: error.code }) },
      { iteration: iterations },
    )
    return null
  })
  return result
}

/** THE LOOP. Decides only by its arguments and by what steps return, so that a run can be taken up again from its recorded steps. */
async function runLoop(durable: Durable, run: LiveRun, record: RunRecord): Promise<Ending> {
  const { history } = record
  const budget = new Budget(run.limits)
  const breaker = new RepeatBreaker(run.limits.repeatedCalls)
  for (let iteration = 1; ; iteration++) {
    const turn = await askWithinWindow(durable, run, history, iteration)
    budget.spend(record.addTurn(turn, `${iteration}.model`))
    if (turn.kind === 'interrupted') return { stopReason: turn.why }
    if (turn.kind === 'failed') return { stopReason: 'model_error', error: turn.error }
    if (turn.kind === 'refused') return { stopReason: 'refused', error: turn.error }
    if (turn.planned.length === 0) return { stopReason: 'answered' }

    const round = await runToolRound(durable, run, iteration, budget.admit(turn.planned))
    const repeats = breaker.countTurn(turn.planned)
    record.addRound(round, repeats.tell)
    if (round.interrupted !== undefined) return { stopReason: round.interrupted }
    if (round.pending.length > 0) return { stopReason: 'paused', pending: round.pending }
    if (round.final !== undefined) return { stopReason: 'stopped', output: round.final.content }
    if (record.shouldStop(iteration, run)) return { stopReason: 'stopped' }

    const limit: StopReason | undefined = budget.exhausted(iteration) ?? (repeats.end ? 'repeated_calls' : undefined)
    if (limit === undefined) continue
    run.logger.warn(
      { runId: run.runId, stopReason: limit, iterations: iteration, toolCalls: record.toolCalls.length },
      endingWords[limit] ?? 'run ended',
    )
    if (run.settings.onLimit !== 'answer' || limit === 'budget') return { stopReason: limit }
    const answer = await askWithinWindow(durable, run, history, iteration + 1, 'none')
    record.addTurn(answer, `${iteration + 1}.answer`)
    if (answer.kind === 'interrupted') return { stopReason: answer.why }
    // Told to call nothing, some models do: nothing runs, and the history stays valid.
    if (answer.kind === 'reply') record.addRound(await runToolRound(durable, run, iteration + 1, refuseAll(answer.planned)), noneRepeated)
    return { stopReason: limit, ...(answer.kind === 'failed' ? { error: answer.error } : {}) }
  }
}

const noneRepeated: ReadonlySet<string> = new Set()

const endingWords: Partial<Record<StopReason, string>> = {
  max_iterations: 'run ended: the iteration limit is reached and the model still calls tools',
  budget: 'run ended: a budget is used up',
  repeated_calls: 'run ended: the model repeats the same call',
}
