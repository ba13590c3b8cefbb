import {
  type Added,
  type Appended,
  type AppendOptions,
  type Claim,
  type Claimed,
  type ClaimRequest,
  closedStore,
  cursorFrom,
  type Draft,
  type Kept,
  type NotClaimed,
  refusalOf,
  type SessionPage,
  type SessionQuery,
  type SessionStatus,
  type SessionStore,
  type StoredSession,
  statusOf,
  type UnclaimOptions,
} from '../../agent/sessions/session-store.ts'
import { claimedFrom, pageFrom, storedFrom, summaryFrom } from '../session-row.ts'
import { checkTables, migrate, now } from './migrate.ts'
import { inTransaction, manyTries, type PostgresPool, type Query, surviveLostConnections, withRetries } from './pool.ts'
import { alive, clamped, free, holdOf, noHold, noOwner, type Row } from './session-rows.ts'

/** How the store works. */
export interface StoreOptions {
  pool: PostgresPool
  schema: string
  leaseMs: number
  expireAfterMs: number
}

/** How many sessions one statement deletes. */
const prunedAtOnce = 200

/**
 * Sessions in PostgreSQL. A process says again and again that it is alive (`lease`): one that no longer does has lost its sessions, and what it
 * still wants to add is refused by its token.
 */
export class PostgresSessionStore implements SessionStore {
  readonly #pool: PostgresPool
  readonly #name: string
  readonly #schema: string
  readonly #leaseMs: number
  readonly #expireAfterMs: number
  readonly #owner: string = crypto.randomUUID()
  readonly #held = new Set<string>()
  #renewing: NodeJS.Timeout | undefined
  #checked: Promise<void> | undefined
  #closed = false

  constructor({ pool, schema, leaseMs, expireAfterMs }: StoreOptions) {
    surviveLostConnections(pool)
    this.#pool = pool
    this.#name = schema
    this.#schema = `"${schema.replaceAll('"', '""')}"`
    this.#leaseMs = leaseMs
    this.#expireAfterMs = expireAfterMs
  }

  async migrate(): Promise<void> {
    await withRetries(() => migrate(this.#pool, this.#schema, this.#name))
    this.#checked = undefined
  }

  async claim(id: string, request: ClaimRequest): Promise<Claimed | NotClaimed> {
    const { runId, durable, epoch, session } = request
    // The same for each try: one of them may have been successful without our knowing.
    const token = crypto.randomUUID()
    const claimed = await this.#change(async (query): Promise<Claimed | NotClaimed> => {
      const row = session === undefined ? await this.#foundOrMade(query, id) : await this.#found(query, id)
      if (row === undefined || (session !== undefined && Number(row.n) !== session)) return { kind: 'gone' }
      const [past] = await query(`SELECT outcome FROM ${this.#schema}.session_runs WHERE session = $1 AND run = $2`, [row.n, runId])
      if (past !== undefined) return { kind: past.outcome as 'stored' | 'released', runId }
      const hold = holdOf(row)
      const refused = row.token === token ? undefined : refusalOf(hold, request)
      if (refused !== undefined) return refused
      // What a run waited for stays until it has come to something else: should its process die, it waits again.
      const resumed = request.waitsFor === undefined ? 'resumed_at' : `coalesce(resumed_at, ${now})`
      const kept = statusOf(hold) === 'idle' ? 'waits_for = NULL, draft = NULL, resumed_at = NULL' : `resumed_at = ${resumed}`
      await query(
        `UPDATE ${this.#schema}.sessions SET run = $2, durable = $3, token = $4, owner = $5, lease = ${now} + $6, epoch = $7, ${kept} WHERE n = $1`,
        [row.n, runId, durable, token, this.#owner, this.#leaseMs, epoch ?? null],
      )
      return claimedFrom(row, token)
    })
    if (claimed.kind === 'claimed') this.#hold(token)
    return claimed
  }

  async commit(claim: Claim, added: Added): Promise<Kept> {
    return this.#letGo(claim, async (query, row) => {
      await this.#note(query, row, claim.runId, 'stored')
      await this.#add(query, row, added)
    })
  }

  async pause(claim: Claim, { waitsFor, value }: Draft): Promise<Kept> {
    const paused = `UPDATE ${this.#schema}.sessions SET ${noOwner}, waits_for = $2, draft = $3, resumed_at = NULL WHERE n = $1`
    const kept = await this.#letGo(claim, async (query, row) => void (await query(paused, [row.n, waitsFor, value])))
    if (kept !== 'lost') return kept
    // An earlier try may have been successful without our knowing.
    const there = await this.get(claim.id)
    return there?.runId === claim.runId && there.draft === value ? 'kept' : 'lost'
  }

  async unclaim(claim: Claim, { keeps, untouched }: UnclaimOptions): Promise<void> {
    await this.#letGo(claim, async (query, { n, length, draft }) => {
      const table = `${this.#schema}.sessions`
      // One that waited before waits again.
      if (keeps || draft !== null) await query(`UPDATE ${table} SET ${noOwner}${untouched ? ', resumed_at = NULL' : ''} WHERE n = $1`, [n])
      else if (Number(length) > 0) await query(`UPDATE ${table} SET ${noHold} WHERE n = $1`, [n])
      else await query(`DELETE FROM ${table} WHERE n = $1`, [n])
    })
  }

  async release(id: string, runId: string, added: Added, outcome: 'stored' | 'released'): Promise<boolean> {
    return this.#change(async (query) => {
      const row = await this.#found(query, id)
      if (row?.run !== runId) return false
      await this.#note(query, row, runId, outcome)
      await this.#add(query, row, added)
      return true
    })
  }

  async read(session: string | number, { from = 0, to }: { from?: number; to?: number }): Promise<string[]> {
    const n = typeof session === 'number' ? session : (await this.#find(session))?.n
    if (n === undefined) return []
    const range = 'session = $1 AND at >= $2 AND ($3::integer IS NULL OR at < $3)'
    const text = `SELECT value FROM ${this.#schema}.session_messages WHERE ${range} ORDER BY at`
    // By its number a run reads its session, which is worth waiting for.
    const tries = typeof session === 'number' ? manyTries : undefined
    const rows = await this.#query(text, [n, clamped(from), to === undefined ? null : clamped(to)], tries)
    return rows.map(({ value }) => String(value))
  }

  async append(id: string, messages: readonly string[], { isNew, compaction }: AppendOptions): Promise<Appended | NotClaimed> {
    const append = async (query: Query): Promise<Appended | NotClaimed> => {
      if (isNew && (await this.#found(query, id)) !== undefined) return { kind: 'exists' }
      const row = await this.#foundOrMade(query, id)
      const refused = refusalOf(holdOf(row))
      if (refused !== undefined) return refused
      await this.#add(query, row, { messages, compaction })
      return { kind: 'appended' }
    }
    // Not tried again: nothing would tell that it has been done.
    return this.#change(append, 1)
  }

  async get(id: string): Promise<StoredSession | undefined> {
    const row = await this.#find(id)
    return row && storedFrom(row, holdOf(row))
  }

  async list({ prefix, status, updatedAfter, updatedBefore, limit = 50, cursor }: SessionQuery): Promise<SessionPage> {
    const before = cursor === undefined ? undefined : cursorFrom(cursor)
    const values: unknown[] = []
    const given = (value: unknown): string => `$${values.push(value)}`
    const isIn: Record<SessionStatus, string> = {
      idle: free,
      running: `NOT ${free} AND (${alive} OR draft IS NULL)`,
      waiting: `run IS NOT NULL AND NOT ${alive} AND draft IS NOT NULL`,
    }
    const conditions = [
      ...(prefix === undefined ? [] : [`starts_with(id, ${given(prefix)})`]),
      ...(updatedAfter === undefined ? [] : [`updated_at > ${given(updatedAfter)}`]),
      ...(updatedBefore === undefined ? [] : [`updated_at < ${given(updatedBefore)}`]),
      ...(before === undefined ? [] : [`(updated_at, n) < (${given(before.updatedAt)}, ${given(before.session)})`]),
      ...(status === undefined ? [] : [isIn[status]]),
      this.#isThere,
    ]
    const where = `${conditions.join(' AND ')} ORDER BY updated_at DESC, n DESC LIMIT ${given(limit + 1)}`
    const rows = await this.#query(`${this.#select} WHERE ${where}`, values)
    return pageFrom(rows, limit, (row) => summaryFrom(row, holdOf(row)))
  }

  async delete(id: string): Promise<boolean> {
    const rows = await this.#query(`DELETE FROM ${this.#schema}.sessions WHERE id = $1 AND ${this.#isThere} RETURNING n`, [id])
    return rows.length > 0
  }

  async prune(olderThanMs: number): Promise<number> {
    for (let deleted = 0; ; ) {
      const more = await this.#removeOlder(olderThanMs)
      deleted += more
      // Not until there is none: sessions that change meanwhile could keep this from ending.
      if (more < prunedAtOnce) return deleted
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return
    clearInterval(this.#renewing)
    if (this.#held.size > 0) {
      await this.#query(`UPDATE ${this.#schema}.sessions SET owner = NULL, lease = NULL WHERE owner = $1`, [this.#owner])
    }
    this.#closed = true
  }

  get #select(): string {
    return `SELECT *, ${alive} AS alive FROM ${this.#schema}.sessions`
  }

  /** Of a session that has not expired. */
  get #isThere(): string {
    return Number.isFinite(this.#expireAfterMs) ? `(updated_at > ${now} - ${this.#expireAfterMs} OR NOT ${free})` : 'true'
  }

  async #find(id: string): Promise<Row | undefined> {
    return (await this.#query(`${this.#select} WHERE id = $1 AND ${this.#isThere}`, [id]))[0]
  }

  /** Locked until the transaction is over. */
  async #found(query: Query, id: string): Promise<Row | undefined> {
    return (await query(`${this.#select} WHERE id = $1 AND ${this.#isThere} FOR UPDATE`, [id]))[0]
  }

  async #foundOrMade(query: Query, id: string): Promise<Row> {
    for (;;) {
      const row = await this.#found(query, id)
      if (row !== undefined) return row
      // It is there no more, and in the way.
      if (Number.isFinite(this.#expireAfterMs))
        await query(`DELETE FROM ${this.#schema}.sessions WHERE id = $1 AND NOT ${this.#isThere}`, [id])
      const columns = '(id, created_at, updated_at)'
      await query(`INSERT INTO ${this.#schema}.sessions ${columns} VALUES ($1, ${now}, ${now}) ON CONFLICT (id) DO NOTHING`, [id])
    }
  }

  /** Appends, and lets go. */
  async #add(query: Query, { n, length, compaction: before }: Row, { messages, compaction, at }: Added): Promise<void> {
    const first = Math.min(Number(length), at ?? Number(length))
    if (at !== undefined) await query(`DELETE FROM ${this.#schema}.session_messages WHERE session = $1 AND at >= $2`, [n, first])
    const inserted = `INSERT INTO ${this.#schema}.session_messages (session, at, value)`
    const numbered = 'SELECT $1, $2 + new.at - 1, new.value FROM unnest($3::text[]) WITH ORDINALITY AS new (value, at)'
    if (messages.length > 0) await query(`${inserted} ${numbered}`, [n, first, messages])
    const kept = compaction ?? (at === undefined ? before : null)
    const added = `length = $2, compaction = $3, updated_at = ${now}`
    await query(`UPDATE ${this.#schema}.sessions SET ${noHold}, ${added} WHERE n = $1`, [n, first + messages.length, kept])
  }

  async #note(query: Query, { n, length }: Row, runId: string, outcome: 'stored' | 'released'): Promise<void> {
    await query(`INSERT INTO ${this.#schema}.session_runs (session, run, outcome, first) VALUES ($1, $2, $3, $4)`, [
      n,
      runId,
      outcome,
      length,
    ])
  }

  /** Does `work` on the claimed session, as long as the claim holds. */
  async #letGo({ id, runId, token }: Claim, work: (query: Query, row: Row) => Promise<void>): Promise<Kept> {
    try {
      return await this.#change(async (query): Promise<Kept> => {
        const row = await this.#found(query, id)
        if (row?.token === token) {
          await work(query, row)
          return 'kept'
        }
        if (row === undefined) return 'lost'
        const [past] = await query(`SELECT outcome FROM ${this.#schema}.session_runs WHERE session = $1 AND run = $2`, [row.n, runId])
        return past?.outcome === 'stored' ? 'stored' : 'lost'
      })
    } finally {
      // Also where it failed: nobody is to wait for it any longer.
      this.#held.delete(token)
      if (this.#held.size === 0) this.#stopRenewing()
    }
  }

  #hold(token: string): void {
    this.#held.add(token)
    this.#renewing ??= setInterval(() => void this.#renew(), this.#leaseMs / 3).unref()
  }

  #stopRenewing(): void {
    clearInterval(this.#renewing)
    this.#renewing = undefined
  }

  async #renew(): Promise<void> {
    const renewed = `UPDATE ${this.#schema}.sessions SET lease = ${now} + $3 WHERE owner = $1 AND token = ANY ($2)`
    // One that fails is made up for by the next; should they all fail, the sessions are lost, and whoever wants to store is told.
    await this.#pool.query(renewed, [this.#owner, [...this.#held], this.#leaseMs]).catch(() => undefined)
  }

  async #removeOlder(olderThanMs: number): Promise<number> {
    const old = `SELECT n FROM ${this.#schema}.sessions WHERE updated_at <= ${now} - $1::double precision AND ${free}`
    const locked = `${old} ORDER BY n LIMIT ${prunedAtOnce} FOR UPDATE SKIP LOCKED`
    return (await this.#query(`DELETE FROM ${this.#schema}.sessions WHERE n IN (${locked}) RETURNING n`, [olderThanMs])).length
  }

  /** A statement that may be done twice. */
  async #query(text: string, values: unknown[], tries?: number): Promise<Row[]> {
    await this.#ready()
    return withRetries(async () => (await this.#pool.query(text, values)).rows, tries)
  }

  async #change<T>(work: (query: Query) => Promise<T>, tries: number = manyTries): Promise<T> {
    await this.#ready()
    return withRetries(() => inTransaction(this.#pool, this.#leaseMs, work), tries)
  }

  /** Looks once whether the tables are there. */
  async #ready(): Promise<void> {
    if (this.#closed) throw closedStore()
    this.#checked ??= withRetries(() => checkTables(this.#pool, this.#schema, this.#name))
    try {
      await this.#checked
    } catch (error) {
      this.#checked = undefined
      throw error
    }
  }
}
