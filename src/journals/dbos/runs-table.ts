import type { PruneOptions, RunPage, RunQuery } from '../../agent/journal/journal.ts'
import {
  type ExecutionOutcome,
  type NamedValue,
  type NewRun,
  type RunTries,
  type StoredRun,
  type Suspension,
  tagsOf,
  takenOver,
} from '../../agent/journal/store.ts'
import { storedText } from '../../core/messages.ts'
import type { RunStatus } from '../../core/runs/run-states.ts'
import { firstOf, given, type Row, rowsOf, Statement, sql, type Work } from '../../sql/statement.ts'
import { listOf, ownersOf, pageOf } from '../queries/list-runs.ts'
import { summaryOf } from '../queries/run-row.ts'
import { prunedAtOnce, RunWork } from '../queries/run-work.ts'
import { dialectOf, now, plain } from './dialect.ts'
import type { Owner } from './owner.ts'

/** How long a living process may take to delete a run that has ended, in milliseconds. After that, other processes delete the run. */
const clearedWithinMs = 2_000

/** The number and size of the steps that an execution has recorded. */
export interface StepTotals {
  steps: number
  /** The size of the steps' values, in characters. */
  characters: number
}

export interface PastExecution extends StepTotals {
  epoch: number
  /** The names of recorded steps that the next execution ignores and executes again. */
  forgotten: readonly string[]
}

/** Stores the owner, waits and result of each run, in SQL. The steps of runs are in DBOS. */
export class RunsTable extends RunWork {
  readonly #runs: Statement

  /** `schema` must be quoted. `place` names the database in messages. */
  constructor(owner: Owner, { agent, schema, place }: { agent: string; schema: string; place: string }) {
    super({
      ...dialectOf(schema),
      agent,
      owner: owner.n,
      place,
      now: () => new Statement(now),
      hasId: (runId) => sql`agent = ${agent} AND id = ${runId}`,
      locked: sql`FOR UPDATE`,
      shared: sql`FOR SHARE`,
      *isDead(n) {
        return (yield* owner.deadOf([Number(n)])).size > 0
      },
    })
    this.#runs = this.table('runs')
  }

  /** Creates a run. Returns false if the run already exists. */
  *create(runId: string, { input, loop, metadata, session }: NewRun): Work<boolean> {
    const columns = sql`(agent, id, status, owner, epoch, loop, created_at, updated_at, input, metadata, session)`
    const time = this.in.now()
    const begun = sql`'running', ${this.in.owner}, 1, ${loop}, ${time}, ${time}`
    const values = sql`${this.in.agent}, ${runId}, ${begun}, ${input}, ${metadata && storedText(metadata)}, ${session && plain(session)}`
    const created = sql`INSERT INTO ${this.#runs} ${columns} VALUES (${values}) ON CONFLICT (agent, id) DO NOTHING RETURNING n`
    const tags = sql`SELECT tag, n FROM created, unnest(CAST(${tagsOf(metadata)} AS text[])) AS tag`
    const tagged = sql`INSERT INTO ${this.table('run_tags')} (tag, run) ${tags} ON CONFLICT DO NOTHING`
    return (yield* firstOf(sql`WITH created AS (${created}), tagged AS (${tagged}) SELECT n FROM created`)) !== undefined
  }

  /** Throws `run_taken_over` unless this owner executes the run in this epoch. */
  *checkOwned(runId: string, epoch: number): Work<void> {
    if ((yield* firstOf(sql`SELECT 1 AS owned FROM ${this.#runs} WHERE ${this.isOwned(runId, epoch)}`)) === undefined)
      throw takenOver(runId)
  }

  *finish(runId: string, epoch: number, output: string, { stopReason, model }: ExecutionOutcome): Work<void> {
    const ended = sql`status = 'ended', stop_reason = ${stopReason}, output = ${output}, model = ${model}, owner = NULL, problem = NULL`
    // The run may already have ended, because this call may be a retry of a call that succeeded.
    const isMine = sql`epoch = ${epoch} AND (owner = ${this.in.owner} OR (status = 'ended' AND stop_reason = ${stopReason}))`
    const where = sql`${this.in.hasId(runId)} AND ${isMine} RETURNING n`
    const update = sql`UPDATE ${this.#runs} SET ${ended}, updated_at = ${this.in.now()} WHERE ${where}`
    const forget = (table: string) => sql`DELETE FROM ${this.table(table)} WHERE run IN (SELECT n FROM ended)`
    const forgotten = sql`texts AS (${forget('kept_texts')}), records AS (${forget('call_records')})`
    if ((yield* firstOf(sql`WITH ended AS (${update}), ${forgotten} SELECT n FROM ended`)) === undefined) throw takenOver(runId)
  }

  /** Pauses a run. `recorded`: the total of the steps of this execution. */
  *suspend(runId: string, epoch: number, { output, model, waits, forget }: Suspension, recorded: StepTotals): Work<void> {
    const run = yield* this.found(runId)
    if (Number(run.epoch) !== epoch) throw takenOver(runId)
    if (run.status === 'waiting') return
    if (run.owner !== this.in.owner) throw takenOver(runId)
    yield* this.#addExecution(run, { epoch, ...recorded, forgotten: forget })
    yield* this.addWaits(run, waits)
    const left = sql`status = 'waiting', stop_reason = 'paused', output = ${output}, model = ${model}, owner = NULL, problem = NULL`
    yield sql`UPDATE ${this.#runs} SET ${left}, updated_at = ${this.in.now()} WHERE n = ${run.n}`
  }

  /** Returns the run's row. Its column `waits` has the names of the run's waits. */
  *row(runId: string): Work<Row | undefined> {
    const isOpen = sql`run = n AND value IS NULL AND status <> 'ended'`
    const waits = sql`SELECT array_agg(name ORDER BY name) FROM ${this.table('waits')} WHERE ${isOpen}`
    return yield* firstOf(sql`SELECT *, (${waits}) AS waits FROM ${this.#runs} WHERE ${this.in.hasId(runId)}`)
  }

  *progress(runId: string): Work<{ status: RunStatus; epoch: number } | undefined> {
    const run = yield* firstOf(sql`SELECT status, epoch FROM ${this.#runs} WHERE ${this.in.hasId(runId)}`)
    return run && { status: run.status as RunStatus, epoch: Number(run.epoch) }
  }

  *owners(): Work<number[]> {
    return (yield* rowsOf(ownersOf(this.in, this.in.agent))).map(({ owner }) => Number(owner))
  }

  *page(query: RunQuery, dead: ReadonlySet<number>): Work<RunPage> {
    return pageOf(yield* rowsOf(listOf(this.in, this.in.agent, query, dead)), query, dead)
  }

  *pruned(which: PruneOptions): Work<Doomed[]> {
    return (yield* this.doomed(which)).map(doomedOf)
  }

  /**
   * Marks as ended the runs that the service shows as finished and that no process executes, and returns them for deletion. Without
   * `runIds`, skips runs that have just ended, because their own processes delete them.
   */
  *cleared(runIds?: readonly string[]): Work<Doomed[]> {
    const those = runIds === undefined ? sql`` : sql`AND id = ANY(${runIds})`
    const ended = sql`SELECT id FROM ${this.table('shown_runs')} WHERE status = 'ended' ${those}`
    const isLeft =
      runIds === undefined ? sql`AND (status = 'waiting' OR updated_at <= ${this.in.now()} - ${clearedWithinMs}::bigint)` : sql``
    const isOver = sql`agent = ${this.in.agent} AND status <> 'running' AND id IN (${ended}) ${isLeft}`
    const some = sql`SELECT n FROM ${this.#runs} WHERE ${isOver} LIMIT ${prunedAtOnce}`
    const end = sql`UPDATE ${this.#runs} SET status = 'ended' WHERE n IN (${some}) AND status <> 'running' RETURNING n, id, epoch`
    return (yield* rowsOf(end)).map(doomedOf)
  }

  *delete(runs: readonly { n: unknown }[]): Work<void> {
    yield sql`DELETE FROM ${this.#runs} WHERE n = ANY(CAST(${runs.map(({ n }) => n)} AS bigint[])) AND status = 'ended'`
  }

  *pastExecutions(runId: string): Work<PastExecution[]> {
    const columns = sql`e.epoch, e.steps, e.characters, e.forgotten`
    const joined = sql`${this.table('executions')} e JOIN ${this.#runs} ON run = n WHERE ${this.in.hasId(runId)}`
    return (yield* rowsOf(sql`SELECT ${columns} FROM ${joined}`)).map(({ epoch, steps, characters, forgotten }) => ({
      epoch: Number(epoch),
      steps: Number(steps),
      characters: Number(characters),
      forgotten: forgotten as string[],
    }))
  }

  *addExecutions(runId: string, executions: readonly PastExecution[]): Work<void> {
    const run = yield* this.found(runId)
    for (const execution of executions) yield* this.#addExecution(run, execution)
  }

  *#addExecution({ n }: Row, { epoch, steps, characters, forgotten }: PastExecution): Work<void> {
    const values = sql`(run, epoch, steps, characters, forgotten) VALUES (${n}, ${epoch}, ${steps}, ${characters}, ${forgotten})`
    yield sql`INSERT INTO ${this.table('executions')} ${values} ON CONFLICT DO NOTHING`
  }

  /** Gives up all runs of this owner, so that other owners can execute them. */
  *letGo(tries: readonly RunTries[]): Work<void> {
    const [ids, counts] = [tries.map(({ runId }) => runId), tries.map((one) => one.tries)]
    const all = sql`unnest(CAST(${ids} AS text[]), CAST(${counts} AS integer[])) AS noted (id, tries)`
    const noted = sql`coalesce((SELECT noted.tries FROM ${all} WHERE noted.id = run.id), run.tries)`
    yield sql`UPDATE ${this.#runs} AS run SET owner = NULL, tries = ${noted} WHERE owner = ${this.in.owner}`
  }

  protected override inputOf({ input }: Row): Work<string> {
    return given(String(input))
  }

  protected override stepsOf(): Work<NamedValue[]> {
    return given([])
  }
}

/** Converts a row to a stored run. `dead` contains the owners that have died. */
export function storedRunOf(run: Row, dead: ReadonlySet<unknown>): StoredRun {
  return {
    ...summaryOf(run, dead),
    input: String(run.input),
    waits: Array.isArray(run.waits) ? run.waits.map(String) : [],
    ...(typeof run.output === 'string' ? { output: run.output } : {}),
  }
}

export interface Doomed {
  n: unknown
  runId: string
  epoch: number
}

function doomedOf({ n, id, epoch }: Row): Doomed {
  return { n, runId: String(id), epoch: Number(epoch) }
}
