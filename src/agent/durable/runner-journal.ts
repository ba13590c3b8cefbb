import pTimeout from 'p-timeout'
import { syncAnswer } from '../../core/callbacks/callbacks.ts'
import { messageOf, ToolloopError } from '../../core/errors.ts'
import { type Json, withoutUndefined } from '../../core/messages.ts'
import type { ToolSet } from '../../tools/registry.ts'
import type { Decision } from '../decisions/decisions.ts'
import type { Durable, Engine, Journal, KeptRun } from '../journal/journal.ts'
import type { RunContext } from '../run/run-context.ts'
import {
  type DurableInput,
  givenUpToJson,
  inputFromJson,
  inputToJson,
  lackingIn,
  resultFromJson,
  resultToJson,
  thinResult,
  wholeResult,
} from '../runner/durable-run.ts'
import type { GivenHere, LiveRun, RecordedStart, RunOpener } from '../runner/live-run.ts'
import { RunnerSessions } from '../runner/run-session.ts'
import type { Watch } from '../runner/run-stream.ts'
import { conclude, execute, prepareModel } from '../runner/start-run.ts'
import type { RunsOfJournal } from '../sessions/session-lease.ts'
import { withHandoffs } from '../sub-agents/handoff.ts'
import type { EventTap } from '../types/event-tap.ts'
import type { Loop } from '../types/execution.ts'
import type { RunnerOptions, RunResult } from '../types/options.ts'
import { RecordEvents, type ToldRun } from './replay/record-events.ts'
import { RecordFollower } from './replay/record-follower.ts'
import { turnsOfResult } from './replay/recorded-turns.ts'
import { keptRun, knownRun, openEngine, type RecoveredRun, type RecoverOptions, Runs, recoverRuns, storeDecisions, unable } from './runs.ts'

/** The agent whose recorded run is followed. */
type ToldAgent = Pick<ToldRun, 'provider' | 'model' | 'tools'>

/**
 * Connects a runner to its journal. Passes runs to the journal, and executes runs when the journal asks for it. Runners without a journal
 * use this class, too.
 */
export class RunnerJournal {
  readonly runs: Runs
  readonly #engine: Engine | undefined
  readonly #loop: Loop
  readonly #opener: RunOpener
  readonly #agent: ToldAgent
  readonly #sessions: RunnerSessions
  /**
   * Runs that a caller in this process waits for. If such a run is executed here, it gets the caller's options, and the caller gets its
   * events.
   */
  readonly #liveRuns = new Map<string, LiveRun>()
  readonly #journal: Journal | undefined
  #isClosing = false

  constructor({ journal, sessions }: Pick<RunnerOptions<never>, 'journal' | 'sessions'>, loop: Loop, opener: RunOpener, agent: ToldAgent) {
    this.#agent = agent
    this.#journal = journal
    this.#engine =
      journal &&
      syncAnswer(
        'connect',
        journal.connect((durable, input) => this.#execute(durable, input)),
      )
    this.#loop = loop
    this.#opener = opener
    this.#sessions = new RunnerSessions(sessions, { takeUp: (runId) => this.#takeUp(runId), cancel: (runId) => this.#cancel(runId) })
    const watch = (runId: string, watching: Watch) => this.#watch(runId, watching)
    this.runs = new Runs(this.#engine, (recorded) => this.#sessions.complete(recorded), watch)
  }

  get sessions(): RunnerSessions {
    return this.#sessions
  }

  /** Whether the journal records the run. A nested run is recorded as part of its call instead. */
  keeps({ depth }: RunContext): boolean {
    return this.#engine !== undefined && depth === 0
  }

  /** Rejects with `run_id_taken` if the journal has a run with this id and another input. */
  async checkSame(runId: string, inputDigest: string | undefined): Promise<void> {
    const known = await this.#engine?.get?.(runId)
    const recorded = known === undefined ? undefined : inputFromJson(known.input).inputDigest
    if (recorded === undefined || recorded === inputDigest) return
    const expected = `Expected the id of a new run, or the same input, session and metadata that run \`${runId}\` was started with`
    throw new ToolloopError('run_id_taken', expected)
  }

  start(run: RunContext, input: DurableInput, given: GivenHere): Promise<RunResult<never>> {
    const engine = openEngine(this.#engine)
    const { runId } = run
    const { inputDigest } = input
    const live: LiveRun = { run, given, inputDigest, isExecuted: false }
    this.#opener.active.record(run)
    return this.#asLive(live, async () => {
      await engine.start(runId, inputToJson(input), run.metadata, input.session)
      const output = await this.#resultOf(engine, live)
      // Another process may have started a run with this id at the same moment.
      if (!live.isExecuted) await this.checkSame(runId, inputDigest)
      return output
    })
  }

  async resume(runId: string, decisions: readonly Decision[], asked: GivenHere): Promise<RunResult<never>> {
    const engine = openEngine(this.#engine)
    const { input: json, status } = await knownRun(engine, runId)
    const recorded = { runId, input: inputFromJson(json) }
    const isOver = status === 'ended' || this.#liveRuns.has(runId)
    const given = isOver ? asked : await this.#restored(recorded, asked, decisions.length > 0)
    const run = this.#opener.open(recorded, given)
    const live: LiveRun = { run, given, isExecuted: false }
    const leave = this.#opener.active.enter(run, { isRecorded: true, session: recorded.input.session })
    try {
      await prepareModel(run)
      return await this.#asLive(live, async () => {
        // A running run is awaited first, because its pending items are known only when it pauses.
        if (status === 'running') await this.#resultOf(engine, live)
        await storeDecisions(engine, await knownRun(engine, runId), decisions, run.agent.registry)
        live.isExecuted = false
        await engine.start(runId)
        return this.#resultOf(engine, live)
      })
    } finally {
      await this.#close(run)
      leave()
    }
  }

  /**
   * Calls `work`, which continues the run, and sends all events of the run to the watcher, from the beginning. `tools`: the tools passed to
   * `resumeStream`.
   */
  async replayed(
    runId: string,
    { tap, left }: Watch,
    tools: ToolSet | undefined,
    work: (tap: EventTap) => Promise<RunResult<never>>,
  ): Promise<RunResult<never>> {
    const engine = openEngine(this.#engine)
    if (engine.news === undefined) return work(tap)
    const { events, followed } = this.#followed(await knownRun(engine, runId), tap, tools)
    await followed.begin()
    const over = work(followed.source)
    try {
      await followed.follow(over, left)
    } catch (error) {
      // The stream lacks events, but the run continues and its caller still gets the result.
      this.#opener.logger.error({ runId, error }, 'the record of a run could not be read: its stream may lack events')
    }
    const result = await over
    await events.add(turnsOfResult(result))
    events.end(result)
    return result
  }

  /** Watches the run from its beginning until it waits or has ended, in any process. */
  async #watch(runId: string, { tap, left }: Watch): Promise<RunResult<never>> {
    const engine = openEngine(this.#engine)
    if (engine.news === undefined) unable('reports runs as they are recorded')
    const { events, followed } = this.#followed(await knownRun(engine, runId), tap)
    const unwatch = this.#opener.active.watch(runId, followed.source)
    try {
      await followed.begin()
      await followed.follow(undefined, left)
    } finally {
      unwatch()
    }
    if (left.aborted) throw new ToolloopError('aborted', `Nobody watches run \`${runId}\` any more`, { cause: left.reason })
    const { input, output = null } = await knownRun(engine, runId)
    const run = this.#opener.open({ runId, input: inputFromJson(input) }, { options: {} })
    try {
      const result = await conclude(resultFromJson(await this.#sessions.complete(output, run), run), run)
      await events.add(turnsOfResult(result))
      events.end(result)
      return result
    } finally {
      run.dispose()
    }
  }

  /** Opens the replay of a run's events. `own`: the tools that were passed only to this run, if this process knows them. */
  #followed(
    { runId, createdAt, metadata, input }: KeptRun,
    tap: EventTap,
    own?: ToolSet,
  ): { events: RecordEvents; followed: RecordFollower } {
    // Tools that were passed to a run replace the agent's tools.
    const tools = inputFromJson(input).needs?.includes('tools') === true ? own : this.#agent.tools
    const sets = tools === undefined ? [] : withHandoffs(tools)
    const secretsOf = (name: string) => {
      const found = sets.map((set) => set.get(name)).filter((tool) => tool !== undefined)
      return found.length === 0 ? undefined : found.flatMap(({ secrets = [] }) => secrets)
    }
    const events = new RecordEvents({ ...this.#agent, secretsOf, runId, createdAt, metadata }, tap)
    return { events, followed: new RecordFollower(runId, openEngine(this.#engine), events, tap) }
  }

  /**
   * Completes the caller's options with the recorded options. If that fails, a caller that passes no decision gets its options back
   * unchanged, because it may only be waiting for another process.
   */
  async #restored(recorded: RecordedStart, asked: GivenHere, decides: boolean): Promise<GivenHere> {
    try {
      return await this.#opener.restored(recorded, asked)
    } catch (error) {
      if (!decides) return asked
      this.#logLeft(recorded, error)
      throw error
    }
  }

  recover(options: RecoverOptions): Promise<RecoveredRun[]> {
    return recoverRuns(openEngine(this.#engine), options, () => this.#isClosing)
  }

  /** Stops resuming runs, and releases the current runs once `drained` has resolved. Resolves with false if the journal has no `close`. */
  async close(drained: Promise<unknown>, problem: ToolloopError): Promise<boolean> {
    this.#isClosing = true
    const close = this.#engine?.close ?? this.#journal?.close
    if (this.#engine?.close !== undefined) await this.#engine.close(drained, problem)
    else {
      await drained
      await this.#journal?.close?.()
    }
    return close !== undefined
  }

  /** See `RunsOfJournal`. */
  async #takeUp(runId: string): ReturnType<RunsOfJournal['takeUp']> {
    const engine = this.#engine
    const known = engine?.get && (await keptRun(engine, runId))
    if (engine === undefined || known === undefined || known.status === 'ended') return known
    await engine.start(runId)
    const { status = 'ended', output } = (await keptRun(engine, runId)) ?? {}
    return { ...known, status, ...withoutUndefined({ output }) }
  }

  /** See `RunsOfJournal`. */
  async #cancel(runId: string): Promise<void> {
    await this.#engine?.cancel(runId, 'its message was replaced')
    await this.#engine?.result(runId)
  }

  /** Calls `work`. If this process executes the run in the meantime, the run uses the options and the watcher of `live`. */
  async #asLive(live: LiveRun, work: () => Promise<Json>): Promise<RunResult<never>> {
    const { run } = live
    const { runId } = run
    if (!this.#liveRuns.has(runId)) this.#liveRuns.set(runId, live)
    try {
      return await conclude(resultFromJson(await this.#sessions.complete(await work(), run), run), run)
    } finally {
      if (this.#liveRuns.get(runId) === live) this.#liveRuns.delete(runId)
    }
  }

  /**
   * Resolves with the result of the run. If the caller interrupts a run that this process executes, the run ends as interrupted. If another
   * process executes the run, the caller only stops waiting.
   */
  async #resultOf(engine: Engine, live: LiveRun): Promise<Json> {
    const { run } = live
    const { runId } = run
    const result = engine.result(runId).then(wholeResult)
    const output = await run.untilInterrupted(result)
    if (output !== undefined) return output
    const isElsewhere = !live.isExecuted && (await engine.get?.(runId))?.status === 'running'
    if (!isElsewhere) return result
    // A later rejection is ignored: the caller has stopped waiting.
    result.catch(() => {})
    throw stoppedWaiting(run)
  }

  /** Called by the journal for each execution of a run, in the process that started the run or, after a crash, in another process. */
  async #execute(durable: Durable, json: Json): Promise<Json> {
    const { runId, signal, givenUp } = durable
    const input = inputFromJson(json)
    if (givenUp !== undefined) return givenUpToJson(runId, input, givenUp)
    const live = this.#liveRunOf({ runId, input })
    if (live !== undefined) live.isExecuted = true
    const opened = await this.#open({ runId, input }, live, signal)
    if (opened === undefined) return givenUpToJson(runId, input, messageOf(signal?.reason))
    const { run, given } = opened
    const unfollow = signal === undefined ? undefined : run.follow(signal)
    const leave = run === live?.run ? undefined : this.#opener.active.enter(run, { isRecorded: true, session: input.session })
    try {
      const carryOut = () => execute(durable, { loop: this.#loop, run, input, sessions: this.#sessions })
      const alone = live === undefined ? given?.options : undefined
      const result = await (given === undefined ? carryOut() : this.#opener.executed(run, input, alone, carryOut))
      return thinResult(this.#sessions.recorded(result, resultToJson(result), run))
    } finally {
      unfollow?.()
      if (run !== live?.run) await this.#close(run)
      leave?.()
    }
  }

  /**
   * The run that a caller in this process waits for. Undefined if nobody waits, or if the caller has started another run with the same id.
   */
  #liveRunOf({ runId, input }: RecordedStart): LiveRun | undefined {
    const live = this.#liveRuns.get(runId)
    const isSame = live?.inputDigest === undefined || input.inputDigest === undefined || live.inputDigest === input.inputDigest
    return isSame ? live : undefined
  }

  /**
   * Opens the run with all options that it was started with. Rejects if an option is missing. A cancelled run opens even then, without
   * `given`, because it only has to end. If a cancelled run can't be opened, resolves with undefined.
   */
  async #open(
    recorded: RecordedStart,
    live: LiveRun | undefined,
    cancelled: AbortSignal | undefined,
  ): Promise<{ run: RunContext; given: GivenHere | undefined } | undefined> {
    const asked = live?.given ?? { options: {} }
    const open = (given: GivenHere) => (live !== undefined && given === asked ? live.run : this.#opener.open(recorded, given))
    try {
      if (!cancelled?.aborted) {
        const given = await untilAborted(this.#opener.restored(recorded, asked), cancelled)
        return { given, run: open(given) }
      }
    } catch (error) {
      if (!cancelled?.aborted) {
        this.#logLeft(recorded, error)
        throw error
      }
    }
    try {
      return { run: open(asked), given: lackingIn(asked.options, recorded.input.needs).length === 0 ? asked : undefined }
    } catch {
      return undefined
    }
  }

  #logLeft({ runId }: RecordedStart, error: unknown): void {
    this.#opener.logger.error({ runId, error }, 'a run could not be continued here and is unchanged')
  }

  async #close(run: RunContext): Promise<void> {
    await this.#sessions.leave(run)
    run.dispose()
  }
}

/** The error for a caller that stops waiting for a run in another process. */
function stoppedWaiting({ runId, interruption, abortError }: RunContext): ToolloopError {
  const where = `run \`${runId}\`, which another process executes, continues`
  if (interruption === 'deadline') return new ToolloopError('deadline', `The deadline passed; ${where}`)
  return new ToolloopError('aborted', `${abortError?.message ?? 'The caller aborted'}; ${where}`, { cause: abortError?.cause })
}

/** Settles like `work`, or rejects with the signal's reason as soon as the signal is aborted. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return signal === undefined ? work : pTimeout(work, { milliseconds: Number.POSITIVE_INFINITY, signal })
}
