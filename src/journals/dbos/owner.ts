import { createHash } from 'node:crypto'
import type { Client } from 'pg'
import { doInTurn, rowsOf, sql, type Work } from '../../sql/statement.ts'
import type { Database } from './database.ts'
import type { Pg } from './load-dbos.ts'
import { checkSession } from './session.ts'

/**
 * How long the lock of an owner must be free before the owner counts as dead, in milliseconds. After a lost connection or a server restart,
 * a living owner gets its lock back sooner.
 */
const graceMs = 3_000
/** The delay before the next attempt to get a lock, in milliseconds. */
const retryMs = 200
/** The second number of the lock that `exclusively` uses. No owner has this number. */
const exclusive = 0

/** Settings of a session that holds locks: detect a vanished peer within seconds, and never end an idle session. */
const sessionSettings = {
  tcp_keepalives_idle: '3',
  tcp_keepalives_interval: '1',
  tcp_keepalives_count: '3',
  idle_session_timeout: '0',
  statement_timeout: '0',
  lock_timeout: '0',
}

/**
 * Determines which owners are alive, without comparing clocks. Each owner holds an advisory lock on its own connection. PostgreSQL releases
 * the lock when the process dies for any reason. A paused process keeps its lock.
 */
export class Owner {
  /** The number of this owner. No other owner of these runs ever has the same number. */
  readonly n: number
  readonly #database: Database
  /** The first of the two numbers of a lock. The second number is the number of the lock's owner. */
  readonly #lockClass: number
  readonly #connect: () => Client
  #client: Client
  #closed = false
  /** The number of the last period in which it was this owner's turn. */
  #turn: number | undefined
  /**
   * The owners whose lock was free: `since` is the time of the first check that found it free, `last` the time of the latest check. Valid
   * only while this owner continuously holds its own lock.
   */
  readonly #suspects = new Map<number, { since: number; last: number }>()

  private constructor(n: number, database: Database, schema: string, connect: () => Client) {
    this.n = n
    this.#database = database
    this.#lockClass = createHash('sha256').update(`toolloop ${schema}`).digest().readUInt32BE() >>> 1
    this.#connect = connect
    this.#client = connect()
  }

  /** Creates an owner with its own connection, and takes its lock. `schema` must be quoted. */
  static async open(database: Database, pg: Pg, { url, schema }: { url: string; schema: string }): Promise<Owner> {
    const [row] = await database.query('SELECT nextval($1) AS n', [`${schema}.owners`])
    const n = Number(row?.n)
    // PostgreSQL shows `application_name` in pg_stat_activity.
    const connect = () => new pg.Client({ connectionString: url, keepAlive: true, application_name: `toolloop owner ${n}` })
    const owner = new Owner(n, database, schema, connect)
    await owner.#lock()
    return owner
  }

  /**
   * Returns the owners that are certainly dead. An owner that died recently is not returned yet, because certainty takes a while. To wait
   * for it, use `surelyDead`.
   */
  *deadOf(owners: readonly number[]): Work<Set<number>> {
    const others = owners.filter((n) => n !== this.n)
    if (others.length === 0) return new Set()
    const held = yield* rowsOf(
      sql`SELECT objid::bigint AS n FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = ${this.#lockClass} AND objsubid = 2
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    )
    const alive = new Set(held.map(({ n }) => Number(n)))
    // If this owner has lost its own lock, it knows nothing about other owners: the server may have restarted, and all owners may be about
    // to get their locks back.
    if (!alive.has(this.n)) this.#suspects.clear()
    for (const n of alive) this.#suspects.delete(n)
    return new Set(alive.has(this.n) ? others.filter((n) => !alive.has(n) && this.#suspect(n) >= graceMs) : [])
  }

  /** Like `deadOf`, but waits until the answer is certain for every owner. */
  async surelyDead(owners: readonly number[]): Promise<Set<number>> {
    for (;;) {
      const dead = await doInTurn(this.deadOf(owners), this.#database.query)
      const undecided = owners.flatMap((n) => (dead.has(n) ? [] : (this.#suspects.get(n)?.since ?? [])))
      if (undecided.length === 0 || this.#closed) return dead
      const left = Math.max(10, Math.min(...undecided) + graceMs - performance.now())
      // The timer doesn't need to keep the process alive: while the journal is open, its connections do.
      await new Promise((resolve) => setTimeout(resolve, left).unref())
    }
  }

  /** Notes that the lock of an owner is free. Returns how long it has been free, in milliseconds. */
  #suspect(n: number): number {
    const now = performance.now()
    const known = this.#suspects.get(n)
    // After a long time without a check, the time starts again, because the owner may have had its lock meanwhile.
    const { since } = known === undefined || now - known.last > 2 * graceMs ? { since: now } : known
    this.#suspects.set(n, { since, last: now })
    return now - since
  }

  /** Runs `work` under an exclusive lock, so that only one owner at a time runs it. */
  async exclusively(work: () => Promise<void>): Promise<void> {
    const client = this.#client
    const lock = [this.#lockClass, exclusive]
    // Polls for the lock, because a statement that waits for a lock prevents others from creating an index, and `work` may create one.
    for (;;) {
      const { rows } = await client.query('SELECT pg_try_advisory_lock($1, $2) AS got', lock)
      if (rows[0]?.got === true) break
      await new Promise((resolve) => setTimeout(resolve, retryMs))
    }
    try {
      await work()
    } finally {
      await client.query('SELECT pg_advisory_unlock($1, $2)', lock).catch(() => {})
    }
  }

  /**
   * Returns true for one owner in each period, measured by the server's clock. The owner holds a lock that is valid for this period only,
   * so that a dead or paused owner can't block the next period.
   */
  async takesTurn(periodMs: number): Promise<boolean> {
    const turns = ~this.#lockClass
    const now = `SELECT (extract(epoch FROM clock_timestamp()) * 1000 / $2)::integer AS n`
    try {
      const { rows } = await this.#client.query(`SELECT n, pg_try_advisory_lock($1, n) AS got FROM (${now}) AS turn`, [turns, periodMs])
      if (rows[0]?.got !== true) return false
      if (this.#turn !== undefined) await this.#client.query('SELECT pg_advisory_unlock($1, $2)', [turns, this.#turn])
      this.#turn = Number(rows[0].n)
    } catch {
      // The connection is lost, so this owner can't know whose turn it is. Two owners in one period do no harm.
    }
    return true
  }

  /** Releases the lock, so that other owners see this owner as dead. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#client.end().catch(() => {})
  }

  /** Takes the lock, and takes it again whenever the connection is lost. Rejects if the first attempt fails. */
  async #lock(): Promise<void> {
    const client = this.#client
    // The error needs no handling here: a pending query rejects, and otherwise the connection's end is noticed.
    client.on('error', () => {})
    try {
      await client.connect()
      await checkSession(client, this.#database)
      // The query skips settings that this version of the server doesn't know.
      const settings = JSON.stringify(sessionSettings)
      await client.query('SELECT set_config(name, $1::jsonb ->> name, false) FROM pg_settings WHERE $1::jsonb ? name', [settings])
      // Waits until the server has noticed that the owner's earlier connection is lost.
      await client.query('SELECT pg_advisory_lock($1, $2)', [this.#lockClass, this.n])
    } catch (error) {
      await client.end().catch(() => {})
      throw error
    }
    client.on('end', () => void this.#lockAgain())
  }

  async #lockAgain(): Promise<void> {
    this.#suspects.clear()
    while (!this.#closed) {
      this.#client = this.#connect()
      try {
        return await this.#lock()
      } catch {
        // The server is not reachable yet.
        await new Promise((resolve) => setTimeout(resolve, retryMs))
      }
    }
  }
}
