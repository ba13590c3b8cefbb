import { hasTags } from '../tenants/tenant.ts'
import type { ServiceRun } from './service-run.ts'

/** The runs that are carried out in this process. */
export class RunningRuns {
  readonly #runs = new Map<string, ServiceRun>()
  #onIdle: (() => void)[] = []

  /** How many have all of these tags. What has ended and is being stored does not count. */
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
    if (this.#runs.size > 0) return
    for (const resolve of this.#onIdle.splice(0)) resolve()
  }

  /** Resolves when there is none, or when `signal` is aborted. */
  async settled(signal: AbortSignal): Promise<void> {
    if (this.#runs.size === 0 || signal.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const stop = () => resolve()
    this.#onIdle.push(resolve)
    signal.addEventListener('abort', stop)
    try {
      await promise
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }
}
