import { checkOptionNames, type OptionNames } from '../../core/check-options.ts'
import { InvalidOptionError, ToolloopError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/messages.ts'
import type { RunContext } from '../run/run-context.ts'
import type { EventTap } from '../types/event-tap.ts'

/** A run that is running in this process. */
export interface ActiveRun {
  runId: string
  /** When the run started in this process, in milliseconds since 1970. */
  startedAt: number
  metadata?: JsonObject
  /** The id of the run's session. */
  session?: string
  /** The run whose tool call started this run. */
  parentRunId?: string
}

/** Options of `AgentRunner.close`. */
export interface CloseOptions {
  /** How long to wait for running work to end, in milliseconds. Default 20,000. */
  drainMs?: number
}

const closeOptionNames: OptionNames<CloseOptions> = { drainMs: true }

interface Entry {
  run: RunContext
  isRecorded: boolean
  shown: ActiveRun
}

/** The runs that a runner is executing. */
export class ActiveRuns {
  readonly #entries = new Set<Entry>()
  /** Functions to call whenever a run has ended. */
  readonly #waiting = new Set<() => void>()
  #closing: Promise<void> | undefined
  /** Watchers of runs, including runs that start later. */
  readonly #watchers = new Set<{ runId: string; tap: EventTap }>()

  /** The runs, oldest first, without duplicates. */
  get list(): ActiveRun[] {
    const shown = new Map<string, ActiveRun>()
    for (const entry of this.#entries) if (!shown.has(entry.shown.runId)) shown.set(entry.shown.runId, entry.shown)
    return [...shown.values()]
  }

  /** Marks a run as recorded in the journal. */
  record(run: RunContext): void {
    for (const entry of this.#entries) if (entry.run === run) entry.isRecorded = true
  }

  /** Adds a run, until the returned function is called. `isRecorded`: whether the journal has the run. */
  enter(run: RunContext, { isRecorded, session }: { isRecorded: boolean; session: string | undefined }): () => void {
    const { runId, metadata, within } = run
    const shown: ActiveRun = { runId, startedAt: Date.now() }
    if (metadata !== undefined) shown.metadata = metadata
    if (session !== undefined) shown.session = session
    if (within !== undefined) shown.parentRunId = within.runId
    const entry = { run, isRecorded, shown }
    this.#entries.add(entry)
    for (const watcher of this.#watchers) if (watcher.runId === runId) run.events.watch(watcher.tap)
    return () => {
      this.#entries.delete(entry)
      for (const look of this.#waiting) look()
    }
  }

  /** Sends all further events of the run to `tap`, until the returned function is called. */
  watch(runId: string, tap: EventTap): () => void {
    const watcher = { runId, tap }
    const own = () => [...this.#entries].filter(({ run }) => run.runId === runId)
    this.#watchers.add(watcher)
    for (const { run } of own()) run.events.watch(tap)
    return () => {
      this.#watchers.delete(watcher)
      for (const { run } of own()) run.events.unwatch(tap)
    }
  }

  /** Throws `runner_closed` if the runner is closed. Runs nested in another run (`parent`) may still start. */
  checkOpen(parent?: object): void {
    if (this.#closing !== undefined && parent === undefined) throw closedProblem()
  }

  /**
   * See `AgentRunner.close`. `letGo` must release the recorded runs once `drained` has resolved. If `letGo` resolves with false, the
   * recorded runs continue in this process.
   */
  close(
    { drainMs = 20_000, ...others }: CloseOptions,
    letGo: (drained: Promise<void>, problem: ToolloopError) => Promise<boolean>,
  ): Promise<void> {
    checkOptionNames(others, closeOptionNames, '`close`')
    if (typeof drainMs !== 'number' || !(drainMs >= 0)) throw new InvalidOptionError('drainMs', 'milliseconds ≥ 0', drainMs)
    const close = async () => {
      const problem = closedProblem()
      let isLetGo = false
      try {
        // Recorded runs are released before anything is aborted, so that their records don't contain the abort.
        isLetGo = await letGo(this.#settled(drainMs), problem)
      } finally {
        for (const { run, isRecorded } of this.#entries) if (!isRecorded) run.interrupt('aborted', problem)
        await this.#settled(Number.POSITIVE_INFINITY, ({ isRecorded }) => isLetGo || !isRecorded)
      }
    }
    this.#closing ??= close()
    return this.#closing
  }

  /** Resolves once none of the runs selected by `isMeant` is running, or after `withinMs` milliseconds. */
  #settled(withinMs: number, isMeant: (entry: Entry) => boolean = () => true): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if ([...this.#entries].some(isMeant)) return
        done()
      }
      const done = () => {
        clearTimeout(timer)
        this.#waiting.delete(look)
        resolve()
      }
      // A timer with a delay of 2^31 ms or more would fire at once.
      const timer = withinMs < 2 ** 31 ? setTimeout(done, withinMs) : undefined
      this.#waiting.add(look)
      look()
    })
  }
}

function closedProblem(): ToolloopError {
  return new ToolloopError(
    'runner_closed',
    'The runner was closed: it executes nothing any more. Any other process can continue its recorded runs',
  )
}
