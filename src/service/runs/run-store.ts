import type { Decision } from '../../agent/decisions/decisions.ts'
import type { RunState } from '../../agent/run/result.ts'
import type { RunInput } from '../../agent/types.ts'
import type { Logger } from '../../core/logger.ts'
import type { AnyTool } from '../../tools/tool.ts'
import type { AgentHost } from '../agents/agent-host.ts'
import type { Caller } from '../http/auth.ts'
import { blamingRequest, HttpProblem } from '../http/problem.ts'
import type { RateLimiter } from '../http/rate-limit.ts'
import { EventLog } from './event-log.ts'
import { RunFollower, type RunObserver, type RunWatcher } from './follow-run.ts'
import { KeptRuns, type RunBounds } from './kept-runs.ts'
import { listed } from './list-runs.ts'
import { readInput, readMessages } from './read-messages.ts'
import { ServiceRun } from './service-run.ts'
import { endOf } from './shelf.ts'
import {
  abortedWith,
  type Outcome,
  type RunHead,
  type RunOrder,
  type StoredHead,
  type StoredRun,
  storedOrder,
} from './stored/stored-run.ts'

export type { RunBounds }

interface RunStoreParts {
  host: AgentHost
  limiter: RateLimiter
  bounds: RunBounds
  observer: RunObserver
  logger: Logger
}

/** Every run of the service: starts them, follows them, keeps what became of them. */
export class RunStore {
  /** Every event of every run. */
  readonly feed: EventLog
  readonly #parts: RunStoreParts
  readonly #follower: RunFollower
  readonly #running = new Map<string, ServiceRun>()
  /** Those that are not running. */
  readonly #kept: KeptRuns
  #onIdle: (() => void)[] = []

  constructor(parts: RunStoreParts) {
    this.#parts = parts
    this.#kept = new KeptRuns(parts.bounds, parts.logger)
    this.feed = new EventLog({ events: this.bounds.eventsOfRun, characters: this.bounds.charactersOfRun })
    const { host, observer, logger } = parts
    const begun = (run: ServiceRun) => void this.#kept.save(run)
    this.#follower = new RunFollower({ host, observer, logger, feed: this.feed, begun, ended: (run, outcome) => this.#end(run, outcome) })
  }

  get bounds(): RunBounds {
    return this.#kept.bounds
  }

  set bounds(bounds: RunBounds) {
    this.#kept.bounds = bounds
  }

  get running(): number {
    return this.#running.size
  }

  get paused(): number {
    return this.#kept.paused
  }

  /** Keeps runs in a folder from now on, and takes up those that are in it; `option` is what named it. Rejects with `invalid_option`. */
  async open(folder: string, option: string): Promise<void> {
    const { logger } = this.#parts
    const runs: ServiceRun[] = []
    for await (const stored of this.#kept.open(folder, option)) {
      try {
        const run = this.#open(stored)
        if ('said' in stored && stored.outcome === undefined) this.#endInterrupted(run, stored.before)
        // One that has just ended; or one that the version before has written, whose parts can't be read by themselves.
        if (run.isLoaded && (await this.#kept.save(run, run.outcome))) run.unload()
        runs.push(run)
      } catch (error) {
        logger.error({ runId: stored.head.id, error }, 'a stored run can not be taken over, and is left as it is')
      }
    }
    for (const run of runs.sort((a, b) => endOf(a) - endOf(b))) this.#kept.add(run)
    this.#kept.forgetOld()
    if (runs.length > 0) logger.info({ folder, runs: runs.length, paused: this.paused }, 'runs of an earlier process are taken over')
  }

  /** Resolves when the run has begun, with its first event. Rejects with an `HttpProblem`, and nothing has happened then. */
  async start(order: RunOrder, watcher?: RunWatcher): Promise<ServiceRun> {
    const { host, limiter } = this.#parts
    if (order.kind === 'run') this.#kept.checkRoom(order.caller)
    const tools = await host.toolsFor(order.clientTools)
    const agent = host.agent(order.agent)
    const run = this.#open(storedOrder(order))
    const { control, signal } = run
    const giveBack = limiter.admitRun(order.caller.name)
    this.#running.set(run.id, run)
    try {
      await this.#follower.follow(run, watcher, giveBack, async () => {
        const { messages, ...others } = order.options
        const options = messages === undefined ? others : { ...others, messages: await readMessages(messages, 'messages') }
        const input = await readInput(order.input)
        // The model it began with answers it to its end, whatever the configuration becomes.
        control.useModel(agent.model.current)
        return agent.runner.stream(input, { ...options, tools, runId: run.id, control, signal })
      })
    } catch (error) {
      giveBack()
      this.#leave(run)
      throw error
    }
    return run
  }

  /** Carries out what was decided; resolves when that has begun. Rejects with an `HttpProblem`: it waits for a decision as before then. */
  async resume(run: ServiceRun, decisions: readonly Decision[], context?: unknown): Promise<void> {
    const { host, limiter } = this.#parts
    const tools = await host.toolsFor(run.head.clientTools)
    const agent = host.agents.find(({ name }) => name === run.head.agent)
    if (agent === undefined)
      throw new HttpProblem(
        409,
        'model_not_found',
        `Run ${run.id} stays paused: its model ${run.head.agent} is no longer in the configuration`,
      )
    const stateJson = await this.#kept.stateOf(run)
    const state: RunState | undefined = stateJson === undefined ? undefined : JSON.parse(stateJson)
    // It is only on the disk by now, or somebody else has decided.
    await this.#kept.load(run)
    if (run.outcome?.status !== 'paused' || state === undefined)
      throw new HttpProblem(409, 'not_paused', `Run ${run.id} does not wait for a decision: it is ${run.status}`)
    const outcome = { ...run.outcome, state: stateJson }
    const { control, signal } = run
    // Before anything is written: who is told to come again finds it as it was, whatever happens to this process.
    const giveBack = limiter.admitRun(run.head.caller.name)
    this.#kept.take(run)
    this.#running.set(run.id, run)
    run.takeUp()
    try {
      // A process that ends from here on must not leave it waiting for the same decision once more.
      await this.#kept.store(run).catch((cause: unknown) => {
        throw new HttpProblem(503, 'not_stored', 'The decision could not be stored and was not applied', { cause })
      })
      await this.#follower.follow(run, undefined, giveBack, () => {
        control.useModel(agent.model.current)
        return agent.runner.resumeStream(state, { decisions, tools, control, signal, context })
      })
    } catch (error) {
      giveBack()
      run.settle(outcome)
      this.#kept.add(run)
      this.#leave(run)
      await this.#kept.save(run, outcome)
      throw error
    }
  }

  /**
   * The caller's own run; an admin's is any. One that waits is read from the disk, and is in memory until the event loop's next turn. Rejects
   * with an `HttpProblem`: 404, or 503 for one that can't be read.
   */
  async get(id: string, caller: Caller): Promise<ServiceRun> {
    this.#kept.forgetOld()
    const run = this.#running.get(id) ?? this.#kept.get(id)
    if (run === undefined || !isOf(run, caller))
      throw new HttpProblem(404, 'run_not_found', 'Unknown run; finished runs are kept for a limited time only', { param: 'id' })
    await this.#kept.load(run)
    return run
  }

  /** The caller's newest run of a chat or thread, as it is in memory and on the disk. Rejects with an `HttpProblem` 503. */
  async latestOf(thread: string, { name }: Caller): Promise<ServiceRun | undefined> {
    this.#kept.forgetOld()
    let latest: ServiceRun | undefined
    for (const run of [...this.#kept.runs(), ...this.#running.values()]) {
      const { head, createdAt } = run
      if (head.thread === thread && head.caller.name === name && (latest === undefined || createdAt >= latest.createdAt)) latest = run
    }
    if (latest?.status === 'paused') await this.#kept.load(latest)
    return latest
  }

  /** The caller's runs, the newest first. */
  list(caller: Caller): ServiceRun[] {
    this.#kept.forgetOld()
    const all = [...this.#kept.runs(), ...this.#running.values()]
    return all
      .filter((run) => isOf(run, caller))
      .reverse()
      .sort((a, b) => b.createdAt.localeCompare(a.createdAt))
  }

  /**
   * Their summaries as JSON, with as many of the first as there is room for in one answer: of all but very many large ones. Rejects with an
   * `HttpProblem` 503.
   */
  summariesOf(list: readonly ServiceRun[]): Promise<string[]> {
    return listed(list, async (run) => [await this.#kept.summaryOf(run)])
  }

  /** What they wait for as JSON, each item with its run's id; as much as there is room for, and rejecting, as above. */
  pendingOf(list: readonly ServiceRun[]): Promise<string[]> {
    return listed(list, async (run) => {
      if (run.status !== 'paused') return []
      const pending = await this.#kept.pendingOf(run)
      return pending.map((item) => JSON.stringify({ runId: run.id, ...(item as object) }))
    })
  }

  /** Resolves when it has ended. */
  async cancel(run: ServiceRun, reason: string): Promise<void> {
    while (run.status === 'running') {
      run.abort(reason)
      await run.ended
    }
    // One that was about to pause could not be aborted any more.
    if (run.status === 'paused') await this.#kept.giveUp(run, reason)
  }

  /** Says something to a run; resolves when it will be taken up, come what may. Rejects with an `HttpProblem`: 409 for one that has ended. */
  async say(run: ServiceRun, input: RunInput): Promise<void> {
    const { coming } = run
    if (!run.takesMessages || coming?.status === 'done')
      throw new HttpProblem(409, 'run_ended', `Run ${run.id} has ended; start a new run with its messages`)
    blamingRequest(() => run.control.send(input))
    if (coming !== undefined) await this.#kept.save(run, coming)
  }

  /** Resolves when no run is running, or when `signal` is aborted. */
  async settled(signal: AbortSignal): Promise<void> {
    if (this.#running.size === 0 || signal.aborted) return
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

  abortAll(reason: string): void {
    for (const run of this.#running.values()) run.abort(reason)
  }

  /** Resolves when everything is written. */
  close(): Promise<void> {
    return this.#kept.close()
  }

  #open(stored: StoredRun | StoredHead): ServiceRun {
    const { eventsOfRun: events, charactersOfRun: characters } = this.bounds
    return new ServiceRun(stored, (head) => this.#toolsOf(head), { events, characters })
  }

  /** The client's own are made ready when one of them is decided on: with thousands of runs that takes long. */
  #toolsOf({ clientTools }: RunHead): readonly AnyTool[] {
    const names = new Set(clientTools.map(({ name }) => name))
    return [...this.#parts.host.tools.list().filter(({ name }) => !names.has(name)), ...clientTools]
  }

  /** Nobody is told how a run has ended before that is written down. */
  async #end(run: ServiceRun, intended: Outcome): Promise<void> {
    const outcome = this.#kept.reserve(run, intended) ? intended : abortedWith('there is no room to keep this run until somebody decides')
    run.comeTo(outcome)
    const isStored = await this.#kept.save(run, outcome)
    run.settle(outcome)
    this.#kept.add(run)
    if (isStored) this.#kept.unloadSoon(run)
    this.#leave(run)
    this.#kept.forgetOld()
  }

  #leave(run: ServiceRun): void {
    this.#running.delete(run.id)
    if (this.#running.size > 0) return
    for (const resolve of this.#onIdle.splice(0)) resolve()
  }

  /** A run that was going on when its process ended is not begun again: nobody knows what its last step came to. */
  #endInterrupted(run: ServiceRun, before: StoredRun['before']): void {
    run.settle(abortedWith('the service ended while this run was going on: what its last step came to is not known', before))
  }
}

function isOf({ head }: ServiceRun, { name, roles }: Caller): boolean {
  return head.caller.name === name || roles.includes('admin')
}
