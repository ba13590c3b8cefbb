import { tagsOf } from '../../agent/durable/tags.ts'
import type { RunStream } from '../../agent/run/run-stream.ts'
import type { RunInput } from '../../agent/types.ts'
import type { EventLog } from '../../agent/web/event-log.ts'
import { ToolloopError } from '../../core/errors.ts'
import type { Logger } from '../../core/logger.ts'
import type { Agent, AgentHost } from '../agents/agent-host.ts'
import type { Caller, ContextOf, Tenant } from '../http/auth.ts'
import { HttpProblem } from '../http/problem.ts'
import type { RateLimiter } from '../http/rate-limit.ts'
import type { RecordOption, RunRecordings } from '../recordings/run-recordings.ts'
import type { ByTenant } from '../tenants/by-tenant.ts'
import { sees } from '../tenants/tenant.ts'
import { type Decided, DecisionNote, describeDecisions, signed } from './describe-decisions.ts'
import { newFeed, RunFollower, type RunObserver, type RunWatcher, sinkInto } from './follow-run.ts'
import { type ListQuery, listRuns, type RunList } from './listed/list-runs.ts'
import { KeptRuns, noRoom, type RunBounds } from './memory/kept-runs.ts'
import { readInput, readOptions } from './read-messages.ts'
import type { JournalPlace } from './recorded/open-journal.ts'
import { openRecorded, type Recorded } from './recorded/open-recorded.ts'
import { isTakenOver, isUnknownRun, notPaused, notStored, RunsElsewhere } from './recorded/problems.ts'
import type { RecordedRuns } from './recorded/recorded-runs.ts'
import { RunningRuns } from './running-runs.ts'
import { sayToRun } from './say-to-run.ts'
import { ServiceRun } from './service-run.ts'
import { orderOfTenant } from './starting/order-of-tenant.ts'
import { abortedWith, type Outcome, type RunHead, type RunOrder, storedOrder } from './stored-run.ts'

interface RunStoreParts {
  host: AgentHost
  limiter: RateLimiter
  bounds: RunBounds
  observer: RunObserver
  recordings: RunRecordings
  contextOf: ContextOf
  logger: Logger
}

/** Every run of the service: starts them, follows them, keeps what became of them. */
export class RunStore {
  /** Every event of every run. */
  readonly feed: ByTenant<EventLog>
  readonly #parts: RunStoreParts
  readonly #follower: RunFollower
  /** Those that are carried out here. */
  readonly #running = new RunningRuns()
  /** Those in memory that are not running. */
  readonly #kept: KeptRuns
  #recorded: Recorded | undefined
  #isClosed = false

  constructor(parts: RunStoreParts) {
    const { host, bounds, observer, recordings, logger } = parts
    this.#parts = parts
    this.#kept = new KeptRuns(bounds, logger, (run) => recordings.forget(run))
    this.feed = newFeed(bounds)
    this.#follower = new RunFollower({
      host,
      observer,
      ended: (run, outcome) => this.#end(run, outcome),
      brokeOff: (run, error) => this.#breakOff(run, error),
    })
  }

  get bounds(): RunBounds {
    return this.#kept.bounds
  }

  set bounds(bounds: RunBounds) {
    this.#kept.bounds = bounds
  }

  /** How many runs of a tenant are carried out here. Default: of all. */
  running(tenant?: Tenant): number {
    return this.#running.count(tagsOf(tenant))
  }

  /** How many runs of a tenant wait for a decision. Default: of all. */
  async paused(tenant?: Tenant): Promise<number> {
    const tags = tagsOf(tenant)
    return this.#kept.paused(tags) + ((await this.#recorded?.runs.shown.waiting({ tags }))?.runs ?? 0)
  }

  /** Whether a new run could be stored. */
  canStore = (): Promise<boolean> => this.#recorded?.writeCheck.canWrite() ?? Promise.resolve(true)

  /** Keeps runs in a journal from now on, and goes on with those in it that nobody carries out. Rejects with `invalid_option`. */
  async open(place: JournalPlace): Promise<void> {
    const { host, logger } = this.#parts
    this.#recorded = await openRecorded(place, {
      agentOf: (head) => host.agents.find(({ name }) => name === head.agent),
      toolsOf: ({ clientTools }) => host.toolsNamed(clientTools),
      secrets: host.secrets,
      restore: async ({ clientTools, caller }) => ({
        tools: await host.toolsFor(clientTools),
        context: await this.#parts.contextOf(undefined, caller),
      }),
      bounds: () => this.bounds,
      runOf: (runId) => this.#running.get(runId),
      carryOn: (run, runs) => this.#carryOn(run, runs),
      feed: this.feed,
      logger,
    })
    this.#recorded.caretaker.start()
  }

  /** Resolves when the run has begun, with its first event. Rejects with an `HttpProblem`, and nothing has happened then. */
  async start(asked: RunOrder, watcher?: RunWatcher): Promise<ServiceRun> {
    const { host, limiter } = this.#parts
    const order = orderOfTenant(asked, host.agent(asked.agent).options.metadata)
    const recorded = this.#recordsOf(order)
    if (recorded !== undefined) await recorded.checkRoom(order.caller)
    else if (order.kind === 'run') this.#kept.checkRoom(order.caller)
    const tools = await host.toolsFor(order.clientTools)
    const agent = host.agent(order.agent)
    const { eventsOfRun: events, charactersOfRun: characters } = this.bounds
    const run = new ServiceRun(storedOrder(order), host.toolsNamed(order.clientTools), { events, characters }, host.secrets)
    const { control, signal } = run
    const giveBack = limiter.admitRun(order.caller.name)
    this.#running.add(run)
    try {
      await this.#follow(run, { watcher, giveBack }, async (record) => {
        const options = readOptions(order.options)
        const input = readInput(order.input)
        // The model it began with answers it to its end, whatever the configuration becomes.
        control.useModel(agent.model.current)
        const runner = recorded?.runnerOf(agent) ?? agent.runner
        const onCut = watcher?.takesBack === false ? { onCut: 'end' as const } : {}
        return runner.stream(input, { ...options, ...onCut, tools, runId: run.id, control, signal, ...record })
      })
    } catch (error) {
      giveBack()
      this.#running.delete(run)
      // Somebody may have found it by its thread; and who is told that it was not begun begins it again, though it may have been written down.
      run.settle(abortedWith('it could not be begun'))
      recorded?.engine.cancel(run.id, 'it could not be begun').catch(() => {})
      throw notStored('The run', error)
    }
    return run
  }

  /** What a run waits with. Throws an `HttpProblem` 409 for one that does not. */
  pauseOf(run: ServiceRun): Outcome {
    const isHere = this.#running.has(run.id)
    if (run.outcome?.status !== 'paused' || isHere) throw notPaused(run, isHere ? 'running' : run.status)
    return run.outcome
  }

  /**
   * Carries out what was decided on what the run waits with; resolves when that has begun. Rejects with an `HttpProblem`: it waits for a decision as
   * before then.
   */
  async resume(run: ServiceRun, outcome: Outcome, { decisions, by, context }: Decided): Promise<void> {
    const { host, limiter } = this.#parts
    const tools = await host.toolsFor(run.head.clientTools)
    const agent = this.#agentOf(run)
    const recorded = this.#recordsOf(run.head)
    // By now it may have gone on, and wait for something else.
    if (this.pauseOf(run) !== outcome) throw notPaused(run, 'decided already')
    const { control, signal } = run
    // Before anything is written: who is told to come again finds it as it was, whatever happens to this process.
    const giveBack = limiter.admitRun(run.head.caller.name)
    this.#kept.take(run)
    this.#running.add(run)
    run.takeUp()
    const note = new DecisionNote(run, recorded?.shown)
    try {
      await note.write(describeDecisions(decisions, outcome.summary.pending, { by: by.name, redactor: run.redactor }))
      await recorded?.readEvents(run)
      await this.#follow(run, { giveBack }, (record) => {
        control.useModel(agent.model.current)
        const options = { decisions: signed(decisions, by), tools, control, signal, context, ...record }
        if (recorded !== undefined) return recorded.runnerOf(agent).resumeStream(run.id, { ...options, replay: false })
        return agent.runner.resumeStream(JSON.parse(outcome.state ?? ''), options)
      })
    } catch (error) {
      giveBack()
      const isElsewhere = error instanceof RunsElsewhere
      if (recorded !== undefined && isElsewhere && error.isDecided) {
        // Whoever has decided on another of its calls carries this one out as well.
        recorded.followed.follow(run)
        this.#running.delete(run)
        return
      }
      await note.withdraw()
      run.settle(outcome)
      if (recorded === undefined) this.#kept.add(run)
      this.#running.delete(run)
      const isLate = isUnknownRun(error) || (ToolloopError.isInstance(error) && error.code === 'decision_refused')
      throw isLate || isElsewhere ? notPaused(run, 'decided already') : notStored('The decision', error)
    }
  }

  /** A run that the caller sees. Rejects with an `HttpProblem`: 404, or 503 for one that can't be read. */
  async get(id: string, caller: Caller): Promise<ServiceRun> {
    this.#kept.forgetOld()
    const found = this.#running.get(id) ?? this.#kept.get(id) ?? (await this.#recorded?.runs.find(id))
    // It may have begun here meanwhile.
    const run = this.#running.get(id) ?? found
    if (run === undefined || !sees(caller, run.head))
      throw new HttpProblem(404, 'run_not_found', 'Unknown run; finished runs are kept for a limited time only', { param: 'id' })
    return run
  }

  /** The caller's newest run of a chat or thread. Rejects with an `HttpProblem` 503. */
  async latestOf(thread: string, caller: Caller): Promise<ServiceRun | undefined> {
    this.#kept.forgetOld()
    const here = [...this.#kept.runs(), ...this.#running.all()]
      .filter(({ head }) => head.thread === thread && head.caller.name === caller.name && sees(caller, head))
      .sort((a, b) => a.number - b.number)
      .at(-1)
    // Clocks of several machines differ: the journal knows the order. A run that it does not know yet has only just begun.
    if (this.#recorded === undefined || (here !== undefined && !(await this.#recorded.runs.isShown(here)))) return here
    const recorded = await this.#recorded.runs.latestOf(thread, caller)
    return recorded === undefined ? here : (this.#running.get(recorded.id) ?? recorded)
  }

  /** Lets somebody look at a run: its events are there, and come as they do, wherever it is carried out. The function returned ends that. */
  async watch(run: ServiceRun): Promise<() => void> {
    return (await this.#recordsOf(run.head)?.watch(run)) ?? (() => {})
  }

  /** The file of a run's recording, in pieces. Rejects with an `HttpProblem`. */
  recordingOf(run: ServiceRun): Promise<string[]> {
    return this.#parts.recordings.fileOf(run, this.#recordsOf(run.head)?.shown)
  }

  /** The runs that the caller sees, the newest first. Rejects with an `HttpProblem`. */
  async list(caller: Caller, query: ListQuery): Promise<RunList> {
    this.#kept.forgetOld()
    const inMemory = [...this.#kept.runs(), ...this.#running.all()].filter(({ head }) => this.#recordsOf(head) === undefined)
    await this.#recorded?.caretaker.forgetOld()
    return listRuns(query, { caller, inMemory, recorded: this.#recorded?.runs })
  }

  /** Resolves when it has ended. */
  async cancel(run: ServiceRun, reason: string): Promise<void> {
    const recorded = this.#recordsOf(run.head)
    if (recorded !== undefined) {
      await recorded.cancel(run, reason)
      this.#recorded?.caretaker.start()
      return
    }
    while (run.status === 'running') {
      run.abort(reason)
      await run.ended
    }
    // One that was about to pause could not be aborted any more.
    if (run.status === 'paused') this.#kept.giveUp(run, reason)
  }

  /** Says something to a run; see `sayToRun`. */
  say(run: ServiceRun, input: RunInput): Promise<void> {
    return sayToRun(run, input, this.#recordsOf(run.head)?.shown)
  }

  /** Resolves when no run is running here, or when `signal` is aborted. */
  settled(signal: AbortSignal): Promise<void> {
    return this.#running.settled(signal)
  }

  /** Aborts the runs that this process takes with it. */
  abortAll(reason: string): void {
    for (const run of this.#running.all()) if (this.#recordsOf(run.head) === undefined) run.abort(reason)
  }

  /** Lets go of what is in the journal. */
  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#recorded === undefined) this.#kept.close()
    await this.#recorded?.close()
  }

  /** Where a run is written down; undefined: in memory. A chat is over when its client is. */
  #recordsOf({ kind }: Pick<RunHead, 'kind'>): RecordedRuns | undefined {
    return kind === 'run' ? this.#recorded?.runs : undefined
  }

  #follow(
    run: ServiceRun,
    { watcher, giveBack }: { watcher?: RunWatcher | undefined; giveBack(): void },
    begin: (record: RecordOption) => RunStream | Promise<RunStream>,
  ): Promise<void> {
    const recorded = this.#recordsOf(run.head)
    const sink = recorded?.sinkOf(run) ?? sinkInto(run, this.feed)
    const beginRecorded = async () => begin(await this.#parts.recordings.optionFor(run, recorded?.shown))
    return this.#follower.follow(run, { watcher, giveBack, sink }, beginRecorded)
  }

  /** Goes on with a run that no process carries out. */
  async #carryOn(run: ServiceRun, recorded: RecordedRuns): Promise<void> {
    const restored = await recorded.restore(run.head)
    const agent = this.#agentOf(run)
    if (this.#running.has(run.id)) return
    const { control, signal } = run
    this.#running.add(run)
    run.takeUp()
    // It had its place when it was started.
    const giveBack = this.#parts.limiter.countRun(run.head.caller.name)
    try {
      await recorded.readEvents(run)
      await this.#follow(run, { giveBack }, (record) => {
        control.useModel(agent.model.current)
        return recorded.runnerOf(agent).resumeStream(run.id, { ...restored, control, signal, ...record, replay: false })
      })
      this.#parts.logger.info({ runId: run.id, caller: run.head.caller.name }, 'a run of an earlier process goes on')
    } catch (error) {
      giveBack()
      if (error instanceof RunsElsewhere) recorded.followed.follow(run)
      this.#running.delete(run)
      throw error
    }
  }

  /** Throws an `HttpProblem`. */
  #agentOf({ id, head }: ServiceRun): Agent {
    const agent = this.#parts.host.agents.find(({ name }) => name === head.agent)
    if (agent !== undefined) return agent
    throw new HttpProblem(409, 'model_not_found', `Run ${id} stays paused: its model ${head.agent} is no longer in the configuration`)
  }

  /** Nobody is told how a run has ended before that is written down. */
  async #end(run: ServiceRun, intended: Outcome): Promise<void> {
    const recorded = this.#recordsOf(run.head)
    let outcome: Outcome | undefined = intended
    if (recorded !== undefined) {
      run.comeTo(intended)
      outcome = await recorded.settle(run, intended)
    } else if (!this.#kept.reserve(run, intended)) outcome = abortedWith(noRoom)
    // Another process has written it down: what it wrote counts.
    if (outcome === undefined) recorded?.followed.follow(run)
    else run.settle(outcome)
    if (recorded === undefined) this.#kept.add(run)
    this.#running.delete(run)
    this.#kept.forgetOld()
  }

  /** One that is in the journal goes on there: whoever waits for it here is told what becomes of it. */
  async #breakOff(run: ServiceRun, error: unknown): Promise<void> {
    const recorded = this.#recordsOf(run.head)
    if (isTakenOver(error)) this.#parts.logger.warn({ runId: run.id }, 'another process continues the run')
    else if (!this.#isClosed) this.#parts.logger.error({ runId: run.id, error }, 'a run could not be followed to its end')
    if (recorded === undefined) {
      run.settle(abortedWith('the run could not be followed to its end'))
      this.#kept.add(run)
    } else if (this.#isClosed) run.leave()
    else recorded.followed.follow(run)
    this.#running.delete(run)
  }
}
