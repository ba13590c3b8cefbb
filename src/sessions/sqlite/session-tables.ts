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
} from '../../agent/sessions/session-store.ts'
import type { FileClock } from '../../sqlite/file-clock.ts'
import type { FileParts } from '../../sqlite/opened-file.ts'
import type { Owner } from '../../sqlite/owner.ts'
import { type Row, Statements } from '../../sqlite/statements.ts'
import { claimedFrom, holdFrom, pageFrom, storedFrom, summaryFrom } from '../session-row.ts'

/** How many sessions one call deletes: while it does, nothing else can be written. */
export const prunedAtOnce = 200

/** A session that no run has, as far as the table tells: whose process is dead is found out besides. */
const free = 'run IS NULL OR (owner IS NULL AND durable = 0 AND draft IS NULL)'
/** The same where the first value has the owners that are alive. */
const isOwned = '(owner IS NOT NULL AND owner IN (SELECT value FROM json_each(?1)))'
const freeByNow = `run IS NULL OR (NOT ${isOwned} AND durable = 0 AND draft IS NULL)`
const noHold = 'run = NULL, durable = 0, epoch = NULL, token = NULL, owner = NULL, waits_for = NULL, draft = NULL, resumed_at = NULL'

/** What `SessionStore` promises, in SQL. Each call has to be made inside a transaction, which is rolled back if it throws. */
export class SessionTables {
  readonly #sql: Statements
  readonly #owner: Owner
  readonly #clock: FileClock
  readonly #expireAfterMs: number

  constructor({ database, owner, clock }: FileParts, expireAfterMs: number) {
    this.#sql = new Statements(database)
    this.#owner = owner
    this.#clock = clock
    this.#expireAfterMs = expireAfterMs
  }

  claim(id: string, request: ClaimRequest): Claimed | NotClaimed {
    const { runId, durable, epoch, session } = request
    const found = this.#find(id)
    if (session !== undefined && found?.n !== session) return { kind: 'gone' }
    const past = found && this.#sql.one('SELECT outcome FROM session_runs WHERE session = ? AND run = ?', found.n, runId)
    if (past !== undefined) return { kind: past.outcome as 'stored' | 'released', runId }
    const hold = found && this.#holdOf(found)
    const refused = refusalOf(hold, request)
    if (refused !== undefined) return refused
    const row = found ?? this.#make(id)
    const token = crypto.randomUUID()
    // What a run waited for stays until it has come to something else: should its process die, it waits again.
    const isIdle = statusOf(hold) === 'idle'
    const resumedAt = isIdle ? undefined : (hold?.resumedAt ?? (request.waitsFor === undefined ? undefined : this.#clock.now()))
    const claimed = 'UPDATE sessions SET run = ?, durable = ?, epoch = ?, token = ?, owner = ?, resumed_at = ?'
    const kept = isIdle ? ', waits_for = NULL, draft = NULL' : ''
    this.#sql.run(`${claimed}${kept} WHERE n = ?`, runId, durable ? 1 : 0, epoch, token, this.#owner.id, resumedAt, row.n)
    return claimedFrom(row, token)
  }

  commit(claim: Claim, added: Added): Kept {
    const { row, kept } = this.#claimed(claim)
    if (row !== undefined) {
      this.#note(row, claim.runId, 'stored')
      this.#add(row, added)
    }
    return kept
  }

  pause(claim: Claim, { waitsFor, value }: Draft): Kept {
    const { row, kept } = this.#claimed(claim)
    const paused = 'UPDATE sessions SET token = NULL, owner = NULL, waits_for = ?, draft = ?, resumed_at = NULL WHERE n = ?'
    if (row !== undefined) this.#sql.run(paused, waitsFor, value, row.n)
    return kept
  }

  unclaim(claim: Claim, { keeps, untouched }: UnclaimOptions): void {
    const { row } = this.#claimed(claim)
    if (row === undefined) return
    const left = `token = NULL, owner = NULL${untouched ? ', resumed_at = NULL' : ''}`
    // One that waited before waits again.
    if (keeps || row.draft !== null) this.#sql.run(`UPDATE sessions SET ${left} WHERE n = ?`, row.n)
    else if (Number(row.length) > 0) this.#sql.run(`UPDATE sessions SET ${noHold} WHERE n = ?`, row.n)
    else this.#remove(Number(row.n))
  }

  release(id: string, runId: string, added: Added, outcome: 'stored' | 'released'): boolean {
    const row = this.#find(id)
    if (row === undefined || row.run !== runId) return false
    this.#note(row, runId, outcome)
    this.#add(row, added)
    return true
  }

  read(session: string | number, { from = 0, to = Number.MAX_SAFE_INTEGER }: { from?: number; to?: number }): string[] {
    const n = typeof session === 'number' ? session : this.#find(session)?.n
    if (n === undefined) return []
    const rows = this.#sql.all('SELECT value FROM messages WHERE session = ? AND at >= ? AND at < ? ORDER BY at', n, from, to)
    return rows.map(({ value }) => String(value))
  }

  append(id: string, messages: readonly string[], { isNew, compaction }: AppendOptions): Appended | NotClaimed {
    const found = this.#find(id)
    if (found !== undefined && isNew) return { kind: 'exists' }
    const hold = found && this.#holdOf(found)
    const refused = refusalOf(hold)
    if (refused !== undefined) return refused
    this.#add(found ?? this.#make(id), { messages, compaction })
    return { kind: 'appended' }
  }

  get(id: string): StoredSession | undefined {
    const row = this.#find(id)
    return row && storedFrom(row, this.#holdOf(row))
  }

  list({ prefix, status, updatedAfter, updatedBefore, limit = 50, cursor }: SessionQuery): SessionPage {
    const before = cursor === undefined ? undefined : cursorFrom(cursor)
    const isIn: Record<SessionStatus, string> = {
      idle: `(${freeByNow})`,
      running: `NOT (${freeByNow}) AND (${isOwned} OR draft IS NULL)`,
      waiting: `NOT ${isOwned} AND draft IS NOT NULL`,
    }
    const conditions: [condition: string, ...values: (string | number | undefined)[]][] = [
      ['substr(id, 1, length(?)) = ?', prefix, prefix],
      ['updated_at > ?', updatedAfter],
      ['updated_at < ?', updatedBefore],
      ['(updated_at, n) < (?, ?)', before?.updatedAt, before?.session],
      [`(updated_at > ? OR NOT (${freeByNow}))`, this.#expired],
    ]
    const given = conditions.filter(([, first]) => first !== undefined)
    const where = ['?1 IS NOT NULL', ...given.map(([condition]) => condition), ...(status === undefined ? [] : [isIn[status]])].join(
      ' AND ',
    )
    // One more than is shown, to know whether there is a next page.
    const values = [JSON.stringify(this.#living()), ...given.flatMap(([, ...those]) => those)]
    const rows = this.#sql.all(`SELECT * FROM sessions WHERE ${where} ORDER BY updated_at DESC, n DESC LIMIT ?`, ...values, limit + 1)
    return pageFrom(rows, limit, (row) => summaryFrom(row, this.#holdOf(row)))
  }

  delete(id: string): boolean {
    const row = this.#row(id)
    if (row === undefined) return false
    const isExpired = this.#isExpired(row)
    this.#remove(Number(row.n))
    return !isExpired
  }

  /** Deletes some of them, and returns how many: fewer than `prunedAtOnce` when all are deleted. */
  prune(olderThanMs: number): number {
    const dead = 'UPDATE sessions SET owner = NULL WHERE owner NOT IN (SELECT value FROM json_each(?))'
    this.#sql.run(dead, JSON.stringify(this.#living()))
    return this.#removeOlder(this.#clock.now() - olderThanMs)
  }

  /** Before when a session must have changed to be expired. */
  get #expired(): number | undefined {
    return Number.isFinite(this.#expireAfterMs) ? this.#clock.now() - this.#expireAfterMs : undefined
  }

  #row(id: string): Row | undefined {
    return this.#sql.one('SELECT * FROM sessions WHERE id = ?', id)
  }

  /** Undefined also for one that is expired. */
  #find(id: string): Row | undefined {
    const row = this.#row(id)
    return row !== undefined && this.#isExpired(row) ? undefined : row
  }

  #isExpired(row: Row): boolean {
    const expired = this.#expired
    return expired !== undefined && Number(row.updated_at) <= expired && this.#statusOf(row) === 'idle'
  }

  #make(id: string): Row {
    const expired = this.#row(id)
    if (expired !== undefined) this.#remove(Number(expired.n))
    if (this.#expired !== undefined) this.#removeOlder(this.#expired)
    const now = this.#clock.now()
    this.#sql.run('INSERT INTO sessions (id, length, created_at, updated_at) VALUES (?, 0, ?, ?)', id, now, now)
    return this.#row(id) ?? {}
  }

  /** Appends, and lets go. */
  #add({ n, length, compaction: before }: Row, { messages, compaction, at }: Added): void {
    const first = Math.min(Number(length), at ?? Number(length))
    if (at !== undefined) this.#sql.run('DELETE FROM messages WHERE session = ? AND at >= ?', n, first)
    for (const [at, message] of messages.entries()) {
      this.#sql.run('INSERT INTO messages (session, at, value) VALUES (?, ?, ?)', n, first + at, message)
    }
    const kept = compaction ?? (at === undefined ? before : undefined)
    const added = `UPDATE sessions SET ${noHold}, length = ?, compaction = ?, updated_at = ? WHERE n = ?`
    this.#sql.run(added, first + messages.length, kept, this.#clock.now(), n)
  }

  #note({ n, length }: Row, runId: string, outcome: 'stored' | 'released'): void {
    this.#sql.run('INSERT INTO session_runs (session, run, outcome, first) VALUES (?, ?, ?, ?)', n, runId, outcome, length)
  }

  /** The session, as long as the claim holds. */
  #claimed({ id, runId, token }: Claim): { row: Row | undefined; kept: Kept } {
    const row = this.#find(id)
    if (row?.token === token) return { row, kept: 'kept' }
    const past = row && this.#sql.one('SELECT outcome FROM session_runs WHERE session = ? AND run = ?', row.n, runId)
    return { row: undefined, kept: past?.outcome === 'stored' ? 'stored' : 'lost' }
  }

  #holdOf(row: Row): Hold | undefined {
    return holdFrom(row, typeof row.owner === 'string' && this.#owner.isAlive(row.owner))
  }

  #statusOf(row: Row): SessionStatus {
    return statusOf(this.#holdOf(row))
  }

  /** Owners of sessions that are alive: statements can't ask who is. */
  #living(): string[] {
    const owners = this.#sql.all('SELECT DISTINCT owner FROM sessions WHERE owner IS NOT NULL')
    return owners.map(({ owner }) => String(owner)).filter((owner) => this.#owner.isAlive(owner))
  }

  #removeOlder(than: number): number {
    const old = this.#sql.all(`SELECT n FROM sessions WHERE updated_at <= ? AND (${free}) LIMIT ${prunedAtOnce}`, than)
    for (const { n } of old) this.#remove(Number(n))
    return old.length
  }

  #remove(n: number): void {
    for (const table of ['messages', 'session_runs']) this.#sql.run(`DELETE FROM ${table} WHERE session = ?`, n)
    this.#sql.run('DELETE FROM sessions WHERE n = ?', n)
  }
}
