import {
  type Added,
  type Appended,
  type AppendOptions,
  type Claim,
  type Claimed,
  type ClaimRequest,
  cursorFrom,
  type Draft,
  type Hold,
  type Kept,
  type NotClaimed,
  refusalOf,
  type SessionPage,
  type SessionQuery,
  type SessionStatus,
  type StoredSession,
  statusOf,
  type UnclaimOptions,
} from '../agent/sessions/session-store.ts'
import { firstOf, joined, type Row, rowsOf, type Statement, sql, type Work } from '../sql/statement.ts'
import { claimedFrom, holdFrom, pageFrom, storedFrom, summaryFrom } from './session-row.ts'

/** The differences between the databases. */
export interface SessionsDialect {
  table(name: 'sessions' | 'session_messages' | 'session_runs'): Statement
  /** The current time in milliseconds, by a clock that all processes share. */
  now(): Statement
  /** SQL condition: the process that holds the session is alive. */
  alive(): Statement
  /** Expressions that queries select in addition to the columns. */
  readonly beside: Statement
  isAlive(row: Row): boolean
  timeOf(row: Row): number
  /** SQL assignments that make this process the owner of a session. `noOwner`: assignments that remove the owner. */
  owned(): Statement
  readonly noOwner: Statement
  /** Clauses at the end of a `SELECT`. `locked`: lock the rows. `skipsLocked`: lock the rows, but skip rows that are locked already. */
  readonly locked: Statement
  readonly skipsLocked: Statement
  /** Returns a table expression with a row for each text: its position `at`, from 0, and its `value`. */
  listOf(texts: readonly string[]): Statement
}

/**
 * Maximum number of sessions that one statement deletes. The number is small, because nothing else can write to an SQLite file during a
 * delete.
 */
export const prunedAtOnce = 200
/** The largest integer of PostgreSQL. */
const mostMessages = 2 ** 31 - 1

/** Implements `SessionStore` for both databases. Each call must run in a transaction that is rolled back if the call throws. */
export class SessionWork {
  readonly #in: SessionsDialect
  readonly #expireAfterMs: number
  readonly #sessions: Statement
  readonly #messages: Statement
  readonly #runs: Statement

  constructor(dialect: SessionsDialect, expireAfterMs: number) {
    this.#in = dialect
    this.#expireAfterMs = expireAfterMs
    this.#sessions = dialect.table('sessions')
    this.#messages = dialect.table('session_messages')
    this.#runs = dialect.table('session_runs')
  }

  /** Claims a session. A retry must pass the same `token`, because the first attempt may have succeeded. */
  *claim(id: string, request: ClaimRequest, token: string): Work<Claimed | NotClaimed> {
    const { runId, durable, epoch, session, waitsFor } = request
    const row = session === undefined ? yield* this.#foundOrMade(id) : yield* this.#find(id, this.#in.locked)
    if (row === undefined || (session !== undefined && Number(row.n) !== session)) return { kind: 'gone' }
    const past = yield* this.#outcomeOf(row, runId)
    if (past !== undefined) return { kind: past, runId }
    const hold = this.#holdOf(row)
    const refused = row.token === token ? undefined : refusalOf(hold, request)
    if (refused !== undefined) return refused
    // Keeps the draft of the waiting run until the resumed run has made a change. If its process dies before that, the run waits again.
    const resumed = waitsFor === undefined ? sql`resumed_at` : sql`coalesce(resumed_at, ${this.#in.now()})`
    const kept = statusOf(hold) === 'idle' ? sql`waits_for = NULL, draft = NULL, resumed_at = NULL` : sql`resumed_at = ${resumed}`
    const claimed = sql`run = ${runId}, durable = ${Number(durable)}, epoch = ${epoch}, token = ${token}, ${this.#in.owned()}, ${kept}`
    yield sql`UPDATE ${this.#sessions} SET ${claimed} WHERE n = ${row.n}`
    return claimedFrom(row, token)
  }

  *commit(claim: Claim, added: Added): Work<Kept> {
    const { row, kept } = yield* this.#claimed(claim)
    if (row !== undefined) yield* this.#end(row, claim.runId, added, 'stored')
    return kept
  }

  *pause(claim: Claim, { waitsFor, value }: Draft): Work<Kept> {
    const { row, kept, found } = yield* this.#claimed(claim)
    // If this call is a retry, the first attempt may have stored the draft.
    if (row === undefined) return kept === 'lost' && found?.run === claim.runId && found.draft === value ? 'kept' : kept
    const paused = sql`${this.#in.noOwner}, waits_for = ${waitsFor}, draft = ${value}, resumed_at = NULL`
    yield sql`UPDATE ${this.#sessions} SET ${paused} WHERE n = ${row.n}`
    return kept
  }

  *unclaim(claim: Claim, { keeps, untouched }: UnclaimOptions): Work<void> {
    const { row } = yield* this.#claimed(claim)
    if (row === undefined) return
    const left = sql`${this.#in.noOwner}${untouched ? sql`, resumed_at = NULL` : sql``}`
    // If the run was waiting before this claim, it waits again.
    if (keeps || row.draft !== null) yield sql`UPDATE ${this.#sessions} SET ${left} WHERE n = ${row.n}`
    else if (Number(row.length) > 0) yield sql`UPDATE ${this.#sessions} SET ${this.#noHold} WHERE n = ${row.n}`
    else yield* this.#remove(row)
  }

  *release(id: string, runId: string, added: Added, outcome: 'stored' | 'released'): Work<boolean> {
    const row = yield* this.#find(id, this.#in.locked)
    if (row?.run !== runId) return false
    yield* this.#end(row, runId, added, outcome)
    return true
  }

  *read(session: string | number, { from = 0, to = mostMessages }: { from?: number; to?: number }): Work<string[]> {
    const n = typeof session === 'number' ? session : (yield* this.#find(session))?.n
    if (n === undefined) return []
    const range = sql`at >= ${Math.min(from, mostMessages)} AND at < ${Math.min(to, mostMessages)}`
    const rows = yield* rowsOf(sql`SELECT value FROM ${this.#messages} WHERE session = ${n} AND ${range} ORDER BY at`)
    return rows.map(({ value }) => String(value))
  }

  *append(id: string, messages: readonly string[], { isNew, compaction }: AppendOptions): Work<Appended | NotClaimed> {
    const row = isNew ? yield* this.#made(id) : yield* this.#foundOrMade(id)
    if (row === undefined) return { kind: 'exists' }
    const refused = refusalOf(this.#holdOf(row))
    if (refused !== undefined) return refused
    yield* this.#add(row, { messages, compaction })
    return { kind: 'appended' }
  }

  *get(id: string): Work<StoredSession | undefined> {
    const row = yield* this.#find(id)
    return row && storedFrom(row, this.#holdOf(row))
  }

  *list({ prefix, status, updatedAfter, updatedBefore, limit = 50, cursor }: SessionQuery): Work<SessionPage> {
    const before = cursor === undefined ? undefined : cursorFrom(cursor)
    const alive = this.#in.alive()
    const free = freeOf(alive)
    const isIn: Record<SessionStatus, Statement> = {
      idle: free,
      running: sql`NOT ${free} AND (${alive} OR draft IS NULL)`,
      waiting: sql`run IS NOT NULL AND NOT ${alive} AND draft IS NOT NULL`,
    }
    const isYoung = sql`(updated_at > ${this.#in.now()} - ${asNumber(this.#expireAfterMs)} OR NOT ${free})`
    const conditions = [
      sql`n IS NOT NULL`,
      ...(prefix === undefined ? [] : [sql`substr(id, 1, length(CAST(${prefix} AS TEXT))) = ${prefix}`]),
      ...(updatedAfter === undefined ? [] : [sql`updated_at > ${asNumber(updatedAfter)}`]),
      ...(updatedBefore === undefined ? [] : [sql`updated_at < ${asNumber(updatedBefore)}`]),
      ...(before === undefined ? [] : [sql`(updated_at, n) < (${before.updatedAt}, ${before.session})`]),
      ...(status === undefined ? [] : [isIn[status]]),
      ...(Number.isFinite(this.#expireAfterMs) ? [isYoung] : []),
    ]
    // One row more than `limit` shows whether there is a next page.
    const where = sql`${joined(conditions, ' AND ')} ORDER BY updated_at DESC, n DESC LIMIT ${limit + 1}`
    const rows = yield* rowsOf(sql`${this.#select} WHERE ${where}`)
    return pageFrom(rows, limit, (row) => summaryFrom(row, this.#holdOf(row)))
  }

  *delete(id: string): Work<boolean> {
    const row = yield* this.#row(id, this.#in.locked)
    if (row === undefined) return false
    yield* this.#remove(row)
    return !this.#isExpired(row)
  }

  /** Deletes at most `prunedAtOnce` old sessions, and returns their number. */
  *prune(olderThanMs: number): Work<number> {
    return yield* this.#removeOlder(olderThanMs, this.#in.alive())
  }

  get #select(): Statement {
    return sql`SELECT *${this.#in.beside} FROM ${this.#sessions}`
  }

  /** SQL assignments after which no run holds the session. */
  get #noHold(): Statement {
    return sql`run = NULL, durable = 0, epoch = NULL, ${this.#in.noOwner}, waits_for = NULL, draft = NULL, resumed_at = NULL`
  }

  *#row(id: string, locked: Statement): Work<Row | undefined> {
    return yield* firstOf(sql`${this.#select} WHERE id = ${id} ${locked}`)
  }

  /** Returns the row of the session. Returns undefined if the session doesn't exist or has expired. */
  *#find(id: string, locked: Statement = sql``): Work<Row | undefined> {
    const row = yield* this.#row(id, locked)
    return row === undefined || this.#isExpired(row) ? undefined : row
  }

  *#foundOrMade(id: string): Work<Row> {
    for (;;) {
      const row = yield* this.#row(id, this.#in.locked)
      if (row !== undefined && !this.#isExpired(row)) return row
      yield* this.#make(id, row)
    }
  }

  /** Creates the session and returns its row. Returns undefined if the session exists, even if another process has just created it. */
  *#made(id: string): Work<Row | undefined> {
    const row = yield* this.#row(id, this.#in.locked)
    if (row !== undefined && !this.#isExpired(row)) return undefined
    return (yield* this.#make(id, row)) ? yield* this.#row(id, this.#in.locked) : undefined
  }

  /** Creates a session, in place of the expired session if there is one. Returns false if another process has created the session. */
  *#make(id: string, expired: Row | undefined): Work<boolean> {
    if (expired !== undefined) yield* this.#remove(expired)
    const now = this.#in.now()
    if (Number.isFinite(this.#expireAfterMs)) yield* this.#removeOlder(this.#expireAfterMs, sql`(owner IS NOT NULL)`)
    const made = sql`(id, length, created_at, updated_at) VALUES (${id}, 0, ${now}, ${now})`
    const inserted = sql`INSERT INTO ${this.#sessions} ${made} ON CONFLICT (id) DO NOTHING RETURNING n`
    return (yield* firstOf(inserted)) !== undefined
  }

  #isExpired(row: Row): boolean {
    return Number(row.updated_at) <= this.#in.timeOf(row) - this.#expireAfterMs && statusOf(this.#holdOf(row)) === 'idle'
  }

  #holdOf(row: Row): Hold | undefined {
    return holdFrom(row, this.#in.isAlive(row))
  }

  *#end(row: Row, runId: string, added: Added, outcome: 'stored' | 'released'): Work<void> {
    yield sql`INSERT INTO ${this.#runs} (session, run, outcome, first) VALUES (${row.n}, ${runId}, ${outcome}, ${row.length})`
    yield* this.#add(row, added)
  }

  /** Stores new messages and releases the session. `at`: the number of earlier messages to keep. */
  *#add({ n, length, compaction: before }: Row, { messages, compaction, at }: Added): Work<void> {
    const first = Math.min(Number(length), at ?? Number(length))
    if (at !== undefined) yield sql`DELETE FROM ${this.#messages} WHERE session = ${n} AND at >= ${first}`
    const placed = sql`SELECT CAST(${n} AS BIGINT), CAST(${first} AS INTEGER) + at, value FROM ${this.#in.listOf(messages)}`
    if (messages.length > 0) yield sql`INSERT INTO ${this.#messages} (session, at, value) ${placed}`
    const kept = compaction ?? (at === undefined ? before : undefined)
    const added = sql`length = ${first + messages.length}, compaction = ${kept}, updated_at = ${this.#in.now()}`
    yield sql`UPDATE ${this.#sessions} SET ${this.#noHold}, ${added} WHERE n = ${n}`
  }

  /** Returns the session's row: as `row` if the claim is still valid, otherwise as `found`. */
  *#claimed({ id, runId, token }: Claim): Work<{ row?: Row; found?: Row | undefined; kept: Kept }> {
    const found = yield* this.#find(id, this.#in.locked)
    if (found?.token === token) return { row: found, kept: 'kept' }
    const isStored = found !== undefined && (yield* this.#outcomeOf(found, runId)) === 'stored'
    return { found, kept: isStored ? 'stored' : 'lost' }
  }

  *#outcomeOf({ n }: Row, runId: string): Work<'stored' | 'released' | undefined> {
    const past = yield* firstOf(sql`SELECT outcome FROM ${this.#runs} WHERE session = ${n} AND run = ${runId}`)
    return past?.outcome as 'stored' | 'released' | undefined
  }

  *#removeOlder(ms: number, alive: Statement): Work<number> {
    const old = sql`updated_at <= ${this.#in.now()} - ${asNumber(ms)} AND ${freeOf(alive)}`
    const some = sql`SELECT n FROM ${this.#sessions} WHERE ${old} ORDER BY n LIMIT ${prunedAtOnce} ${this.#in.skipsLocked}`
    return (yield* rowsOf(sql`DELETE FROM ${this.#sessions} WHERE n IN (${some}) RETURNING n`)).length
  }

  *#remove({ n }: Row): Work<void> {
    yield sql`DELETE FROM ${this.#sessions} WHERE n = ${n}`
  }
}

/** SQL condition: no run holds the session. */
function freeOf(alive: Statement): Statement {
  return sql`(run IS NULL OR (NOT ${alive} AND durable = 0 AND draft IS NULL))`
}

/** Passes a number as a floating-point value, because it may exceed the range of integers. */
function asNumber(value: number): Statement {
  return sql`CAST(${value} AS DOUBLE PRECISION)`
}
