import { hasTags } from '../tenants/tenant.ts'
import type { ServiceRun } from './service-run.ts'

/** The runs that this process executes. */
export class RunningRuns {
  readonly #runs = new Map<string, ServiceRun>()
  #onEnd: (() => void)[] = []

  /** Returns the number of runs that have all of these tags. Runs that have ended but are still being stored are not counted. */
  count(tags: readonly string[]): number {
    return this.all().filter(({ head, status }) => status === 'running' && hasTags(head, tags)).length
  }

  get(id: string): ServiceRun | undefined {
    return this.#runs.get(id)
  }

  has(id: string): boolean {
    return this.#runs.has(id)
  }

  all(): ServiceRun[] {
    return [...this.#runs.values()]
  }

  add(run: ServiceRun): void {
    this.#runs.set(run.id, run)
  }

  delete(run: ServiceRun): void {
    this.#runs.delete(run.id)
    for (const resolve of this.#onEnd.splice(0)) resolve()
  }

  /** Resolves when all runs have ended and are stored, or when `signal` aborts. `which` selects the runs to wait for. */
  async settled(signal: AbortSignal, which: (run: ServiceRun) => boolean = () => true): Promise<void> {
    const { promise: stopped, resolve: stop } = Promise.withResolvers<void>()
    signal.addEventListener('abort', () => stop(), { once: true })
    while (!signal.aborted && this.all().some(which))
      await Promise.race([stopped, new Promise<void>((resolve) => this.#onEnd.push(resolve))])
  }
}
