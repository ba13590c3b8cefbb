import { loopVersion, type PruneOptions, type RunPage, type RunQuery } from '../../agent/journal/journal.ts'
import {
  decisionRefused,
  endOfTime,
  expiredText,
  type KeptText,
  type NamedValue,
  type NewRun,
  type NotTaken,
  type Outcome,
  type RunTries,
  type StoredRun,
  type Suspension,
  type Taken,
  takenOver,
  unknownRun,
} from '../../agent/journal/store.ts'
import { tagsOf } from '../../agent/journal/tags.ts'
import { ToolloopError } from '../../core/errors.ts'
import { storedText } from '../../core/messages.ts'
import type { RunStatus } from '../../core/runs/run-states.ts'
import { numbered, type Statement } from '../../sql/statement.ts'
import type { Dialect } from '../queries/dialect.ts'
import { listOf, ownersOf, pageOf } from '../queries/list-runs.ts'
import { summaryOf, timeOf } from '../queries/run-row.ts'
import type { Database, Query, Row } from './database.ts'
import { dialectOf } from './dialect.ts'
import type { Owner } from './owner.ts'
import { now, plain } from './values.ts'

/** How many runs one call deletes. */
export const prunedAtOnce = 200

/** A longer wait is one for ever: it would end behind the last moment there is. */
const longestWaitMs = endOfTime / 2

/** What an execution has recorded. */
export interface RecordedSteps {
  steps: number
  /** Of their values. */
  characters: number
}

/** An execution that is over. */
export interface PastExecution extends RecordedSteps {
  epoch: number
  /** Of all steps until then, those that are done anew. */
  forgotten: readonly string[]
}

/**
 * Who carries each run out, what it waits for and how it ended, in SQL; its steps are in DBOS. Each call may be made twice: where the server has
 * gone while it was answering, nobody knows whether it has done what it was told.
 */
export class RecordedRuns {
  readonly #database: Database
  readonly #owner: Owner
  readonly #agent: string
  /** The schema, quoted. */
  readonly #in: string
  readonly #dialect: Dialect

  constructor(database: Database, owner: Owner, { agent, schema }: { agent: string; schema: string }) {
    this.#database = database
    this.#owner = owner
    this.#agent = agent
    this.#in = schema
    this.#dialect = dialectOf(schema)
  }

  async take(runId: string, created?: NewRun): Promise<Taken | NotTaken> {
    if (created !== undefined && (await this.#create(runId, created)))
      return { kind: 'taken', epoch: 1, steps: [], decisions: [], tries: 0, hasDied: false }
    return this.#database.transaction(async (query) => {
      const run = await this.#locked(query, runId)
      checkLoop(run, runId)
      if (run.status === 'ended') return { kind: 'ended' }
      if (run.status === 'waiting' && !(await this.#canGoOn(query, run))) return { kind: 'waiting' }
      if (run.owner !== null && Number(run.owner) !== this.#owner.n) {
        const dead = await this.#owner.dead([Number(run.owner)], query)
        if (dead.size === 0) return { kind: 'elsewhere' }
      }
      if (run.status === 'waiting') await this.#takeDecisions(query, run)
      const taken = `UPDATE ${this.#in}.runs SET status = 'running', owner = $2, epoch = epoch + 1, problem = NULL, updated_at = ${now}`
      await query(`${taken} WHERE n = $1`, [run.n, this.#owner.n])
      const decisions = await query(`SELECT name, value FROM ${this.#in}.waits WHERE run = $1 AND taken`, [run.n])
      return {
        kind: 'taken',
        epoch: Number(run.epoch) + 1,
        tries: Number(run.tries),
        hasDied: run.owner !== null && Number(run.owner) !== this.#owner.n,
        input: String(run.input),
        steps: [],
        decisions: decisions.map(({ name, value }) => ({ name: String(name), value: String(value) })),
        ...(typeof run.cancel_reason === 'string' ? { cancelled: run.cancel_reason } : {}),
      }
    })
  }

  /** Rejects with `run_taken_over` if the run is not this owner's in this epoch. */
  async checkOwned(runId: string, epoch: number): Promise<void> {
    const mine = `SELECT 1 FROM ${this.#in}.runs WHERE agent = $1 AND id = $2 AND epoch = $3 AND owner = $4`
    if ((await this.#database.query(mine, [this.#agent, runId, epoch, this.#owner.n])).length === 0) throw takenOver(runId)
  }

  async keep(runId: string, epoch: number, { name, value, bytes }: KeptText, maxBytes: number): Promise<boolean> {
    return this.#database.transaction(async (query) => {
      const run = await this.#locked(query, runId)
      if (Number(run.owner) !== this.#owner.n || Number(run.epoch) !== epoch) throw takenOver(runId)
      const total = `SELECT coalesce(sum(bytes), 0) AS bytes FROM ${this.#in}.kept_texts WHERE run = $1 AND name <> $2`
      const [others] = await query(total, [run.n, plain(name)])
      if (Number(others?.bytes) + bytes > maxBytes) return false
      const insert = `INSERT INTO ${this.#in}.kept_texts (run, name, bytes, value) VALUES ($1, $2, $3, $4)`
      await query(`${insert} ON CONFLICT (run, name) DO UPDATE SET bytes = excluded.bytes, value = excluded.value`, [
        run.n,
        plain(name),
        bytes,
        value,
      ])
      return true
    })
  }

  async noteTries(runId: string, epoch: number, tries: number): Promise<void> {
    const update = `UPDATE ${this.#in}.runs SET tries = $5 WHERE agent = $1 AND id = $2 AND epoch = $3 AND owner = $4 RETURNING n`
    if ((await this.#database.query(update, [this.#agent, runId, epoch, this.#owner.n, tries])).length === 0) throw takenOver(runId)
  }

  async kept(runId: string, name: string): Promise<string | undefined> {
    const select = `SELECT value FROM ${this.#in}.kept_texts JOIN ${this.#in}.runs ON run = n WHERE agent = $1 AND id = $2 AND name = $3`
    const [text] = await this.#database.query(select, [this.#agent, runId, plain(name)])
    return text === undefined ? undefined : String(text.value)
  }

  async finish(runId: string, epoch: number, output: string, { stopReason, model }: Outcome): Promise<void> {
    const ended = `status = 'ended', stop_reason = $5, output = $6, model = $7, owner = NULL, problem = NULL, updated_at = ${now}`
    // Done already where a first attempt has come through.
    const mine = `epoch = $3 AND (owner = $4 OR (status = 'ended' AND stop_reason = $5))`
    const update = `UPDATE ${this.#in}.runs SET ${ended} WHERE agent = $1 AND id = $2 AND ${mine} RETURNING n`
    const forget = (table: string) => `DELETE FROM ${this.#in}.${table} WHERE run IN (SELECT n FROM ended)`
    const forgotten = `texts AS (${forget('kept_texts')}), records AS (${forget('call_records')})`
    const finish = `WITH ended AS (${update}), ${forgotten} SELECT n FROM ended`
    const values = [this.#agent, runId, epoch, this.#owner.n, stopReason, output, model ?? null]
    if ((await this.#database.query(finish, values)).length === 0) throw takenOver(runId)
  }

  /** `recorded`: how many steps this execution has recorded. */
  async suspend(runId: string, epoch: number, { output, model, waits, forget }: Suspension, recorded: RecordedSteps): Promise<void> {
    await this.#database.transaction(async (query) => {
      const run = await this.#locked(query, runId)
      if (Number(run.epoch) !== epoch) throw takenOver(runId)
      if (run.status === 'waiting') return
      if (Number(run.owner) !== this.#owner.n) throw takenOver(runId)
      await this.#addExecution(query, run.n, { epoch, ...recorded, forgotten: forget })
      for (const { name, timeoutMs } of waits) {
        const isForEver = timeoutMs === undefined || timeoutMs > longestWaitMs
        await query(`INSERT INTO ${this.#in}.waits (run, name, deadline) VALUES ($1, $2, ${now} + $3::bigint) ON CONFLICT DO NOTHING`, [
          run.n,
          name,
          isForEver ? null : Math.ceil(timeoutMs),
        ])
      }
      const left = `status = 'waiting', stop_reason = 'paused', output = $2, model = $3, owner = NULL, problem = NULL, updated_at = ${now}`
      await query(`UPDATE ${this.#in}.runs SET ${left} WHERE n = $1`, [run.n, output, model ?? null])
    })
  }

  async release(runId: string, epoch: number, problem?: string, tries: number | null = null): Promise<void> {
    const released = `owner = NULL, problem = $5, tries = coalesce($6, tries), updated_at = ${now}`
    const update = `UPDATE ${this.#in}.runs SET ${released} WHERE agent = $1 AND id = $2 AND epoch = $3 AND owner = $4`
    await this.#database.query(update, [this.#agent, runId, epoch, this.#owner.n, problem === undefined ? null : plain(problem), tries])
  }

  async deliver(runId: string, decisions: readonly NamedValue[]): Promise<void> {
    // By this a second attempt knows what the first has stored.
    const by = crypto.randomUUID()
    await this.#database.transaction(async (query) => {
      const run = await this.#locked(query, runId)
      for (const { name, value } of decisions) {
        const found = `SELECT value, decided_at, decided_by, deadline, deadline <= ${now} AS late FROM ${this.#in}.waits`
        const [wait] = await query(`${found} WHERE run = $1 AND name = $2`, [run.n, name])
        if (wait === undefined) throw decisionRefused(runId, name, 'nothing waits for it')
        if (wait.decided_by === by) continue
        if (run.status === 'ended') throw decisionRefused(runId, name, 'the run has ended')
        if (wait.value !== null) throw decisionRefused(runId, name, `it was decided at ${timeOf(wait.decided_at)}`)
        if (wait.late === true) throw decisionRefused(runId, name, `it was waited for until ${timeOf(wait.deadline)}`)
        const decided = `UPDATE ${this.#in}.waits SET value = $3, decided_at = ${now}, decided_by = $4 WHERE run = $1 AND name = $2`
        await query(decided, [run.n, name, value, by])
      }
    })
  }

  async cancel(runId: string, reason: string): Promise<void> {
    const cancelled = `cancel_reason = CASE WHEN status = 'ended' THEN cancel_reason ELSE coalesce(cancel_reason, $3) END`
    const update = `UPDATE ${this.#in}.runs SET ${cancelled} WHERE agent = $1 AND id = $2 RETURNING n`
    if ((await this.#database.query(update, [this.#agent, runId, plain(reason)])).length === 0) throw unknownRun(runId)
  }

  async cancelled(): Promise<{ runId: string; reason: string }[]> {
    const mine = `agent = $1 AND owner = $2 AND status = 'running' AND cancel_reason IS NOT NULL`
    const rows = await this.#database.query(`SELECT id, cancel_reason FROM ${this.#in}.runs WHERE ${mine}`, [this.#agent, this.#owner.n])
    return rows.map(({ id, cancel_reason }) => ({ runId: String(id), reason: String(cancel_reason) }))
  }

  async get(runId: string): Promise<StoredRun | undefined> {
    const open = `SELECT array_agg(name ORDER BY name) FROM ${this.#in}.waits WHERE run = n AND value IS NULL AND status <> 'ended'`
    const select = `SELECT *, (${open}) AS waits FROM ${this.#in}.runs WHERE agent = $1 AND id = $2`
    const [run] = await this.#database.query(select, [this.#agent, runId])
    if (run === undefined) return undefined
    return {
      ...summaryOf(run, run.owner === null ? new Set() : await this.#owner.surelyDead([Number(run.owner)])),
      input: String(run.input),
      waits: Array.isArray(run.waits) ? run.waits.map(String) : [],
      ...(typeof run.output === 'string' ? { output: run.output } : {}),
    }
  }

  /** How far a run is: its status and its execution. */
  async progress(runId: string): Promise<{ status: RunStatus; epoch: number } | undefined> {
    const select = `SELECT status, epoch FROM ${this.#in}.runs WHERE agent = $1 AND id = $2`
    const [run] = await this.#database.query(select, [this.#agent, runId])
    return run && { status: run.status as RunStatus, epoch: Number(run.epoch) }
  }

  async list(query: RunQuery): Promise<RunPage> {
    const dead = await this.#owner.surelyDead((await this.#all(ownersOf(this.#dialect, this.#agent))).map(({ owner }) => Number(owner)))
    return pageOf(await this.#all(listOf(this.#dialect, this.#agent, query, dead)), query, dead)
  }

  #all(statement: Statement): Promise<Row[]> {
    return this.#database.query(...numbered(statement))
  }

  async pending(): Promise<string[]> {
    const owned = `SELECT DISTINCT owner FROM ${this.#in}.runs WHERE agent = $1 AND status = 'running' AND owner IS NOT NULL`
    const owners = (await this.#database.query(owned, [this.#agent])).map(({ owner }) => Number(owner))
    const dead = await this.#owner.surelyDead(owners)
    const waits = `SELECT run FROM ${this.#in}.waits WHERE NOT taken`
    const due = `cancel_reason IS NOT NULL OR n IN (${waits} AND value IS NOT NULL) OR n IN (${waits} AND value IS NULL AND deadline <= ${now})`
    const left = `status = 'running' AND (owner IS NULL OR owner = ANY($2))`
    const open = `SELECT id FROM ${this.#in}.runs WHERE agent = $1 AND (${left} OR status = 'waiting' AND (${due})) ORDER BY n`
    return (await this.#database.query(open, [this.#agent, [this.#owner.n, ...dead]])).map(({ id }) => String(id))
  }

  /** Some of those that are to be deleted: fewer than `prunedAtOnce` where these are all. */
  async doomed({ olderThanMs, keep }: PruneOptions): Promise<Doomed[]> {
    const ended = `SELECT n, id, epoch FROM ${this.#in}.runs WHERE agent = $1 AND status = 'ended'`
    const order = 'ORDER BY updated_at DESC, n DESC'
    const old = `(${ended} AND updated_at <= ${now} - $2::bigint LIMIT ${prunedAtOnce})`
    const many = `(${ended} ${order} LIMIT ${prunedAtOnce} OFFSET $3)`
    const rows = await this.#database.query(
      `SELECT * FROM ${old} AS old WHERE $2 IS NOT NULL UNION SELECT * FROM ${many} AS many WHERE $3 IS NOT NULL LIMIT ${prunedAtOnce}`,
      [this.#agent, olderThanMs === undefined ? null : Math.ceil(Math.min(olderThanMs, endOfTime)), keep ?? null],
    )
    return rows.map(doomedOf)
  }

  /**
   * The same of runs that are shown as done, and that nobody carries out: from then on they have ended here too. Of one run, or of all.
   */
  async cleared(runId?: string): Promise<Doomed[]> {
    const done = `SELECT id FROM ${this.#in}.shown_runs WHERE status = 'ended' AND ($2::text IS NULL OR id = $2)`
    const over = `SELECT n FROM ${this.#in}.runs WHERE agent = $1 AND status <> 'running' AND id IN (${done}) LIMIT ${prunedAtOnce}`
    const end = `UPDATE ${this.#in}.runs SET status = 'ended' WHERE n IN (${over}) AND status <> 'running' RETURNING n, id, epoch`
    return (await this.#database.query(end, [this.#agent, runId ?? null])).map(doomedOf)
  }

  async delete(runs: readonly { n: unknown }[]): Promise<void> {
    await this.#database.query(`DELETE FROM ${this.#in}.runs WHERE n = ANY($1) AND status = 'ended'`, [runs.map(({ n }) => n)])
  }

  async pastExecutions(runId: string): Promise<PastExecution[]> {
    const rows = await this.#database.query(
      `SELECT e.epoch, e.steps, e.characters, e.forgotten FROM ${this.#in}.executions e JOIN ${this.#in}.runs ON run = n WHERE agent = $1 AND id = $2`,
      [this.#agent, runId],
    )
    return rows.map(({ epoch, steps, characters, forgotten }) => ({
      epoch: Number(epoch),
      steps: Number(steps),
      characters: Number(characters),
      forgotten: forgotten as string[],
    }))
  }

  async addExecutions(runId: string, executions: readonly PastExecution[]): Promise<void> {
    await this.#database.transaction(async (query) => {
      const { n } = await this.#locked(query, runId)
      for (const execution of executions) await this.#addExecution(query, n, execution)
    })
  }

  /** Lets go of all runs of this owner, in one attempt. */
  async letGo(tries: readonly RunTries[]): Promise<void> {
    const noted = 'SELECT noted.tries FROM unnest($2::text[], $3::integer[]) AS noted (id, tries) WHERE noted.id = run.id'
    const update = `UPDATE ${this.#in}.runs AS run SET owner = NULL, tries = coalesce((${noted}), run.tries) WHERE owner = $1`
    await this.#database.attempt(update, [this.#owner.n, tries.map(({ runId }) => runId), tries.map((one) => one.tries)])
  }

  async #addExecution(query: Query, run: unknown, { epoch, steps, characters, forgotten }: PastExecution): Promise<void> {
    const insert = `INSERT INTO ${this.#in}.executions (run, epoch, steps, characters, forgotten) VALUES ($1, $2, $3, $4, $5)`
    await query(`${insert} ON CONFLICT DO NOTHING`, [run, epoch, steps, characters, forgotten])
  }

  async #create(runId: string, { input, loop, metadata, session }: NewRun): Promise<boolean> {
    const columns = '(agent, id, status, owner, epoch, loop, created_at, updated_at, input, metadata, session)'
    const insert = `INSERT INTO ${this.#in}.runs ${columns} VALUES ($1, $2, 'running', $3, 1, $4, ${now}, ${now}, $5, $6, $8)`
    const created = `${insert} ON CONFLICT (agent, id) DO NOTHING RETURNING n`
    const tagged = `INSERT INTO ${this.#in}.run_tags (tag, run) SELECT tag, n FROM created, unnest($7::text[]) AS tag ON CONFLICT DO NOTHING`
    const said = metadata === undefined ? null : storedText(metadata)
    const values = [this.#agent, runId, this.#owner.n, loop, input, said, tagsOf(metadata), session === undefined ? null : plain(session)]
    return (await this.#database.query(`WITH created AS (${created}), tagged AS (${tagged}) SELECT n FROM created`, values)).length > 0
  }

  /** The run, which nobody else changes before the transaction is over. */
  async #locked(query: Query, runId: string): Promise<Row> {
    const [run] = await query(`SELECT * FROM ${this.#in}.runs WHERE agent = $1 AND id = $2 FOR UPDATE`, [this.#agent, runId])
    if (run === undefined) throw unknownRun(runId)
    return run
  }

  async #canGoOn(query: Query, { n, cancel_reason }: Row): Promise<boolean> {
    if (cancel_reason !== null) return true
    const due = `SELECT 1 FROM ${this.#in}.waits WHERE run = $1 AND NOT taken AND (value IS NOT NULL OR deadline <= ${now}) LIMIT 1`
    return (await query(due, [n])).length > 0
  }

  /** What is decided by now is what the run goes on with. */
  async #takeDecisions(query: Query, { n }: Row): Promise<void> {
    const late = `UPDATE ${this.#in}.waits SET value = $2, decided_at = ${now} WHERE run = $1 AND value IS NULL AND deadline <= ${now}`
    await query(late, [n, expiredText])
    await query(`UPDATE ${this.#in}.waits SET taken = true WHERE run = $1 AND value IS NOT NULL`, [n])
  }
}

/** A run that is to be deleted. */
export interface Doomed {
  n: unknown
  runId: string
  epoch: number
}

function doomedOf({ n, id, epoch }: Row): Doomed {
  return { n, runId: String(id), epoch: Number(epoch) }
}

function checkLoop({ loop }: Row, runId: string): void {
  if (Number(loop) <= loopVersion) return
  const message = `Expected run \`${runId}\` to be recorded by loop version ${loopVersion} or older, got ${loop}: a newer toolloop has written it`
  throw new ToolloopError('journal_failed', message)
}
