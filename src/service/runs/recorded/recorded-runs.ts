import pTimeout from 'p-timeout'
import { AgentRunner } from '../../../agent/agent-runner.ts'
import type { Engine, Journal, KeptRun, RunProcess } from '../../../agent/journal/journal.ts'
import type { ShownQuery, ShownRun, ShownRuns } from '../../../agent/journal/shown-runs.ts'
import { wholeResult } from '../../../agent/journal/stored-result.ts'
import { tagsOf } from '../../../agent/journal/tags.ts'
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
import { ServiceRun } from '../service-run.ts'
import { abortedWith, type Outcome, type RunHead } from '../stored-run.ts'
import { EventWriter } from './event-writer.ts'
import { FollowedRuns } from './followed-runs.ts'
import { isUnknownRun } from './problems.ts'
import { RunJournal } from './run-journal.ts'
import { SharedRuns } from './shared-runs.ts'
import { allEvents, headOfRow, outcomeRow, summaryJsonOf } from './stored-rows.ts'

/** How long a living process may take to write down how a run ended, in milliseconds. */
export const settledWithinMs = 2_000

/** Which runs are listed: `process` by whether the process that executes them is alive. */
type ListedQuery = ShownQuery & { process?: RunProcess | undefined }

interface ListedPage {
  runs: { runId: string; createdAt: number; cursor: string; json: string }[]
  hasMore: boolean
}

export interface RecordedRunsParts {
  journal: Journal
  shown: ShownRuns
  /** Undefined where it is not in the configuration any more. */
  agentOf(head: RunHead): Agent | undefined
  toolsOf(head: RunHead): Iterable<AnyTool>
  /** Of the environment. */
  secrets: readonly string[]
  /** What a run has of the service, if nobody's request continues it. */
  restore(head: RunHead): Promise<Pick<RunOptions, 'tools' | 'context'>>
  bounds(): RunBounds
  /** The run, if it is carried out here. */
  runOf(runId: string): ServiceRun | undefined
  /** Every event of every run. */
  feed: ByTenant<EventLog>
  logger: Logger
}

/**
 * The store of runs, and those with a journal, which any number of processes may share: each is executed by one of them, and shown by all.
 */
export class RecordedRuns implements Execution {
  readonly shown: ShownRuns
  /** Runs that others carry out, and that somebody looks at here. */
  readonly followed: FollowedRuns
  /** Carries nothing out: a run it is to go on with ends, if it was cancelled or given up. */
  readonly engine: Engine
  readonly restore: RecordedRunsParts['restore']
  readonly #parts: RecordedRunsParts
  readonly #journal: RunJournal
  /** By the runner of the same agent that records nothing. */
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
      throw new Error(`Run ${durable.runId} has no agent here to go on with it`)
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

  /** Rejects with an `HttpProblem` 429. */
  async checkRoom({ name }: Caller): Promise<void> {
    checkRoom(this.#parts.bounds(), await this.shown.waiting({ caller: name }))
  }

  /** The run as it is written down, without its events. */
  async get(runId: string): Promise<ServiceRun | undefined> {
    const shown = await this.shown.get(runId)
    return shown && this.#withResult(shown)
  }

  /** A run that the journal has; one whose process died as it began has not been shown yet. */
  async recorded(runId: string): Promise<ServiceRun> {
    const shown = await this.get(runId)
    if (shown !== undefined) return shown
    const known = await this.#journal.headOf(runId)
    if (known === undefined) throw new Error(`Run ${runId} is not in the journal any more`)
    const { said, createdAt, ...head } = known
    const nothing = { firstEventId: 1, lastEventId: 0, secrets: [], hidesAll: false }
    return new ServiceRun({ head, said, createdAt, ...nothing }, this.#parts.toolsOf(head), this.#boundsOfLog(), this.#parts.secrets)
  }

  /** Reads the events of a run, and follows it where another process carries it out; the function returned ends that. */
  async watch(run: ServiceRun): Promise<() => void> {
    if (this.#parts.runOf(run.id) === run) return () => {}
    await this.readEvents(run)
    return run.status === 'running' ? this.followed.follow(run) : () => {}
  }

  /** So that those who look at it see what there was. */
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
    return this.shown.say(
      run.id,
      messages.map((message) => JSON.stringify(message)),
    )
  }

  /** Nobody is told how a run has ended before that is written down. */
  async end(run: ServiceRun, intended: Outcome): Promise<void> {
    run.comeTo(intended)
    const outcome = await this.settle(run, intended)
    // Another process has written it down: what it wrote counts.
    if (outcome === undefined) this.followed.follow(run)
    else run.settle(outcome)
  }

  /** It goes on in its journal: whoever waits for it here is told what becomes of it. */
  async breakOff(run: ServiceRun): Promise<void> {
    if (this.#isClosed) run.leave()
    else this.followed.follow(run)
  }

  discard({ id }: ServiceRun): void {
    this.engine.cancel(id, 'it could not be begun').catch(() => {})
  }

  /** Writes down what a run has come to, and gives what that is: one there is no room for ends. Undefined: another process has it by now. */
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

  /** What the journal has of a run that is done. */
  async #clear({ id }: ServiceRun): Promise<void> {
    await this.shown.clear(id).catch((error: unknown) => {
      this.#parts.logger.warn({ runId: id, error }, 'what the journal has of a run that is done could not be deleted yet')
    })
  }

  /** A run that ended or paused without anybody writing that down: its process died before, or nobody here follows it. */
  async settleFromJournal(runId: string): Promise<void> {
    const run = await this.get(runId)
    if (run === undefined || run.status !== 'running' || this.#parts.runOf(runId) !== undefined) return
    const kept = await this.engine.get?.(runId)
    if (kept?.status === 'running') return
    await this.settle(run, kept === undefined ? abortedWith('what became of it is not known') : await outcomeIn(kept, run))
  }

  /** The run as it is written down, as far as it is to be kept: one that has waited too long is given up now. */
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

  /** False for a run that has only just begun. */
  async isShown({ id }: ServiceRun): Promise<boolean> {
    return (await this.shown.progress([id])).length > 0
  }

  /** The caller's newest run of a chat or thread, as far as it is to be kept. */
  async latestOf(thread: string, { name, tenant }: Caller): Promise<ServiceRun | undefined> {
    const [latest] = (await this.shown.list({ caller: name, tags: tagsOf(tenant), thread, limit: 1 })).runs
    return latest && this.find(latest.runId)
  }

  /** Ends a run, whoever carries it out. Resolves when it has ended. */
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
    // Somebody may have decided meanwhile.
    if (!(await this.#settleAsShown(run))) await this.cancel(run, reason)
  }

  async #cancelElsewhere(run: ServiceRun, reason: string): Promise<void> {
    const leave = this.followed.follow(run)
    try {
      const endsHere = await this.#endElsewhere(run, reason)
      // A living owner writes down how it ended, with its last events.
      if (!endsHere) await pTimeout(run.ended, { milliseconds: settledWithinMs, fallback: () => {} })
    } finally {
      leave()
    }
    const feeds = this.#parts.feed.with(run.head)
    for (const { type, event, data } of run.log.allAfter(0)) if (type === Event.RUN_END) for (const feed of feeds) feed.append(event, data)
    await this.settleFromJournal(run.id)
  }

  /** Ends the run in the journal; resolves with whether this process did, because nobody executed it. */
  async #endElsewhere({ id, head }: ServiceRun, reason: string): Promise<boolean> {
    const agent = this.#parts.agentOf(head)
    try {
      await (agent === undefined ? this.engine.cancel(id, reason) : this.runnerOf(agent).runs.cancel(id, reason))
      const endsHere = this.engine.isHere?.(id) === true
      await this.engine.result(id)
      return endsHere
    } catch (error) {
      // It is done, and only shown.
      if (isUnknownRun(error)) return false
      throw error
    }
  }

  close(): void {
    this.#isClosed = true
    this.followed.close()
  }

  /** False where it is going on. */
  async #settleAsShown(run: ServiceRun): Promise<boolean> {
    const now = await this.get(run.id)
    if (now?.outcome !== undefined) run.settle(now.outcome)
    else run.takeUp()
    return now?.outcome !== undefined
  }

  /** Summaries of runs as JSON, each with where the list goes on behind it; the newest first. */
  async list({ process, ...query }: ListedQuery): Promise<ListedPage> {
    const { runs, hasMore } = await this.shown.list(process === undefined ? query : await this.#inProcess(query, process))
    return {
      runs: runs.map((run) => ({ runId: run.runId, createdAt: run.createdAt, cursor: run.cursor, json: summaryJsonOf(run) })),
      hasMore,
    }
  }

  /** Narrows a list to running runs whose process is alive, or gone. Only the journal knows who executes a run. */
  async #inProcess({ status = 'running', runIds, ...query }: ShownQuery, process: RunProcess): Promise<ShownQuery> {
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
    const { status, createdAt, finishedAt = 0, summary: summaryJson = '{"pending":[]}' } = row
    const { said, createdAt: _createdAt, ...head } = headOfRow(row)
    const opened = (outcome?: Outcome) => {
      const stored = { ...row, head, said, createdAt: new Date(createdAt).toISOString(), outcome }
      const run = new ServiceRun(stored, this.#parts.toolsOf(head), this.#boundsOfLog(), this.#parts.secrets)
      run.storedEvents = row.lastEventId
      return run
    }
    if (status === 'running') return opened()
    const summary: Outcome['summary'] = JSON.parse(summaryJson)
    const waitsFor = status === 'waiting' ? (summary.pending as Outcome['waitsFor']) : []
    return opened({ status, finishedAt: new Date(finishedAt).toISOString(), summary, result, waitsFor })
  }

  #boundsOfLog(): EventLogBounds {
    const { eventsOfRun: events, charactersOfRun: characters } = this.#parts.bounds()
    return { events, characters }
  }
}

/** What a run has come to by what the journal has of it. */
async function outcomeIn({ output }: KeptRun, run: ServiceRun): Promise<Outcome> {
  return run.outcomeOf(wholeResult(output ?? null) as never as RunResult)
}
