import type { ShownProgress, ShownRuns } from '../../../agent/journal/shown-runs.ts'
import type { ServiceRun } from '../service-run.ts'

/** How often a run that another process executes is polled, in milliseconds. */
const lookEveryMs = 100

interface FollowedRunsParts {
  shown: Pick<ShownRuns, 'progress' | 'events'>
  read(runId: string): Promise<ServiceRun | undefined>
  /** Whether this process executes the run. If so, it sees the events of the run before they are stored. */
  isHere(run: ServiceRun): boolean
}

/** The runs that this process watches but doesn't execute. They are executed by another process, or no process has resumed them yet. */
export class FollowedRuns {
  readonly #parts: FollowedRunsParts
  readonly #runs = new Map<ServiceRun, number>()
  #timer: NodeJS.Timeout | undefined

  constructor(parts: FollowedRunsParts) {
    this.#parts = parts
  }

  get(runId: string): ServiceRun | undefined {
    return [...this.#runs.keys()].find(({ id }) => id === runId)
  }

  /** Follows the run until it has paused or ended, or until every caller of `follow` has called the returned function. */
  follow(run: ServiceRun): () => void {
    this.#runs.set(run, (this.#runs.get(run) ?? 0) + 1)
    this.#timer ??= setTimeout(() => void this.#look(), lookEveryMs).unref()
    return () => {
      const others = (this.#runs.get(run) ?? 0) - 1
      if (others > 0) this.#runs.set(run, others)
      else this.#runs.delete(run)
    }
  }

  close(): void {
    clearTimeout(this.#timer)
    for (const run of this.#runs.keys()) run.leave()
    this.#runs.clear()
  }

  async #look(): Promise<void> {
    const runs = [...this.#runs.keys()].filter((run) => !this.#parts.isHere(run))
    try {
      const known = new Map((await this.#parts.shown.progress(runs.map(({ id }) => id))).map((one) => [one.runId, one]))
      await Promise.allSettled(runs.map((run) => this.#bringUpToDate(run, known.get(run.id))))
    } catch {
      // The error is ignored, because the next poll reads the run again.
    }
    this.#timer = this.#runs.size === 0 ? undefined : setTimeout(() => void this.#look(), lookEveryMs).unref()
  }

  async #bringUpToDate(run: ServiceRun, progress: ShownProgress | undefined): Promise<void> {
    const { shown, read, isHere } = this.#parts
    const isLeft = () => isHere(run) || !this.#runs.has(run)
    while (progress !== undefined && progress.lastEventId > run.log.lastId) {
      const news = await shown.events(run.id, run.log.lastId)
      // The list is empty if the newest events were deleted meanwhile.
      if (news.length === 0) break
      if (isLeft()) return
      for (const event of news) run.log.read(event)
    }
    if (progress?.status === 'running') return
    const now = progress === undefined ? undefined : await read(run.id)
    const outcome = now?.outcome
    // The run may have been resumed since its progress was read. The next poll reads it again.
    if (isLeft() || (progress !== undefined && outcome === undefined)) return
    this.#runs.delete(run)
    if (now !== undefined) run.decisions = now.decisions
    if (outcome === undefined) run.leave()
    else run.settle(outcome)
  }
}
