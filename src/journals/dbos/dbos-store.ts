import pTimeout from 'p-timeout'
import type { PruneOptions } from '../../agent/journal/journal.ts'
import type { ShownRuns } from '../../agent/journal/shown-runs.ts'
import type { EngineStore, ExecutionOutcome, NamedValue, RunTries, Suspension, Taken } from '../../agent/journal/store.ts'
import { ToolloopError } from '../../core/errors.ts'
import type { Logger } from '../../core/logger.ts'
import { doInTurn, type Work } from '../../sql/statement.ts'
import { inParts, prunedAtOnce } from '../queries/run-work.ts'
import { aged, packedNews } from '../queries/shown-news.ts'
import { Database, openPool } from './database.ts'
import { DbosProcess } from './dbos-process.ts'
import { checkRunId } from './dialect.ts'
import { loadDbos } from './load-dbos.ts'
import { NewEvents } from './new-events.ts'
import { NewSteps } from './new-steps.ts'
import { Owner } from './owner.ts'
import { journalProblem } from './problems.ts'
import { type Doomed, type PastExecution, RunsTable, type StepTotals, storedRunOf } from './runs-table.ts'
import { migrate } from './schema.ts'
import { ShownRunsTable } from './shown-runs-table.ts'

export interface DbosStoreOptions {
  url: string
  agent: string
  schema: string
  connections: number
  outageMs: number
  launch: boolean
  logger: Logger
}

/** How long a run that has ended stays in the journal, in milliseconds. */
const clearAfterMs = 1_000
const noSteps: StepTotals = { steps: 0, characters: 0 }

interface Opened {
  runs: RunsTable
  shown: ShownRunsTable
  owner: Owner
}

/**
 * A store in which each execution is a DBOS workflow and each step is a DBOS step. All other data is in separate tables of this package.
 */
export class DbosStore implements EngineStore {
  readonly #options: DbosStoreOptions
  readonly #pg: ReturnType<typeof loadDbos>['pg']
  readonly #dbos: DbosProcess
  readonly #newSteps: NewSteps
  readonly #newEvents: NewEvents = new NewEvents((news) => this.#askShown((shown) => shown.appendEvents(news)))
  readonly #database: Database
  /** The workflows that this process executes, with the number and size of the steps that each has recorded. */
  readonly #executing = new Map<string, StepTotals>()
  #opening: Promise<Opened> | undefined
  readonly #toClear: string[] = []
  #clearTimer: NodeJS.Timeout | undefined
  /** The id of the tables. It is known once the database is open. */
  #tables = ''
  #isOpen = false
  #closed = false
  #closing: Promise<void> | undefined

  constructor(options: DbosStoreOptions) {
    const { dbos, pg } = loadDbos()
    const { url, connections, outageMs } = options
    this.#options = { ...options, schema: `"${options.schema}"` }
    this.#pg = pg
    // One connection is reserved for the owner.
    this.#database = new Database(pg, { url, connections: Math.max(2, Math.floor((connections - 1) / 3)), outageMs })
    this.#dbos = new DbosProcess(dbos, (error) => journalProblem(error, this.#database.name))
    this.#newSteps = new NewSteps(this.#dbos)
  }

  take: EngineStore['take'] = async (runId, created) => {
    checkRunId(runId)
    if (created !== undefined && (await this.#ask((runs) => runs.create(runId, created))))
      return { kind: 'taken', epoch: 1, steps: [], decisions: [], tries: 0, hasDied: false }
    return this.#do((runs) => runs.takeAgain(runId))
  }
  keep: EngineStore['keep'] = (...args) => this.#do((runs) => runs.keep(...args))
  kept: EngineStore['kept'] = (...args) => this.#ask((runs) => runs.kept(...args))
  append: EngineStore['append'] = (...args) => this.#ask((runs) => runs.append(...args))
  entries: EngineStore['entries'] = (...args) => this.#ask((runs) => runs.entries(...args))
  noteTries: EngineStore['noteTries'] = (...args) => this.#ask((runs) => runs.noteTries(...args))
  finish: EngineStore['finish'] = async (runId, epoch, output, stopReason) => {
    await this.#ask((runs) => runs.finish(runId, epoch, output, stopReason))
    this.#executing.delete(this.#workflowId(runId, epoch))
  }
  release: EngineStore['release'] = async (runId, epoch, ...left) => {
    await this.#ask((runs) => runs.release(runId, epoch, ...left))
    this.#executing.delete(this.#workflowId(runId, epoch))
  }
  deliver: EngineStore['deliver'] = (...args) => {
    const by = crypto.randomUUID()
    return this.#do((runs) => runs.deliver(...args, by))
  }
  cancel: EngineStore['cancel'] = (...args) => this.#do((runs) => runs.cancel(...args))
  cancelled: EngineStore['cancelled'] = () => this.#ask((runs) => runs.cancelled())
  list: EngineStore['list'] = async (query) => {
    const dead = await this.#deadOwners()
    return this.#ask((runs) => runs.page(query, dead))
  }
  pending: EngineStore['pending'] = async () => {
    const dead = await this.#deadOwners()
    return this.#ask((runs) => runs.pendingBut([...dead]))
  }
  get: EngineStore['get'] = async (runId) => {
    checkRunId(runId)
    const { owner } = await this.#opened()
    const run = await this.#ask((runs) => runs.row(runId))
    return run && storedRunOf(run, run.owner === null ? new Set() : await owner.surelyDead([Number(run.owner)]))
  }

  news: EngineStore['news'] = async (runId, known) => {
    checkRunId(runId)
    const run = await this.#ask((runs) => runs.progress(runId))
    if (run === undefined) return undefined
    const steps = new Map<string, string>()
    const isKnown = new Set(known)
    const executions = await this.#ask((runs) => runs.pastExecutions(runId))
    const past = new Map(executions.map(({ epoch, forgotten }) => [epoch, forgotten]))
    for (let epoch = 1; epoch <= run.epoch; epoch++) {
      for (const { name, value } of await this.#newSteps.read(this.#workflowId(runId, epoch), isKnown)) steps.set(name, value)
      for (const name of past.get(epoch) ?? []) steps.delete(name)
    }
    for (const name of known) steps.delete(name)
    return { status: run.status, steps: [...steps].map(([name, value]) => ({ name, value })) }
  }

  /** The runs that the service lists, called shown runs. */
  readonly shown: ShownRuns = {
    begin: (...args) => this.#show((shown) => shown.begin(...args)),
    append: async (runId, attempt, news) => {
      const packed = packedNews(news)
      const isStored = news.secrets.length === 0 && (await this.#newEvents.store({ runId, attempt, ...packed }))
      return isStored || this.#show((shown) => shown.append(runId, attempt, packed))
    },
    put: (run, attempt, news, outcome, room) => this.#show((shown) => shown.put(run, attempt, packedNews(news), aged(outcome), room)),
    settle: (runId, expected, outcome, room) => this.#show((shown) => shown.settle(runId, expected, aged(outcome), room)),
    giveUp: (...args) => this.#show((shown) => shown.giveUp(...args)),
    noteDecisions: (...args) => this.#show((shown) => shown.noteDecisions(...args)),
    withdrawDecisions: (...args) => this.#askShown((shown) => shown.withdrawDecisions(...args)),
    get: (...args) => this.#askShown((shown) => shown.get(...args)),
    result: (...args) => this.#askShown((shown) => shown.result(...args)),
    state: (...args) => this.#askShown((shown) => shown.state(...args)),
    events: (...args) => this.#askShown((shown) => shown.events(...args)),
    writesInOrder: false,
    keepRecording: (...args) => this.#show((shown) => shown.keepRecording(...args)),
    recording: (...args) => this.#askShown((shown) => shown.recording(...args)),
    progress: (...args) => this.#askShown((shown) => shown.progress(...args)),
    sendMessages: (...args) => {
      const by = crypto.randomUUID()
      return this.#show((shown) => shown.sendMessages(...args, by))
    },
    messages: (...args) => this.#askShown((shown) => shown.messages(...args)),
    closeMessages: (...args) => this.#show((shown) => shown.closeMessages(...args)),
    list: (...args) => this.#askShown((shown) => shown.list(...args)),
    sum: (...args) => this.#askShown((shown) => shown.sum(...args)),
    sessions: (...args) => this.#askShown((shown) => shown.sessions(...args)),
    unsettled: (...args) => this.#askShown((shown) => shown.unsettled(...args)),
    waiting: (...args) => this.#askShown((shown) => shown.waiting(...args)),
    forget: (bounds) => inParts(() => this.#show((shown) => shown.forget(bounds))),
    mayTidy: async (periodMs) => (await this.#opened()).owner.takesTurn(periodMs),
    clear: async (runId) => {
      if (runId === undefined) await this.#deleteAll((runs) => runs.cleared())
      else this.#clearSoon(runId)
    },
  }

  async suspend(runId: string, epoch: number, suspension: Suspension): Promise<Taken | undefined> {
    await this.#opened()
    const id = this.#workflowId(runId, epoch)
    await this.#do((runs) => runs.suspend(runId, epoch, suspension, this.#executing.get(id) ?? noSteps))
    this.#executing.delete(id)
    // If a decision or a cancellation has arrived while the run was being paused, the run continues at once.
    const taken = await this.take(runId)
    return taken.kind === 'taken' ? taken : undefined
  }

  async execute<T extends ExecutionOutcome>(runId: string, epoch: number, work: (steps: readonly NamedValue[]) => Promise<T>): Promise<T> {
    const id = this.#workflowId(runId, epoch)
    this.#executing.set(id, noSteps)
    const steps = await this.#stepsBefore(runId, epoch)
    return this.#dbos.execute(id, async () => {
      // Another process may have taken over the run before this workflow existed. It could not cancel the workflow then, so the owner is
      // checked again.
      await this.#ask((runs) => runs.checkOwned(runId, epoch))
      return work(steps)
    })
  }

  async step(runId: string, epoch: number, key: string, work: () => Promise<string>): Promise<string> {
    this.#checkOpen()
    const id = this.#workflowId(runId, epoch)
    const value = await this.#dbos.step(id, key, work)
    const { steps, characters } = this.#executing.get(id) ?? noSteps
    this.#executing.set(id, { steps: steps + 1, characters: characters + value.length })
    return value
  }

  prune(which: PruneOptions): Promise<number> {
    return this.#deleteAll((runs) => runs.pruned(which))
  }

  /** Schedules the deletion of a run. Runs that end shortly after each other are deleted together. */
  #clearSoon(runId: string): void {
    this.#toClear.push(runId)
    this.#clearTimer ??= setTimeout(() => void this.#clearNow(), clearAfterMs).unref()
  }

  async #clearNow(): Promise<void> {
    this.#clearTimer = undefined
    const runIds = this.#toClear.splice(0)
    // Errors are ignored: the next `clear()` without a run id, in any process, deletes these runs.
    if (runIds.length > 0) await this.#deleteAll((runs) => runs.cleared(runIds)).catch(() => {})
  }

  async #deleteAll(find: (runs: RunsTable) => Work<Doomed[]>): Promise<number> {
    for (let deleted = 0; ; ) {
      const doomed = await this.#ask(find)
      const epochs = (epoch: number) => Array.from({ length: epoch }, (_, at) => at + 1)
      await this.#dbos.delete(doomed.flatMap(({ runId, epoch }) => epochs(epoch).map((past) => this.#workflowId(runId, past))))
      await this.#ask((runs) => runs.delete(doomed))
      deleted += doomed.length
      // A batch that is not full is the last one. Continuing until a batch is empty could take forever, because more runs end in the
      // meantime.
      if (doomed.length < prunedAtOnce) return deleted
    }
  }

  close(tries: readonly RunTries[] = []): Promise<void> {
    this.#closing ??= this.#close(tries)
    return this.#closing
  }

  async #close(tries: readonly RunTries[]): Promise<void> {
    clearTimeout(this.#clearTimer)
    if (this.#isOpen) await pTimeout(this.#clearNow(), { milliseconds: clearAfterMs, fallback: () => {} })
    this.#closed = true
    // If the database is still being opened, closing it stops the attempts to reach the server.
    if (!this.#isOpen) this.#database.close()
    const opened = await this.#opening?.catch(() => undefined)
    this.#dbos.abandon((id) => this.#executing.has(id), this.#problem())
    if (opened !== undefined) {
      // Errors are ignored: if the server is unreachable, the lock of this owner is released with its connection, and other processes take
      // over its runs.
      await doInTurn(opened.runs.letGo(tries), this.#database.attempt).catch(() => {})
      await opened.owner.close()
      if (this.#options.launch) await this.#dbos.leave()
    }
    this.#database.close()
    await this.#database.pool.end()
  }

  /** Runs the statements of `work` in one transaction. */
  async #do<T>(work: (runs: RunsTable) => Work<T>): Promise<T> {
    const { runs } = await this.#opened()
    return this.#database.transaction((query) => doInTurn(work(runs), query))
  }

  /** Runs the statements of `work` without a transaction. */
  async #ask<T>(work: (runs: RunsTable) => Work<T>): Promise<T> {
    const { runs } = await this.#opened()
    return doInTurn(work(runs), this.#database.query)
  }

  async #deadOwners(): Promise<Set<number>> {
    const { owner } = await this.#opened()
    return owner.surelyDead(await this.#ask((runs) => runs.owners()))
  }

  async #show<T>(work: (shown: ShownRunsTable) => Work<T>): Promise<T> {
    const { shown } = await this.#opened()
    return this.#database.transaction((query) => doInTurn(work(shown), query))
  }

  async #askShown<T>(work: (shown: ShownRunsTable) => Work<T>): Promise<T> {
    const { shown } = await this.#opened()
    return doInTurn(work(shown), this.#database.query)
  }

  #opened(): Promise<Opened> {
    this.#checkOpen()
    // A failed attempt is not kept: the next call tries to open the database again.
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined
      throw journalProblem(error, this.#database.name)
    })
    return this.#opening
  }

  async #open(): Promise<Opened> {
    const { url, agent, schema, connections, launch, logger } = this.#options
    const database = this.#database
    this.#tables = await migrate(database, schema)
    const owner = await database.persistently(() => Owner.open(database, this.#pg, { url, schema }))
    try {
      const ofDbos = { url, connections: Math.ceil(((connections - 1) * 2) / 3) }
      const launching = { url, openPool: () => openPool(this.#pg, ofDbos), logger }
      // DBOS creates its tables during the launch, so only one process at a time may launch it.
      if (launch) await database.persistently(() => owner.exclusively(() => this.#dbos.launch(launching)))
    } catch (error) {
      await owner.close()
      throw error
    }
    this.#isOpen = true
    const tables = { agent, schema }
    const runs = new RunsTable(owner, { ...tables, place: database.name })
    return { owner, runs, shown: new ShownRunsTable(tables) }
  }

  /** Returns the steps that earlier executions have recorded, and ends these executions. */
  async #stepsBefore(runId: string, epoch: number): Promise<NamedValue[]> {
    const steps = new Map<string, string>()
    for (const execution of await this.#pastExecutions(runId, epoch)) {
      // Executions without steps are skipped to save queries: a run that crashes repeatedly has many of them.
      const recorded = execution.steps === 0 ? [] : await this.#dbos.steps(this.#workflowId(runId, execution.epoch))
      if (recorded.length < execution.steps) throw this.#missing(runId, execution, recorded.length)
      for (const { name, value } of recorded) steps.set(name, value)
      for (const name of execution.forgotten) steps.delete(name)
    }
    return [...steps].map(([name, value]) => ({ name, value }))
  }

  /** Returns the run's earlier executions, in order, and ends those that are unfinished. */
  async #pastExecutions(runId: string, epoch: number): Promise<PastExecution[]> {
    if (epoch === 1) return []
    const past = await this.#ask((runs) => runs.pastExecutions(runId))
    const known = new Set(past.map((execution) => execution.epoch))
    const broken = Array.from({ length: epoch - 1 }, (_, at) => at + 1).filter((one) => !known.has(one))
    // Unfinished executions are cancelled before their steps are counted, so that no further step is recorded after the count.
    await this.#dbos.cancel(broken.map((one) => this.#workflowId(runId, one)))
    const ended: PastExecution[] = []
    for (const one of broken) {
      const steps = await this.#dbos.steps(this.#workflowId(runId, one))
      const characters = steps.reduce((sum, { value }) => sum + value.length, 0)
      ended.push({ epoch: one, steps: steps.length, characters, forgotten: [] })
    }
    await this.#do((runs) => runs.addExecutions(runId, ended))
    return [...past, ...ended].toSorted((a, b) => a.epoch - b.epoch)
  }

  #workflowId(runId: string, epoch: number): string {
    return `${this.#options.agent}/${runId}/${epoch}/${this.#tables}`
  }

  #missing(runId: string, { epoch, steps }: PastExecution, got: number): ToolloopError {
    const id = this.#workflowId(runId, epoch)
    const why = 'somebody has deleted it from DBOS, and without it the run would do again what it has done'
    return new ToolloopError('journal_failed', `Expected ${steps} steps in the workflow \`${id}\`, got ${got}: ${why}`)
  }

  #checkOpen(): void {
    if (this.#closed) throw this.#problem()
  }

  #problem(): ToolloopError {
    return new ToolloopError('journal_failed', `The journal in \`${this.#database.name}\` can’t be used: it was closed`)
  }
}
