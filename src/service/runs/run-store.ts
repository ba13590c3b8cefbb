import type { ShownSession } from '../../agent/journal/shown-runs.ts'
import { tagsOf } from '../../agent/journal/store.ts'
import type { RunStream } from '../../agent/runner/run-stream.ts'
import type { RunInput } from '../../agent/types/options.ts'
import type { Logger } from '../../core/logger.ts'
import type { AnyTool } from '../../tools/tool.ts'
import type { EventLog } from '../../ui/web/event-log.ts'
import type { AgentHost } from '../agents/agent-host.ts'
import type { Caller, ContextOf, Tenant } from '../http/auth.ts'
import { HttpProblem } from '../http/problem.ts'
import type { RateLimiter } from '../http/rate-limit.ts'
import type { RunBounds, RunPlace } from '../run-bounds.ts'
import type { ByTenant } from '../tenants/by-tenant.ts'
import { sees } from '../tenants/tenant.ts'
import type { Decided } from './describe-decisions.ts'
import type { Execution } from './execution.ts'
import { newFeed, RunFollower, type RunObserver, type RunWatcher, showEvent } from './follow-run.ts'
import { type ListQuery, listRuns, listSessions, type RunList } from './listed/list-runs.ts'
import { openRecorded, type Recorded } from './recorded/open-recorded.ts'
import { isTakenOver, notStored } from './recorded/problems.ts'
import { ResumedRuns } from './resumed-runs.ts'
import { headOfOrder, orderOfTenant, type RunOrder, readInput, readOptions } from './run-order.ts'
import type { RecordOption, RunRecordings } from './run-recordings.ts'
import { RunningRuns } from './running-runs.ts'
import { sayToRun } from './say-to-run.ts'
import { endOf, ServiceRun } from './service-run.ts'
import { abortedWith, type Outcome, type RunHead, type RunSnapshot } from './stored-run.ts'
import { UnrecordedRuns } from './unrecorded-runs.ts'
import { type UnseenRun, UnseenRuns } from './unseen-runs.ts'

interface RunStoreParts {
  host: AgentHost
  limiter: RateLimiter
  bounds: RunBounds
  observer: RunObserver
  recordings: RunRecordings
  contextOf: ContextOf
  logger: Logger
}

/** The parts that are available after `open`. */
interface Opened {
  stored: Recorded
  /** The execution for each kind of run. */
  executions: Readonly<Record<RunHead['kind'], Execution>>
  /** Whether runs are lost when this process ends. */
  inMemory: boolean
}

/** Starts, follows and finds the runs of the service. */
export class RunStore {
  /** All events of all runs. */
  readonly feed: ByTenant<EventLog>
  bounds: RunBounds
  readonly #parts: RunStoreParts
  readonly #follower: RunFollower
  /** The runs that this process executes. */
  readonly #running = new RunningRuns()
  readonly #unseen: UnseenRuns
  readonly #resumed: ResumedRuns
  #open: Opened | undefined
  #isClosed = false

  constructor(parts: RunStoreParts) {
    const { host, limiter, bounds, observer, logger } = parts
    this.#parts = parts
    this.bounds = bounds
    this.feed = newFeed(bounds)
    this.#unseen = new UnseenRuns(
      () => this.bounds,
      (run) => this.#storeUnseen(run),
    )
    this.#follower = new RunFollower({
      host,
      observer,
      ended: (run, outcome) => this.#end(run, outcome),
      endedUnseen: (run, result) => {
        this.#unseen.add(run, endOf(result))
        this.#running.delete(run)
      },
      brokeOff: (run, error) => this.#breakOff(run, error),
    })
    this.#resumed = new ResumedRuns({
      host,
      limiter,
      logger,
      running: this.#running,
      stored: () => this.#stored,
      executionOf: (head) => this.#executionOf(head),
      follow: (run, how, begin) => this.#follow(run, how, begin),
    })
  }

  /** Opens the store, and resumes runs that no process executes. Rejects with `invalid_option` if the store can't be opened. */
  async open(place: RunPlace): Promise<void> {
    const { host, logger } = this.#parts
    const { feed } = this
    const bounds = () => this.bounds
    const stored = await openRecorded(place, {
      agentOf: (head) => host.agents.find(({ name }) => name === head.agent),
      toolsOf: ({ clientTools }) => host.toolsNamed(clientTools),
      hiding: host,
      restore: async ({ clientTools, caller }) => ({
        tools: await host.toolsFor(clientTools),
        context: await this.#parts.contextOf(undefined, caller),
      }),
      bounds,
      runOf: (runId) => this.#running.get(runId),
      carryOn: (run) => this.#resumed.carryOn(run),
      tidied: () => {
        this.#unseen.dropOld()
        return this.#parts.recordings.forgetUnknown((ids) => this.#known(ids))
      },
      feed,
      logger,
    })
    const inMemory = place.kind === 'memory'
    const chat = new UnrecordedRuns({ shown: stored.runs.shown, bounds, feed, inMemory })
    this.#open = { stored, executions: { chat, run: inMemory ? chat : stored.runs }, inMemory }
    stored.caretaker.start({ isNew: inMemory })
  }

  get #opened(): Opened {
    if (this.#open === undefined) throw new Error('The store of runs is not open')
    return this.#open
  }

  get #stored(): Recorded['runs'] {
    return this.#opened.stored.runs
  }

  /** Returns the number of a tenant's runs that this process executes. Without a tenant, counts all runs. */
  running(tenant?: Tenant): number {
    return this.#running.count(tagsOf(tenant))
  }

  /** Returns the number of a tenant's runs that wait for a decision. Without a tenant, counts all runs. */
  async waiting(tenant?: Tenant): Promise<number> {
    return (await this.#stored.shown.waiting({ tags: tagsOf(tenant) })).runs
  }

  /** Whether the store is writable, so that a new run could be stored. */
  canStore = (): Promise<boolean> => this.#opened.stored.writeCheck.canWrite()

  /** Starts a run. Resolves when the run has emitted its first event. If it rejects with an `HttpProblem`, no run was started. */
  async start(asked: RunOrder, watcher?: RunWatcher): Promise<ServiceRun> {
    const { host, limiter } = this.#parts
    const order = orderOfTenant(asked, host.agent(asked.agent).options.metadata)
    const execution = this.#executionOf(order)
    if (order.kind === 'run') await this.#stored.checkRoom(order.caller)
    const tools = await host.toolsFor(order.clientTools)
    const agent = host.agent(order.agent)
    const run = this.#newRun({ head: headOfOrder(order) }, host.toolsNamed(order.clientTools))
    const { control, signal } = run
    const giveBack = limiter.admitRun(order.caller.name)
    this.#running.add(run)
    try {
      await this.#follow(run, { watcher, giveBack }, async (record) => {
        const options = readOptions(order.options)
        const input = readInput(order.input)
        // The model is fixed here, so that changes of the configuration don't affect this run.
        control.useModel(agent.model.current)
        const onCut = watcher?.takesBack === false ? { onCut: 'end' as const } : {}
        return execution.runnerOf(agent).stream(input, { ...options, ...onCut, tools, runId: run.id, control, signal, ...record })
      })
    } catch (error) {
      giveBack()
      this.#running.delete(run)
      // A client may already follow the run, and the run may already be stored, so it is ended in both places.
      run.settle(abortedWith('it could not be started'))
      execution.discard(run)
      throw notStored('The run', error)
    }
    return run
  }

  #newRun(stored: RunSnapshot, tools: readonly AnyTool[]): ServiceRun {
    const { eventsOfRun: events, charactersOfRun: characters } = this.bounds
    return new ServiceRun(stored, tools, { events, characters }, this.#parts.host)
  }

  /** Returns the outcome of a waiting run. Throws an `HttpProblem` 409 if the run doesn't wait. */
  pauseOf(run: ServiceRun): Outcome {
    return this.#resumed.pauseOf(run)
  }

  /** Carries out decisions on a waiting run; see `ResumedRuns.resume`. */
  resume(run: ServiceRun, outcome: Outcome, decided: Decided): Promise<void> {
    return this.#resumed.resume(run, outcome, decided)
  }

  /** Returns a run that the caller may see. Rejects with an `HttpProblem`: 404, or 503 if the run can't be read. */
  async get(id: string, caller: Caller): Promise<ServiceRun> {
    if (this.#unseen.has(id)) await this.#unseen.store()
    const found = this.#running.get(id) ?? (await this.#stored.find(id))
    // The run may have been started in this process meanwhile.
    const run = this.#running.get(id) ?? found
    if (run === undefined || !sees(caller, run.head))
      throw new HttpProblem(404, 'run_not_found', 'Unknown run; finished runs are kept for a limited time only', { param: 'id' })
    await reveal([run])
    return run
  }

  /** Returns the caller's newest run of a chat or thread. Rejects with an `HttpProblem` 503 if the store can't be read. */
  async latestOf(thread: string, caller: Caller): Promise<ServiceRun | undefined> {
    const here = this.#running
      .all()
      .filter(({ head }) => head.thread === thread && head.caller.name === caller.name && sees(caller, head))
      .sort((a, b) => a.number - b.number)
      .at(-1)
    // The store determines which run is the newest, because the clocks of several machines differ. A run that isn't stored yet is the
    // newest.
    if (here !== undefined && !(await this.#stored.isShown(here))) return here
    const latest = await this.#stored.latestOf(thread, caller)
    return latest === undefined ? here : (this.#running.get(latest.id) ?? latest)
  }

  /** Loads the events of a run and follows it until the returned function is called. Any process may execute the run. */
  watch(run: ServiceRun): Promise<() => void> {
    return this.#stored.watch(run)
  }

  /**
   * Returns the file of a run's recording, in pieces. Rejects with an `HttpProblem`: 404 if there is no recording, 409 while the run is
   * running.
   */
  recordingOf(run: ServiceRun): Promise<string[]> {
    return this.#parts.recordings.fileOf(run, this.#executionOf(run.head).recordings)
  }

  /**
   * Makes all runs visible, including runs whose events were only buffered. Resolves when all events and outcomes so far are in the logs
   * and the store.
   */
  async showAll(): Promise<void> {
    await this.#unseen.store()
    await reveal(this.#running.all())
  }

  /** Lists the runs that the caller may see; see `listRuns`. */
  async list(caller: Caller, query: ListQuery): Promise<RunList> {
    await this.showAll()
    await this.#opened.stored.caretaker.forgetOld()
    return listRuns(query, this.#listSources(caller))
  }

  /** Lists the sessions of the runs that the caller may see. */
  async sessions(caller: Caller, query: ListQuery): Promise<ShownSession[]> {
    await this.#opened.stored.caretaker.forgetOld()
    return listSessions(query, this.#listSources(caller))
  }

  #listSources(caller: Caller): Parameters<typeof listRuns>[1] {
    const unstored = this.#running.all().filter((run) => this.#executionOf(run.head) !== this.#stored && run.storedEvents === undefined)
    const modelNamed = (name: string) => {
      const { model } = this.#parts.host.agents.find((agent) => agent.name === name) ?? {}
      return model && `${model.provider}/${model.model}`
    }
    return { caller, unstored, stored: this.#stored, modelNamed }
  }

  /** Cancels a run. Resolves when the run has ended. */
  async cancel(run: ServiceRun, reason: string): Promise<void> {
    await this.#stored.cancel(run, reason)
    this.#opened.stored.caretaker.start()
  }

  /** Sends a message to a run; see `sayToRun`. */
  say(run: ServiceRun, input: RunInput): Promise<void> {
    return sayToRun(run, input, this.#executionOf(run.head))
  }

  /** Resolves when no run is running in this process, or when `signal` aborts. */
  settled(signal: AbortSignal): Promise<void> {
    return this.#running.settled(signal)
  }

  /** Aborts all runs that end with this process. Resolves when their outcomes are stored, or when `signal` aborts. */
  async abortAll(reason: string, signal: AbortSignal): Promise<void> {
    const endsHere = (run: ServiceRun) => this.#executionOf(run.head) !== this.#stored
    for (const run of this.#running.all()) if (endsHere(run)) run.abort(reason)
    await this.#running.settled(signal, endsHere)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#open === undefined) return
    const waiting = this.#open.inMemory ? await this.waiting() : 0
    if (waiting > 0)
      this.#parts.logger.warn({ waiting }, 'waiting runs are lost: `service.keepRuns.folder` names no folder to keep them in')
    await this.#open.stored.close()
  }

  /** Returns the ids of the runs that still exist, in memory or in the store. */
  async #known(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const here = ids.filter((id) => this.#running.has(id) || this.#unseen.has(id))
    const stored = await this.#stored.shown.progress(ids)
    return new Set([...here, ...stored.map(({ runId }) => runId)])
  }

  #executionOf({ kind }: Pick<RunHead, 'kind'>): Execution {
    return this.#opened.executions[kind]
  }

  #follow(
    run: ServiceRun,
    { watcher, giveBack }: { watcher?: RunWatcher | undefined; giveBack(): void },
    begin: (record: RecordOption) => RunStream | Promise<RunStream>,
  ): Promise<void> {
    const execution = this.#executionOf(run.head)
    const sink = execution.sinkOf(run)
    const beginRecorded = async () => begin(await this.#parts.recordings.optionFor(run, execution.recordings))
    return this.#follower.follow(run, { watcher, giveBack, sink }, beginRecorded)
  }

  async #end(run: ServiceRun, outcome: Outcome): Promise<void> {
    await this.#executionOf(run.head).end(run, outcome)
    this.#running.delete(run)
  }

  async #storeUnseen({ stored, tools, events, outcome }: UnseenRun): Promise<void> {
    const run = this.#newRun(stored, tools)
    const execution = this.#executionOf(run.head)
    try {
      const sink = execution.sinkOf(run)
      for (const event of events) await showEvent(run, event, sink)
      await sink.flush()
      await execution.end(run, { ...outcome, summary: run.redactSummary(outcome.summary) })
    } catch (error) {
      await this.#breakOff(run, error)
    }
  }

  async #breakOff(run: ServiceRun, error: unknown): Promise<void> {
    if (isTakenOver(error)) this.#parts.logger.warn({ runId: run.id }, 'another process continues the run')
    else if (!this.#isClosed) {
      const what = run.status === 'running' ? 'a run could not be followed to its end' : 'the end of a run could not be stored'
      this.#parts.logger.error({ runId: run.id, error }, what)
    }
    try {
      await this.#executionOf(run.head).breakOff(run)
    } catch (problem) {
      if (!this.#isClosed) this.#parts.logger.error({ runId: run.id, error: problem }, 'the outcome of a run could not be stored')
    }
    this.#running.delete(run)
  }
}

/** Shows the events of runs. An error is ignored here, because the code that follows the run reports it. */
async function reveal(runs: readonly ServiceRun[]): Promise<void> {
  await Promise.allSettled(runs.map((run) => run.shownEvents?.reveal()))
}
