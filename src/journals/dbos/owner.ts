import { createHash } from 'node:crypto'
import type { Client } from 'pg'
import { doInTurn, rowsOf, sql, type Work } from '../../sql/statement.ts'
import type { Database } from './database.ts'
import type { Pg } from './load-dbos.ts'
import { checkSession } from './session.ts'

/**
 * How long an owner must be without its lock before it counts as dead, in milliseconds. After a lost connection or a server restart, a
 * living owner gets its lock back sooner than that.
 */
const graceMs = 3_000
/** The delay before the next attempt to get a lock, in milliseconds. */
const retryMs = 200
/** The second number of an exclusive lock. No owner has this number. */
const exclusive = 0

/** Detects connections whose other end has vanished, in seconds, and disables timeouts of idle sessions. */
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
  /** The owner's number, which no earlier owner of these runs has had. */
  readonly n: number
  readonly #database: Database
  /** The first of the two numbers of a lock. The second is its owner's number. */
  readonly #lockClass: number
  readonly #connect: () => Client
  #client: Client
  #closed = false
  /** The last turn that this owner has taken. */
  #turn: number | undefined
  /**
   * Owners seen without their lock: `since` is the time of the first look that found no lock, `last` that of the latest look. Valid only
   * while this owner continuously holds its own lock.
   */
  readonly #suspects = new Map<number, { since: number; last: number }>()

  private constructor(n: number, database: Database, schema: string, connect: () => Client) {
    this.n = n
    this.#database = database
    this.#lockClass = createHash('sha256').update(`toolloop ${schema}`).digest().readUInt32BE() >>> 1
    this.#connect = connect
    this.#client = connect()
  }

  /** `schema` is quoted. */
  static async open(database: Database, pg: Pg, { url, schema }: { url: string; schema: string }): Promise<Owner> {
    const [row] = await database.query('SELECT nextval($1) AS n', [`${schema}.owners`])
    const n = Number(row?.n)
    // The name is shown in pg_stat_activity.
    const connect = () => new pg.Client({ connectionString: url, keepAlive: true, application_name: `toolloop owner ${n}` })
    const owner = new Owner(n, database, schema, connect)
    await owner.#lock()
    return owner
  }

  /** Returns the owners that are certainly dead. It takes a while until this is certain. To wait for that, use `surelyDead`. */
  *deadOf(owners: readonly number[]): Work<Set<number>> {
    const others = owners.filter((n) => n !== this.n)
    if (others.length === 0) return new Set()
    const held = yield* rowsOf(
      sql`SELECT objid::bigint AS n FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = ${this.#lockClass} AND objsubid = 2
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    )
    const alive = new Set(held.map(({ n }) => Number(n)))
    // Without its own lock, this owner knows nothing about others: the server may have restarted, and all owners may be about to get their
    // locks back.
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
      // The journal's connections keep the process alive while the journal is open.
      await new Promise((resolve) => setTimeout(resolve, left).unref())
    }
  }

  /** Returns how long an owner has been seen without its lock, in milliseconds. */
  #suspect(n: number): number {
    const now = performance.now()
    const known = this.#suspects.get(n)
    // If the last look is too long ago, the owner may have had its lock meanwhile.
    const { since } = known === undefined || now - known.last > 2 * graceMs ? { since: now } : known
    this.#suspects.set(n, { since, last: now })
    return now - since
  }

  /** Runs `work` under an exclusive lock, so that only one owner does so at a time. */
  async exclusively(work: () => Promise<void>): Promise<void> {
    const client = this.#client
    const lock = [this.#lockClass, exclusive]
    // Polls, because a statement that waits for a lock prevents others from creating an index, which may be what the holder does.
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
      // The connection is lost. Two owners at once do no harm.
    }
    return true
  }

  /** Releases the lock, so that other owners see this owner as dead. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#client.end().catch(() => {})
  }

  /** Gets the lock, and gets it again whenever its connection is lost. Rejects if the first attempt fails. */
  async #lock(): Promise<void> {
    const client = this.#client
    // A pending query rejects by itself; otherwise the connection ends.
    client.on('error', () => {})
    try {
      await client.connect()
      await checkSession(client, this.#database)
      // Leaves out settings that this server version doesn't know.
      const settings = JSON.stringify(sessionSettings)
      await client.query('SELECT set_config(name, $1::jsonb ->> name, false) FROM pg_settings WHERE $1::jsonb ? name', [settings])
      // If the server has not noticed yet that our earlier connection is lost, this call waits until it does.
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
