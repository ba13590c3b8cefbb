import type { Decision } from '../../agent/decisions.ts'
import type { RunResult } from '../../agent/run.ts'
import type { RunStream } from '../../agent/run-stream.ts'
import type { RunEvent } from '../../events.ts'
import type { Logger } from '../../log.ts'
import type { AgentHost } from '../agent-host.ts'
import type { Caller } from '../http/auth.ts'
import { HttpProblem, problemOfRequest } from '../http/problem.ts'
import type { RateLimiter } from '../http/rate-limit.ts'
import { EventLog } from './event-log.ts'
import { type RunOrder, ServiceRun } from './service-run.ts'

/** What is kept of runs, in memory. Running ones are always kept; of the others the oldest go first. */
export interface RunBounds {
  /** Most paused and finished runs that are kept. */
  count: number
  /** How long, in milliseconds. */
  ageMs: number
  /** Most characters of their events and results together. */
  characters: number
  /** Most events kept of one run, and of the feed of all. */
  eventsOfRun: number
  charactersOfRun: number
}

export interface RunObserver {
  started(run: ServiceRun): void
  event(run: ServiceRun, event: RunEvent): void
  ended(run: ServiceRun, result: RunResult, durationMs: number): void
}

interface RunStoreParts {
  host: AgentHost
  limiter: RateLimiter
  bounds: RunBounds
  observer: RunObserver
  logger: Logger
}

/** Sees one run as it is, before anything is redacted. Must not throw. */
export interface RunWatcher {
  event(event: RunEvent): void
  /** Undefined: the run could not be followed to its end, which is nobody's intention. */
  over(result: RunResult | undefined): void
}

/** Every run of the service: starts them, follows them, keeps what became of them. */
export class RunStore {
  bounds: RunBounds
  /** Every event of every run. */
  readonly feed: EventLog
  readonly #parts: RunStoreParts
  readonly #running = new Map<string, ServiceRun>()
  /** Paused and finished ones, in the order they came to be that. */
  readonly #kept = new Map<string, ServiceRun>()
  #keptSize = 0

  constructor(parts: RunStoreParts) {
    this.#parts = parts
    this.bounds = parts.bounds
    this.feed = new EventLog({ events: this.bounds.eventsOfRun, characters: this.bounds.charactersOfRun })
  }

  get running(): number {
    return this.#running.size
  }

  /** Resolves when the run has begun, with its first event. Rejects with an `HttpProblem`, and nothing has happened then. */
  async start(order: RunOrder, watcher?: RunWatcher): Promise<ServiceRun> {
    const { host, limiter, bounds } = this.#parts
    const agent = host.agent(order.agent)
    const tools = host.toolsFor(order.clientTools)
    const release = limiter.admitRun(order.caller.name)
    const lease = host.leaseTools()
    const run = new ServiceRun(order, tools.list(), { events: bounds.eventsOfRun, characters: bounds.charactersOfRun })
    // The model it began with answers it to its end, whatever the configuration becomes.
    run.control.useModel(agent.model.current)
    const { control, signal } = run
    const stream = agent.runner.stream(order.input, { ...order.options, tools, runId: order.id, control, signal })
    await this.#follow(run, stream, watcher, () => {
      lease()
      release()
    })
    return run
  }

  /** Carries out what was decided; resolves when that has begun. Rejects with an `HttpProblem`. */
  async resume(run: ServiceRun, decisions: readonly Decision[]): Promise<void> {
    const { host, limiter } = this.#parts
    const agent = host.agent(run.order.agent)
    if (run.status !== 'paused') throw new HttpProblem(409, 'not_paused', `Run ${run.id} does not wait for a decision: it is ${run.status}`)
    const tools = host.toolsFor(run.order.clientTools)
    const release = limiter.admitRun(run.order.caller.name)
    const lease = host.leaseTools()
    const state = run.takeState()
    const { control, signal } = run
    control.useModel(agent.model.current)
    const stream = agent.runner.resumeStream(state, { ...run.order.options, decisions, tools, control, signal })
    this.#unkeep(run)
    try {
      await this.#follow(run, stream, undefined, () => {
        lease()
        release()
      })
    } catch (error) {
      run.giveBackState()
      this.#keep(run)
      throw error
    }
  }

  /** The caller's own run; an admin's is any. Throws an `HttpProblem` 404. */
  get(id: string, caller: Caller): ServiceRun {
    this.#forgetOld()
    const run = this.#running.get(id) ?? this.#kept.get(id)
    if (run !== undefined && isOf(run, caller)) return run
    throw new HttpProblem(404, 'run_not_found', 'There is no such run; finished ones are kept for a while only', { param: 'id' })
  }

  /** The caller's runs, the newest first. */
  list(caller: Caller): ServiceRun[] {
    this.#forgetOld()
    return [...this.#kept.values(), ...this.#running.values()].filter((run) => isOf(run, caller)).reverse()
  }

  cancel(run: ServiceRun, reason: string): void {
    if (run.status === 'running') run.abort(reason)
    if (run.status === 'paused') run.giveUp()
  }

  /** Resolves when no run is running, or when `signal` is aborted. */
  async settled(signal: AbortSignal): Promise<void> {
    const aborted = Promise.withResolvers<void>()
    const stop = () => aborted.resolve()
    if (signal.aborted) return
    signal.addEventListener('abort', stop, { once: true })
    try {
      while (this.#running.size > 0 && !signal.aborted) {
        await Promise.race([Promise.all([...this.#running.values()].map(({ ended }) => ended)), aborted.promise])
      }
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }

  abortAll(reason: string): void {
    for (const run of this.#running.values()) run.abort(reason)
  }

  async #follow(run: ServiceRun, stream: RunStream, watcher: RunWatcher | undefined, release: () => void): Promise<void> {
    const started = performance.now()
    const events = stream[Symbol.asyncIterator]()
    let first: IteratorResult<RunEvent, undefined>
    try {
      first = await events.next()
    } catch (error) {
      release()
      // Whoever rejects the iteration rejects the result as well.
      stream.result.catch(() => {})
      throw problemOfRequest(error) ?? error
    }
    this.#running.set(run.id, run)
    this.#parts.observer.started(run)
    if (first.value !== undefined) this.#take(run, first.value, watcher)
    void this.#pump(run, stream, events, watcher, started).finally(release)
  }

  /** Never rejects: a run that has begun ends with a result. */
  async #pump(
    run: ServiceRun,
    stream: RunStream,
    events: AsyncIterableIterator<RunEvent, undefined>,
    watcher: RunWatcher | undefined,
    started: number,
  ): Promise<void> {
    const { observer, logger } = this.#parts
    try {
      for await (const event of events) this.#take(run, event, watcher)
      const result = await stream.result
      this.#running.delete(run.id)
      run.finish(result)
      observer.ended(run, result, performance.now() - started)
      watcher?.over(result)
    } catch (error) {
      logger.error({ runId: run.id, error }, 'a run could not be followed to its end')
      this.#running.delete(run.id)
      run.giveUp()
      watcher?.over(undefined)
    }
    this.#keep(run)
  }

  #take(run: ServiceRun, event: RunEvent, watcher: RunWatcher | undefined): void {
    watcher?.event(event)
    this.#parts.observer.event(run, event)
    for (const shown of run.redactor.redact(event)) {
      const data = JSON.stringify(shown)
      run.log.append(shown.type, data)
      this.feed.append(shown.type, data)
    }
  }

  #keep(run: ServiceRun): void {
    this.#kept.set(run.id, run)
    this.#keptSize += run.size
    this.#forgetOld()
  }

  #unkeep(run: ServiceRun): void {
    if (this.#kept.delete(run.id)) this.#keptSize -= run.size
  }

  #forgetOld(): void {
    const { count, ageMs, characters } = this.bounds
    const before = Date.now() - ageMs
    for (const run of this.#kept.values()) {
      const isOld = (run.finishedAt?.getTime() ?? 0) < before
      if (!isOld && this.#kept.size <= count && this.#keptSize <= characters) return
      this.#unkeep(run)
    }
  }
}

function isOf({ order }: ServiceRun, { name, roles }: Caller): boolean {
  return order.caller.name === name || roles.includes('admin')
}
