import pTimeout from 'p-timeout'
import { AgentRunner } from '../../../agent/agent-runner.ts'
import type { Engine, Journal, KeptRun, RunProcess } from '../../../agent/journal/journal.ts'
import type { ShownQuery, ShownRun, ShownRuns, ShownSession, ShownSums } from '../../../agent/journal/shown-runs.ts'
import { tagsOf } from '../../../agent/journal/store.ts'
import { wholeResult } from '../../../agent/runner/durable-run.ts'
import type { RunStream } from '../../../agent/runner/run-stream.ts'
import type { ResumeOptions, RunOptions, RunResult, RunToRestore } from '../../../agent/types/options.ts'
import { Event } from '../../../core/events.ts'
import type { Logger } from '../../../core/logger.ts'
import { type ChatMessage, withoutUndefined } from '../../../core/messages.ts'
import type { AnyTool } from '../../../tools/tool.ts'
import type { EventLog, EventLogBounds } from '../../../ui/web/event-log.ts'
import type { Agent } from '../../agents/agent-host.ts'
import type { Caller } from '../../http/auth.ts'
import { checkRoom, noRoom, type RunBounds, roomOf, tooLate } from '../../run-bounds.ts'
import type { ByTenant } from '../../tenants/by-tenant.ts'
import type { Execution } from '../execution.ts'
import type { EventSink } from '../follow-run.ts'
import { type Hiding, ServiceRun } from '../service-run.ts'
import { abortedWith, type Outcome, type RunHead } from '../stored-run.ts'
import { EventWriter } from './event-writer.ts'
import { FollowedRuns } from './followed-runs.ts'
import { isUnknownRun } from './problems.ts'
import { RunJournal } from './run-journal.ts'
import { SharedRuns } from './shared-runs.ts'
import { allEvents, headOfRow, outcomeRow, summaryJsonOf } from './stored-rows.ts'

/** How long a living process may take to store the outcome of a run, in milliseconds. */
export const settledWithinMs = 2_000

/** Selects the runs of a list. `process` selects only running runs whose process is in this state: `'alive'` or `'gone'`. */
export type ListedQuery = ShownQuery & { process?: RunProcess | undefined }

export interface ListedPage {
  runs: { runId: string; createdAt: number; cursor: string; json: string }[]
  hasMore: boolean
}

export interface RecordedRunsParts {
  journal: Journal
  shown: ShownRuns
  /** Returns the agent of a run. Returns undefined if the configuration no longer has this agent. */
  agentOf(head: RunHead): Agent | undefined
  toolsOf(head: RunHead): readonly AnyTool[]
  hiding: Hiding
  /**
   * Returns the tools and the context of a run that resumes without a request. If it rejects, the run is not resumed, and the caretaker
   * tries again later.
   */
  restore(head: RunHead): Promise<Pick<RunOptions, 'tools' | 'context'>>
  bounds(): RunBounds
  /** Returns the run if this process executes it. */
  runOf(runId: string): ServiceRun | undefined
  /** All events of all runs. */
  feed: ByTenant<EventLog>
  logger: Logger
}

/**
 * Stores runs, and executes runs with a journal. Any number of processes may share the store. Each run is executed by one process. All
 * processes can show it.
 */
export class RecordedRuns implements Execution {
  readonly shown: ShownRuns
  /** The runs that this process watches and other processes execute. */
  readonly followed: FollowedRuns
  /** An engine that executes no steps. It can read and cancel the journal's runs. */
  readonly engine: Engine
  readonly restore: RecordedRunsParts['restore']
  readonly #parts: RecordedRunsParts
  readonly #journal: RunJournal
  /** For each agent's own runner, the runner that records in the journal. */
  readonly #runners = new WeakMap<AgentRunner, AgentRunner>()
  readonly #done = new SharedRuns()
  #isClosed = false

  constructor(parts: RecordedRunsParts) {
    const { journal, shown, runOf } = parts
    this.#parts = parts
    this.restore = parts.restore
    this.shown = shown
    this.#journal = new RunJournal({ journal, shown, runOf })
    this.engine = this.#journal.connect(async (durable) => {
      throw new Error(`Run ${durable.runId} has no agent here to continue it`)
    })
    const isHere = (run: ServiceRun) => runOf(run.id) === run
    this.followed = new FollowedRuns({ shown, isHere, read: (runId) => this.get(runId) })
  }

  runnerOf({ runner, options, model }: Agent): AgentRunner {
    const known = this.#runners.get(runner)
    if (known !== undefined) return known
    const restore = async ({ runId }: RunToRestore) => {
      const head = await this.#journal.headOf(runId)
      if (head === undefined) throw new Error(`Run ${runId} is not in the journal any more`)
      return this.restore(head)
    }
    const recording = new AgentRunner({ ...options, model, journal: this.#journal, restore }, undefined, { warns: false })
    this.#runners.set(runner, recording)
    return recording
  }

  sinkOf(run: ServiceRun): EventSink {
    return new EventWriter(run, this.#parts)
  }

  /** Rejects with an `HttpProblem` 429 if a caller has too many waiting runs to start another run. */
  async checkRoom({ name }: Caller): Promise<void> {
    checkRoom(this.#parts.bounds(), await this.shown.waiting({ caller: name }))
  }

  /** Reads a stored run, without its events. */
  async get(runId: string): Promise<ServiceRun | undefined> {
    const shown = await this.shown.get(runId)
    return shown && this.#withResult(shown)
  }

  /** Reads a stored run. A run whose process died during the start may be only in the journal. */
  async recorded(runId: string): Promise<ServiceRun> {
    const shown = await this.get(runId)
    if (shown !== undefined) return shown
    const head = await this.#journal.headOf(runId)
    if (head === undefined) throw new Error(`Run ${runId} is not in the journal any more`)
    return new ServiceRun({ head }, this.#parts.toolsOf(head), this.#boundsOfLog(), this.#parts.hiding)
  }

  /** Reads the events of a run. If another process executes the run, follows it until the returned function is called. */
  async watch(run: ServiceRun): Promise<() => void> {
    if (this.#parts.runOf(run.id) === run) return () => {}
    await this.readEvents(run)
    return run.status === 'running' ? this.followed.follow(run) : () => {}
  }

  /** Loads the stored events of a run into its log. */
  readEvents(run: ServiceRun): Promise<void> {
    return run.status === 'ended' ? this.#done.filled(run, () => this.#fill(run)) : this.#fill(run)
  }

  async #fill(run: ServiceRun): Promise<void> {
    run.log.fill(await allEvents(this.shown, run.id), run.log.lastId)
  }

  get recordings(): ShownRuns {
    return this.shown
  }

  async resume(run: ServiceRun, agent: Agent, options: ResumeOptions): Promise<RunStream> {
    return this.runnerOf(agent).resumeStream(run.id, { ...options, replay: false })
  }

  say(run: ServiceRun, messages: readonly ChatMessage[]): Promise<boolean> {
    return this.shown.sendMessages(
      run.id,
      messages.map((message) => JSON.stringify(message)),
    )
  }

  /** Ends a run. The outcome is stored before it is announced. */
  async end(run: ServiceRun, intended: Outcome): Promise<void> {
    run.comeTo(intended)
    const outcome = await this.settle(run, intended)
    // Another process has taken over the run. The outcome that the other process stores takes precedence.
    if (outcome === undefined) this.followed.follow(run)
    else run.settle(outcome)
  }

  /** Called if this process can't follow the run to its end. The run continues in its journal, and this process polls its outcome. */
  async breakOff(run: ServiceRun): Promise<void> {
    if (this.#isClosed) run.leave()
    else this.followed.follow(run)
  }

  discard({ id }: ServiceRun): void {
    this.engine.cancel(id, 'it could not be started').catch(() => {})
  }

  /**
   * Stores the outcome of a run and returns it. If there is no room for another waiting run, ends the run instead. Returns undefined if
   * another process has taken over the run.
   */
  async settle(run: ServiceRun, intended: Outcome): Promise<Outcome | undefined> {
    const write = async (outcome: Outcome) => {
      const expected = { status: 'running' as const, attempt: run.attempt }
      const room = outcome.status === 'waiting' ? roomOf(this.#parts.bounds()) : undefined
      return this.shown.settle(run.id, expected, await outcomeRow(run, { ...outcome, state: undefined }), room)
    }
    const written = await write(intended)
    const outcome = written === 'no_room' ? abortedWith(noRoom) : intended
    if (written === 'changed' || (written === 'no_room' && (await write(outcome)) === 'changed')) return undefined
    if (outcome.status === 'ended') await this.#clear(run)
    return outcome
  }

  /** Deletes an ended run from the journal. */
  async #clear({ id }: ServiceRun): Promise<void> {
    await this.shown.clear(id).catch((error: unknown) => {
      this.#parts.logger.warn({ runId: id, error }, 'an ended run could not be deleted from the journal yet')
    })
  }

  /** Stores the outcome of a run whose process died before it stored the outcome. */
  async settleFromJournal(runId: string): Promise<void> {
    const run = await this.get(runId)
    if (run === undefined || run.status !== 'running' || this.#parts.runOf(runId) !== undefined) return
    const kept = await this.engine.get?.(runId)
    if (kept?.status === 'running') return
    await this.settle(run, kept === undefined ? abortedWith('its outcome is not known') : await outcomeIn(kept, run))
  }

  /** Reads a stored run. If the run has waited too long, ends it first. Returns undefined if the run is unknown or too old to be shown. */
  async find(runId: string): Promise<ServiceRun | undefined> {
    const followed = this.followed.get(runId)
    if (followed !== undefined) return followed
    const shown = await this.shown.get(runId)
    if (shown === undefined) return undefined
    const { ageMs, waitingMs } = this.#parts.bounds()
    const { settledForMs = 0 } = shown
    if (shown.status === 'ended' && settledForMs >= ageMs) return undefined
    const run = await (shown.status === 'ended'
      ? this.#done.get(`${shown.runId} ${shown.finishedAt}`, () => this.#withResult(shown))
      : this.#withResult(shown))
    if (run.status === 'waiting' && settledForMs > waitingMs) await this.cancel(run, tooLate)
    return run
  }

  /** Whether a run is in the store of shown runs. */
  async isShown({ id }: ServiceRun): Promise<boolean> {
    return (await this.shown.progress([id])).length > 0
  }

  /** Returns the caller's newest run of a chat or thread, if it is within the limits on stored runs. */
  async latestOf(thread: string, { name, tenant }: Caller): Promise<ServiceRun | undefined> {
    const [latest] = (await this.shown.list({ caller: name, tags: tagsOf(tenant), thread, limit: 1 })).runs
    return latest && this.find(latest.runId)
  }

  /** Ends a run, whichever process executes it. Resolves when the run has ended. */
  async cancel(run: ServiceRun, reason: string): Promise<void> {
    while (run.status === 'running' && !this.#isClosed) {
      if (this.#parts.runOf(run.id) === run) {
        run.abort(reason)
        await run.ended
      } else {
        await this.#cancelElsewhere(run, reason)
        await this.#settleAsShown(run)
      }
    }
    if (run.status !== 'waiting') return
    await this.shown.giveUp({ runId: run.id }, { code: 'aborted', message: reason })
    await this.#clear(run)
    // A decision may have resumed the run meanwhile. The run is then cancelled again.
    if (!(await this.#settleAsShown(run))) await this.cancel(run, reason)
  }

  async #cancelElsewhere(run: ServiceRun, reason: string): Promise<void> {
    const leave = this.followed.follow(run)
    try {
      const endsHere = await this.#endElsewhere(run, reason)
      // If the run's process is alive, it stores the outcome and the last events.
      if (!endsHere) await pTimeout(run.ended, { milliseconds: settledWithinMs, fallback: () => {} })
    } finally {
      leave()
    }
    const feeds = this.#parts.feed.with(run.head)
    for (const { type, event, data } of run.log.allAfter(0)) if (type === Event.RUN_END) for (const feed of feeds) feed.append(event, data)
    await this.settleFromJournal(run.id)
  }

  /** Cancels the run in the journal. Resolves with true if the run ended in this process. */
  async #endElsewhere({ id, head }: ServiceRun, reason: string): Promise<boolean> {
    const agent = this.#parts.agentOf(head)
    try {
      await (agent === undefined ? this.engine.cancel(id, reason) : this.runnerOf(agent).runs.cancel(id, reason))
      const endsHere = this.engine.isHere?.(id) === true
      await this.engine.result(id)
      return endsHere
    } catch (error) {
      // The run has ended and was deleted from the journal.
      if (isUnknownRun(error)) return false
      throw error
    }
  }

  close(): void {
    this.#isClosed = true
    this.followed.close()
  }

  /** Copies the stored outcome to `run`. If no outcome is stored, marks the run as running and resolves with false. */
  async #settleAsShown(run: ServiceRun): Promise<boolean> {
    const now = await this.get(run.id)
    if (now?.outcome !== undefined) run.settle(now.outcome)
    else run.takeUp()
    return now?.outcome !== undefined
  }

  /** Lists runs, newest first. A run's `cursor` starts the list after this run. */
  async list(asked: ListedQuery): Promise<ListedPage> {
    const { runs, hasMore } = await this.shown.list(await this.#shownQuery(asked))
    return {
      runs: runs.map((run) => ({ runId: run.runId, createdAt: run.createdAt, cursor: run.cursor, json: summaryJsonOf(run) })),
      hasMore,
    }
  }

  async sum(asked: ListedQuery): Promise<ShownSums> {
    return this.shown.sum(await this.#shownQuery(asked))
  }

  async sessions(asked: ListedQuery): Promise<ShownSession[]> {
    return this.shown.sessions(await this.#shownQuery(asked))
  }

  /** Replaces the filter `process` by ids of runs. Only the journal knows which process executes a run. */
  async #shownQuery({ process, ...asked }: ListedQuery): Promise<ShownQuery> {
    if (process === undefined) return asked
    const { status = 'running', runIds, ...query } = asked
    if (status !== 'running') return { ...query, runIds: [] }
    const gone: string[] = []
    for (let cursor: string | undefined; ; ) {
      const page = await this.engine.list?.({ process: 'gone', limit: 1_000, ...withoutUndefined({ cursor }) })
      gone.push(...(page?.runs ?? []).map(({ runId }) => runId))
      cursor = page?.next
      if (cursor === undefined) break
    }
    if (process === 'alive') return { ...query, status, runIds, notRunIds: gone }
    return { ...query, status, runIds: runIds === undefined ? gone : runIds.filter((id) => gone.includes(id)) }
  }

  async #withResult(shown: ShownRun): Promise<ServiceRun> {
    return this.#open(shown, shown.status === 'running' ? '' : await this.shown.result(shown.runId))
  }

  #open(row: ShownRun, result: string): ServiceRun {
    const { status, finishedAt = 0, waitedMs, summary: summaryJson = '{"pending":[]}' } = row
    const head = headOfRow(row)
    const opened = (outcome?: Outcome) => {
      const run = new ServiceRun({ ...row, head, outcome }, this.#parts.toolsOf(head), this.#boundsOfLog(), this.#parts.hiding)
      run.storedEvents = row.lastEventId
      return run
    }
    if (status === 'running') return opened()
    const summary: Outcome['summary'] = JSON.parse(summaryJson)
    const waitsFor = status === 'waiting' ? (summary.pending as Outcome['waitsFor']) : []
    return opened({ status, finishedAt: new Date(finishedAt).toISOString(), waitedMs, summary, result, waitsFor })
  }

  #boundsOfLog(): EventLogBounds {
    const { eventsOfRun: events, charactersOfRun: characters } = this.#parts.bounds()
    return { events, characters }
  }
}

/** Returns the outcome of a run that the journal has recorded. */
async function outcomeIn({ output }: KeptRun, run: ServiceRun): Promise<Outcome> {
  return run.outcomeOf(wholeResult(output ?? null) as never as RunResult)
}
