import { ToolloopError } from '../../core/errors.ts'
import type { Json } from '../../core/messages.ts'
import type { Decision } from '../decisions/decisions.ts'
import type { Loop } from '../run/execution.ts'
import type { RunContext } from '../run/run-context.ts'
import { conclude, execute, prepareModel } from '../run/start-run.ts'
import { RunnerSessions } from '../sessions/run-session.ts'
import type { TakeUp } from '../sessions/session-turn.ts'
import type { RunnerOptions, RunResult } from '../types.ts'
import { type DurableInput, givenUpToJson, inputFromJson, inputToJson, resultFromJson, resultToJson } from './durable-run.ts'
import type { Durable, Engine } from './journal.ts'
import { knownRun, openEngine, type RecoveredRun, type RecoverOptions, Runs, recoverRuns, storeDecisions } from './runs.ts'

/** Opens a run as its runner does, from what it was started with. */
type OpenRecorded = (recorded: { runId: string; input: DurableInput }) => RunContext

/** A runner's side of its journal, if it has one: hands runs over to it, and carries them out when it says so. */
export class RunnerJournal {
  readonly runs: Runs
  readonly #engine: Engine | undefined
  readonly #loop: Loop
  readonly #open: OpenRecorded
  readonly #sessions: RunnerSessions
  /** Runs that were started here, so that an execution in this process gets the caller's context and listeners. */
  readonly #liveRuns = new Map<string, RunContext>()
  /** Of them, those that were carried out here, be it to their end. */
  readonly #executed = new Set<RunContext>()

  constructor({ journal, sessions }: Pick<RunnerOptions<never>, 'journal' | 'sessions'>, loop: Loop, open: OpenRecorded) {
    this.#engine = journal?.connect((durable, input) => this.#execute(durable, input))
    this.#loop = loop
    this.#open = open
    this.#sessions = new RunnerSessions(sessions, (runId) => this.#takeUp(runId))
    this.runs = new Runs(this.#engine, (recorded) => this.#sessions.complete(recorded))
  }

  get sessions(): RunnerSessions {
    return this.#sessions
  }

  /** A nested run is part of the call it is made in. */
  keeps({ depth }: RunContext): boolean {
    return this.#engine !== undefined && depth === 0
  }

  start(run: RunContext, input: DurableInput): Promise<RunResult<never>> {
    const engine = openEngine(this.#engine)
    return this.#asLive(run, async () => {
      await engine.start(run.runId, inputToJson(input))
      return this.#resultOf(engine, run)
    })
  }

  async resume(runId: string, decisions: readonly Decision[], open: OpenRecorded): Promise<RunResult<never>> {
    const engine = openEngine(this.#engine)
    const { input, status } = await knownRun(engine, runId)
    const run = open({ runId, input: inputFromJson(input) })
    try {
      await prepareModel(run)
      return await this.#asLive(run, async () => {
        // What is decided is known when it has paused.
        if (status === 'running') await this.#resultOf(engine, run)
        await storeDecisions(engine, await knownRun(engine, runId), decisions, run.agent.registry)
        this.#executed.delete(run)
        await engine.start(runId)
        return this.#resultOf(engine, run)
      })
    } finally {
      await this.#sessions.leave(run)
      run.dispose()
    }
  }

  recover(options: RecoverOptions): Promise<RecoveredRun[]> {
    return recoverRuns(openEngine(this.#engine), options)
  }

  /** See `TakeUp`. */
  async #takeUp(runId: string): ReturnType<TakeUp> {
    const known = await this.#engine?.get?.(runId)
    if (known === undefined || known.status === 'ended') return known
    await this.#engine?.start(runId)
    return { ...known, status: (await this.#engine?.get?.(runId))?.status ?? 'ended' }
  }

  /** While `work` goes on, executions of the run are this `run`'s. */
  async #asLive(run: RunContext, work: () => Promise<Json>): Promise<RunResult<never>> {
    const { runId } = run
    if (!this.#liveRuns.has(runId)) this.#liveRuns.set(runId, run)
    try {
      return await conclude(resultFromJson(await this.#sessions.complete(await work(), run), run), run)
    } finally {
      if (this.#liveRuns.get(runId) === run) this.#liveRuns.delete(runId)
      this.#executed.delete(run)
    }
  }

  /**
   * What the run comes to. One that is carried out here ends as its interruption says, or as it had ended before that; of another's the caller
   * just stops waiting.
   */
  async #resultOf(engine: Engine, run: RunContext): Promise<Json> {
    const { runId } = run
    const result = engine.result(runId)
    const output = await run.untilInterrupted(result)
    if (output !== undefined) return output
    const isElsewhere = !this.#executed.has(run) && (await engine.get?.(runId))?.status === 'running'
    if (!isElsewhere) return result
    // A later rejection is ignored: nobody waits any more.
    result.catch(() => {})
    throw stoppedWaiting(run)
  }

  /** What the journal calls for each execution of a run, in this process or, after a crash, in another. */
  async #execute(durable: Durable, json: Json): Promise<Json> {
    const { runId, signal, givenUp } = durable
    const input = inputFromJson(json)
    if (givenUp !== undefined) return givenUpToJson(runId, input, givenUp)
    const live = this.#liveRuns.get(runId)
    const run = live ?? this.#open({ runId, input })
    const unfollow = signal === undefined ? undefined : run.follow(signal)
    if (live !== undefined) this.#executed.add(run)
    try {
      const result = await execute(durable, { loop: this.#loop, run, input, sessions: this.#sessions })
      return this.#sessions.recorded(result, resultToJson(result), run)
    } finally {
      unfollow?.()
      if (live === undefined) {
        await this.#sessions.leave(run)
        run.dispose()
      }
    }
  }
}

/** Why a caller gets no result of a run that another process goes on with. */
function stoppedWaiting({ runId, interruption, abortError }: RunContext): ToolloopError {
  const where = `run \`${runId}\`, which another process executes, goes on`
  if (interruption === 'deadline') return new ToolloopError('deadline', `The deadline passed; ${where}`)
  return new ToolloopError('aborted', `${abortError?.message ?? 'The caller aborted'}; ${where}`, { cause: abortError?.cause })
}
