import type { ShownRuns } from '../../../agent/durable/shown-runs.ts'
import type { ServiceRun } from '../service-run.ts'
import type { Outcome } from '../stored-run.ts'

/** How often a run that another process carries out is looked at, in milliseconds. */
const lookEveryMs = 100

interface FollowedRunsParts {
  shown: Pick<ShownRuns, 'progress' | 'events'>
  /** What a run has come to; undefined: it goes on, or is not known any more. */
  outcomeOf(runId: string): Promise<Outcome | undefined>
  /** Whether this process carries the run out, and so has its events first. */
  isHere(run: ServiceRun): boolean
}

/** Runs that somebody looks at here while another process carries them out, or until one does again. */
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

  /** Looks at the run until it waits or is done, or until the function returned has been called by everybody. */
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
    // What fails now is tried again soon.
    await Promise.allSettled([...this.#runs.keys()].map((run) => this.#lookAt(run)))
    this.#timer = this.#runs.size === 0 ? undefined : setTimeout(() => void this.#look(), lookEveryMs).unref()
  }

  async #lookAt(run: ServiceRun): Promise<void> {
    const { shown, outcomeOf, isHere } = this.#parts
    if (isHere(run)) return
    const progress = await shown.progress(run.id)
    const news = progress !== undefined && progress.lastEventId > run.log.lastId ? await shown.events(run.id, run.log.lastId) : []
    const outcome = progress?.status === 'running' ? undefined : await outcomeOf(run.id)
    if (isHere(run) || !this.#runs.has(run)) return
    for (const event of news) run.log.add(event)
    if (progress?.status === 'running' || (progress !== undefined && progress.lastEventId > run.log.lastId)) return
    this.#runs.delete(run)
    if (outcome === undefined) run.leave()
    else run.settle(outcome)
  }
}
