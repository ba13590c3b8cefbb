import { createHash } from 'node:crypto'
import type { Client } from 'pg'
import { doInTurn, rowsOf, sql, type Work } from '../../sql/statement.ts'
import type { Database } from './database.ts'
import type { Pg } from './load-dbos.ts'
import { checkSession } from './session.ts'

/**
 * How long the lock of an owner must be free before the owner counts as dead, in milliseconds. An owner that has only lost its connection
 * gets its lock back sooner.
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
  /** The number of the last period in which `takesTurn` returned true. */
  #turn: number | undefined
  /**
   * The owners whose lock was free. `since`: the first check that found the lock free. `last`: the latest such check. Valid only while this
   * owner holds its own lock.
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
   * Returns the owners that are certainly dead. A dead owner is missing until its lock has been seen free for `graceMs`; `surelyDead` waits
   * for this time.
   */
  *deadOf(owners: readonly number[]): Work<Set<number>> {
    const others = owners.filter((n) => n !== this.n)
    if (others.length === 0) return new Set()
    const held = yield* rowsOf(
      sql`SELECT objid::bigint AS n FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = ${this.#lockClass} AND objsubid = 2
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    )
    const alive = new Set(held.map(({ n }) => Number(n)))
    // If this owner has lost its own lock, the server may have restarted, and every owner may have lost its lock. Free locks then prove
    // nothing.
    if (!alive.has(this.n)) this.#suspects.clear()
    for (const n of alive) this.#suspects.delete(n)
    return new Set(alive.has(this.n) ? others.filter((n) => !alive.has(n) && this.#suspect(n) >= graceMs) : [])
  }

  /** Like `deadOf`, but waits until it is certain for every owner whether it is alive. */
  async surelyDead(owners: readonly number[]): Promise<Set<number>> {
    for (;;) {
      const dead = await doInTurn(this.deadOf(owners), this.#database.query)
      const undecided = owners.flatMap((n) => (dead.has(n) ? [] : (this.#suspects.get(n)?.since ?? [])))
      if (undecided.length === 0 || this.#closed) return dead
      const left = Math.max(10, Math.min(...undecided) + graceMs - performance.now())
      // The timer need not keep the process alive, because the open connections do.
      await new Promise((resolve) => setTimeout(resolve, left).unref())
    }
  }

  /** Records that the lock of an owner is free. Returns how long the lock has been free, in milliseconds. */
  #suspect(n: number): number {
    const now = performance.now()
    const known = this.#suspects.get(n)
    // If the last check was long ago, the owner may have held its lock since then, so the time starts again.
    const { since } = known === undefined || now - known.last > 2 * graceMs ? { since: now } : known
    this.#suspects.set(n, { since, last: now })
    return now - since
  }

  /** Runs `work` under an exclusive lock, so that only one owner at a time runs it. */
  async exclusively(work: () => Promise<void>): Promise<void> {
    const client = this.#client
    const lock = [this.#lockClass, exclusive]
    // Polls for the lock instead of waiting in a statement: a waiting statement would keep other processes from creating an index in their
    // `work`.
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
   * Returns true for one owner in each period, measured by the server's clock. Each period has its own lock, so a paused owner can't block
   * the next period.
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
      // The connection is lost, so this owner can't know whether it is its turn. Returning true is safe: two owners in one period do no
      // harm.
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
    // Without a listener, an error would end the process. The error itself is handled by the pending query, or by the listener for `end`.
    client.on('error', () => {})
    try {
      await client.connect()
      await checkSession(client, this.#database)
      // Joins `pg_settings`, so that settings that this server doesn't know are skipped.
      const settings = JSON.stringify(sessionSettings)
      await client.query('SELECT set_config(name, $1::jsonb ->> name, false) FROM pg_settings WHERE $1::jsonb ? name', [settings])
      // Waits until the server has closed this owner's earlier connection, which still holds the lock.
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
        // Errors are ignored: the server is not reachable yet.
        await new Promise((resolve) => setTimeout(resolve, retryMs))
      }
    }
  }
}
