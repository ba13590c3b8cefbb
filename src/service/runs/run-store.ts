import type { Decision } from '../../agent/decisions.ts'
import type { RunState } from '../../agent/paused-run.ts'
import type { RunInput, RunResult } from '../../agent/run.ts'
import type { RunStream } from '../../agent/run-stream.ts'
import type { RunEvent } from '../../events.ts'
import type { Logger } from '../../log.ts'
import { Pauses } from '../../tools/pauses.ts'
import type { AnyTool } from '../../tools/tool.ts'
import type { AgentHost } from '../agent-host.ts'
import type { Caller } from '../http/auth.ts'
import { blamingRequest, HttpProblem, problemOfRequest } from '../http/problem.ts'
import type { RateLimiter } from '../http/rate-limit.ts'
import { EventLog } from './event-log.ts'
import { RunFiles } from './run-files.ts'
import { ServiceRun } from './service-run.ts'
import { endOf, Shelf } from './shelf.ts'
import { StartQueue } from './start-queue.ts'
import { abortedWith, type Outcome, type RunHead, type RunOrder, type StoredRun, storedOrder } from './stored-run.ts'

/** What is kept of runs. Running ones are always kept, paused ones until somebody decides; of the others the oldest go first. */
export interface RunBounds {
  /** Most finished runs that are kept. */
  count: number
  /** How long, in milliseconds. */
  ageMs: number
  /** Most characters of their events and results together. Of paused runs, only the events give way. */
  characters: number
  /** How long a run may be paused before it is given up, in milliseconds. */
  pausedMs: number
  /** Most paused runs of one caller: with so many it can't start another. */
  pausedOfCaller: number
  /** Most characters of all paused runs, and of those of one caller: a run for which there is no room can't wait, and ends. */
  pausedCharacters: number
  pausedCharactersOfCaller: number
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
  readonly #starts = new StartQueue()
  readonly #running = new Map<string, ServiceRun>()
  readonly #paused = new Shelf()
  readonly #done = new Shelf()
  /** Undefined: what is not in memory is gone. */
  #files: RunFiles | undefined
  #onIdle: (() => void)[] = []

  constructor(parts: RunStoreParts) {
    this.#parts = parts
    this.bounds = parts.bounds
    this.feed = new EventLog({ events: this.bounds.eventsOfRun, characters: this.bounds.charactersOfRun })
  }

  get running(): number {
    return this.#running.size
  }

  get paused(): number {
    return this.#paused.size
  }

  /** Keeps runs in a folder from now on, and takes up those that are in it; `option` is what named it. Rejects with `invalid_option`. */
  async open(folder: string, option: string): Promise<void> {
    const { logger } = this.#parts
    this.#files = await RunFiles.open(folder, option, logger)
    const runs: ServiceRun[] = []
    for await (const stored of this.#files.load()) {
      try {
        const run = this.#open(stored)
        await this.#endInterrupted(run, stored.before)
        // Of what waits for a decision the summary is enough until somebody asks for it.
        if (run.status === 'paused') run.unload()
        runs.push(run)
      } catch (error) {
        logger.error({ runId: stored.head.id, error }, 'a stored run can not be taken over, and is left as it is')
      }
    }
    for (const run of runs.sort((a, b) => endOf(a) - endOf(b))) this.#shelve(run)
    this.#forgetOld()
    if (runs.length > 0) logger.info({ folder, runs: runs.length, paused: this.paused }, 'runs of an earlier process are taken over')
  }

  /** Resolves when the run has begun, with its first event. Rejects with an `HttpProblem`, and nothing has happened then. */
  async start(order: RunOrder, watcher?: RunWatcher): Promise<ServiceRun> {
    const { host, limiter } = this.#parts
    if (order.kind === 'run') this.#checkPaused(order.caller)
    const agent = host.agent(order.agent)
    const tools = host.toolsFor(order.clientTools)
    const run = this.#open(storedOrder(order))
    const { control, signal } = run
    const giveBack = limiter.admitRun(order.caller.name)
    this.#running.set(run.id, run)
    try {
      await this.#follow(run, watcher, giveBack, () => {
        // The model it began with answers it to its end, whatever the configuration becomes.
        control.useModel(agent.model.current)
        return agent.runner.stream(order.input, { ...order.options, tools, runId: run.id, control, signal })
      })
    } catch (error) {
      giveBack()
      this.#leave(run)
      throw error
    }
    return run
  }

  /** Carries out what was decided; resolves when that has begun. Rejects with an `HttpProblem`: it waits for a decision as before then. */
  async resume(run: ServiceRun, decisions: readonly Decision[]): Promise<void> {
    const { host, limiter } = this.#parts
    const agent = host.agents.find(({ name }) => name === run.head.agent)
    if (agent === undefined)
      throw new HttpProblem(
        409,
        'model_not_found',
        `Run ${run.id} waits on: its model ${run.head.agent} is not in the configuration any more`,
      )
    const tools = host.toolsFor(run.head.clientTools)
    const { outcome, control, signal } = run
    if (outcome?.state === undefined)
      throw new HttpProblem(409, 'not_paused', `Run ${run.id} does not wait for a decision: it is ${run.status}`)
    const state: RunState = JSON.parse(outcome.state)
    // Before anything is written: who is told to come again finds it as it was, whatever happens to this process.
    const giveBack = limiter.admitRun(run.head.caller.name)
    this.#paused.delete(run)
    this.#running.set(run.id, run)
    run.takeUp()
    try {
      // A process that ends from here on must not leave it waiting for the same decision once more.
      await this.#store(run).catch((cause: unknown) => {
        throw new HttpProblem(503, 'not_stored', 'The decision could not be written down, and was not carried out', { cause })
      })
      await this.#follow(run, undefined, giveBack, () => {
        control.useModel(agent.model.current)
        return agent.runner.resumeStream(state, { decisions, tools, control, signal })
      })
    } catch (error) {
      giveBack()
      run.settle(outcome)
      this.#shelve(run)
      this.#leave(run)
      await this.#save(run, outcome)
      throw error
    }
  }

  /**
   * The caller's own run; an admin's is any. One that waits is read from the disk, and is in memory until the event loop's next turn. Rejects
   * with an `HttpProblem`: 404, or 503 for one that can't be read.
   */
  async get(id: string, caller: Caller): Promise<ServiceRun> {
    this.#forgetOld()
    const run = this.#running.get(id) ?? this.#paused.get(id) ?? this.#done.get(id)
    if (run === undefined || !isOf(run, caller))
      throw new HttpProblem(404, 'run_not_found', 'There is no such run; finished ones are kept for a while only', { param: 'id' })
    if (run.isLoaded || run.status !== 'paused') return run
    await this.#load(run)
    setImmediate(() => {
      if (this.#paused.get(id) === run) run.unload()
    })
    return run
  }

  async #load(run: ServiceRun): Promise<void> {
    try {
      const stored = await this.#files?.read(run.id)
      if (stored !== undefined) run.load(stored)
    } catch (cause) {
      // It was decided on in the meantime.
      if (run.isLoaded) return
      this.#parts.logger.error({ runId: run.id, error: cause }, 'a stored run is not readable')
      throw new HttpProblem(503, 'not_readable', `Run ${run.id} can't be read from the disk`, { cause })
    }
  }

  /** The caller's runs, the newest first. */
  list(caller: Caller): ServiceRun[] {
    this.#forgetOld()
    const all = [...this.#done.runs(), ...this.#paused.runs(), ...this.#running.values()]
    return all
      .filter((run) => isOf(run, caller))
      .reverse()
      .sort((a, b) => b.createdAt.localeCompare(a.createdAt))
  }

  /** Resolves when it has ended. */
  async cancel(run: ServiceRun, reason: string): Promise<void> {
    while (run.status === 'running') {
      run.abort(reason)
      await run.ended
    }
    // One that was about to pause could not be aborted any more.
    if (run.status === 'paused') await this.#giveUp(run, reason)
  }

  /** Says something to a run; resolves when it will be taken up, come what may. Rejects with an `HttpProblem`: 409 for one that has ended. */
  async say(run: ServiceRun, input: RunInput): Promise<void> {
    const { coming } = run
    if (coming?.status === 'done') throw new HttpProblem(409, 'run_ended', `Run ${run.id} has ended; start another one with its messages`)
    blamingRequest(() => run.control.send(input))
    if (coming !== undefined) await this.#save(run, coming)
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
  async close(): Promise<void> {
    if (this.#files !== undefined) await this.#files.close()
    else if (this.paused > 0)
      this.#parts.logger.warn({ paused: this.paused }, 'paused runs are lost: `service.keepRuns.folder` names no folder to keep them in')
  }

  #open(stored: StoredRun): ServiceRun {
    const { eventsOfRun: events, charactersOfRun: characters } = this.bounds
    return new ServiceRun(stored, (head) => this.#toolsOf(head), { events, characters })
  }

  /** The client's own are made ready when one of them is decided on: with thousands of runs that takes long. */
  #toolsOf({ clientTools }: RunHead): readonly AnyTool[] {
    const names = new Set(clientTools.map(({ name }) => name))
    return [...this.#parts.host.tools.list().filter(({ name }) => !names.has(name)), ...clientTools]
  }

  #checkPaused({ name }: Caller): void {
    const { pausedOfCaller, pausedCharactersOfCaller } = this.bounds
    if (this.#paused.charactersOf(name) >= pausedCharactersOfCaller)
      throw new HttpProblem(429, 'too_many_paused', 'The paused runs of this token are too large: decide on them, or cancel them')
    if (this.#paused.size < pausedOfCaller) return
    const paused = [...this.#paused.runs()].filter(({ head }) => head.caller.name === name)
    if (paused.length < pausedOfCaller) return
    throw new HttpProblem(429, 'too_many_paused', `This token may have ${pausedOfCaller} paused runs: decide on them, or cancel them`)
  }

  /** Resolves when the run has begun, with its first event; `giveBack` is then called when it is over. Rejects with an `HttpProblem` when it can't. */
  async #follow(run: ServiceRun, watcher: RunWatcher | undefined, giveBack: () => void, begin: () => RunStream): Promise<void> {
    const { host, observer } = this.#parts
    const endLease = host.leaseTools()
    let stream: RunStream | undefined
    try {
      await this.#starts.turn()
      const started = performance.now()
      stream = begin()
      const events = stream[Symbol.asyncIterator]()
      const first = await events.next()
      observer.started(run)
      if (first.value !== undefined) this.#take(run, first.value, watcher)
      void this.#pump(run, stream, events, watcher, started).finally(() => {
        endLease()
        giveBack()
      })
    } catch (error) {
      endLease()
      // Whoever rejects the iteration rejects the result as well.
      stream?.result.catch(() => {})
      throw problemOfRequest(error) ?? error
    }
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
    // What is said and called may be megabytes, and all of it is looked through several times.
    const pauses = new Pauses()
    void this.#save(run)
    let result: RunResult | undefined
    let outcome = abortedWith('the run could not be followed to its end')
    try {
      for await (const event of events) {
        this.#take(run, event, watcher)
        await pauses.take()
      }
      result = await stream.result
      await pauses.take()
      outcome = run.outcomeOf(result)
      await pauses.take()
      observer.ended(run, result, performance.now() - started)
    } catch (error) {
      logger.error({ runId: run.id, error }, 'a run could not be followed to its end')
    }
    await this.#end(run, outcome)
    watcher?.over(result)
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

  #hasRoomFor({ head, log }: ServiceRun, { status, result, state = '' }: Outcome): boolean {
    if (status !== 'paused') return true
    const { pausedCharacters, pausedCharactersOfCaller } = this.bounds
    const size = log.characters + result.length + state.length
    return (
      this.#paused.characters + size <= pausedCharacters && this.#paused.charactersOf(head.caller.name) + size <= pausedCharactersOfCaller
    )
  }

  /** Nobody is told how a run has ended before that is written down. */
  async #end(run: ServiceRun, intended: Outcome): Promise<void> {
    const outcome = this.#hasRoomFor(run, intended) ? intended : abortedWith('there is no room to keep this run until somebody decides')
    run.comeTo(outcome)
    const isStored = await this.#save(run, outcome)
    run.settle(outcome)
    this.#shelve(run)
    // Whoever waits for its end is told first.
    if (isStored) setImmediate(() => this.#paused.get(run.id) === run && run.unload())
    this.#leave(run)
    this.#forgetOld()
  }

  #leave(run: ServiceRun): void {
    this.#running.delete(run.id)
    if (this.#running.size > 0) return
    for (const resolve of this.#onIdle.splice(0)) resolve()
  }

  #shelve(run: ServiceRun): void {
    if (run.status === 'paused') this.#paused.add(run)
    else this.#done.add(run)
  }

  async #giveUp(run: ServiceRun, reason: string): Promise<void> {
    this.#paused.delete(run)
    run.settle(abortedWith(reason, run.outcome))
    this.#done.add(run)
    try {
      // What it had come to is on the disk.
      const stored = run.isLoaded ? undefined : await this.#files?.read(run.id)
      if (stored !== undefined) run.load({ ...stored, outcome: abortedWith(reason, stored.outcome) })
    } catch (error) {
      this.#parts.logger.error({ runId: run.id, error }, 'a stored run is not readable')
    }
    if (this.#done.get(run.id) === run) this.#done.add(run)
    await this.#save(run, run.outcome)
  }

  /** A run that was going on when its process ended is not begun again: nobody knows what its last step came to. */
  async #endInterrupted(run: ServiceRun, before: StoredRun['before']): Promise<void> {
    if (run.outcome !== undefined) return
    const outcome = abortedWith('the service ended while this run was going on: what its last step came to is not known', before)
    run.settle(outcome)
    await this.#save(run, outcome)
  }

  /** Whether it is on the disk now. Never rejects: what can't be written is still in memory. */
  async #save(run: ServiceRun, outcome?: Outcome): Promise<boolean> {
    try {
      await this.#store(run, outcome)
      return this.#files !== undefined && isStorable(run)
    } catch (error) {
      this.#parts.logger.error({ runId: run.id, error }, 'a run could not be stored: it is in memory only')
      return false
    }
  }

  async #remove(run: ServiceRun): Promise<void> {
    try {
      if (isStorable(run)) await this.#files?.remove(run.id)
    } catch (error) {
      this.#parts.logger.error({ runId: run.id, error }, 'a stored run could not be removed')
    }
  }

  async #store(run: ServiceRun, outcome?: Outcome): Promise<void> {
    if (isStorable(run)) await this.#files?.save(run.stored(outcome))
  }

  #forgetOld(): void {
    const { count, ageMs, characters, pausedMs } = this.bounds
    for (const run of this.#done.runs()) {
      if (endOf(run) > Date.now() - ageMs && this.#done.size <= count && this.#done.characters <= characters) break
      this.#done.delete(run)
      void this.#remove(run)
    }
    for (const run of this.#paused.runs()) {
      if (endOf(run) < Date.now() - pausedMs) void this.#giveUp(run, 'nobody has decided')
      else if (this.#files === undefined && this.#paused.characters > characters) this.#paused.clearLog(run)
      else break
    }
  }
}

/** A chat is over when its client is. */
function isStorable({ head }: ServiceRun): boolean {
  return head.kind === 'run'
}

function isOf({ head }: ServiceRun, { name, roles }: Caller): boolean {
  return head.caller.name === name || roles.includes('admin')
}
