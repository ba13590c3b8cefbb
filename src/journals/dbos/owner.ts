import { createHash } from 'node:crypto'
import type { Client } from 'pg'
import { doInTurn, rowsOf, sql, type Work } from '../../sql/statement.ts'
import type { Database } from './database.ts'
import type { Pg } from './load-dbos.ts'
import { checkSession } from './session.ts'

/**
 * How long an owner has to be without its lock until it counts as dead, in milliseconds: a living one that has lost its connection, or whose
 * server was restarted, has it again by then.
 */
const graceMs = 3_000
/** How long after one attempt to get a lock the next comes, in milliseconds. */
const retryMs = 200
/** No owner has this number. */
const exclusive = 0

/** What keeps a connection whose other end has vanished from being taken for a living one, in seconds; and what would end an idle one. */
const sessionSettings = {
  tcp_keepalives_idle: '3',
  tcp_keepalives_interval: '1',
  tcp_keepalives_count: '3',
  idle_session_timeout: '0',
  statement_timeout: '0',
  lock_timeout: '0',
}

/**
 * Who is alive, without clocks: each owner holds an advisory lock on a connection of its own, and PostgreSQL lets go of it when the process dies,
 * however it dies. A process that is only paused keeps its lock.
 */
export class Owner {
  /** Its number, which no other owner of these runs has had. */
  readonly n: number
  readonly #database: Database
  /** The first of the two numbers that a lock has; the second is its owner's. */
  readonly #lockClass: number
  readonly #connect: () => Client
  #client: Client
  #closed = false
  /** Owners that are seen without their lock, and since when, as long as we have had ours without a break. */
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
    // As pg_stat_activity shows it.
    const connect = () => new pg.Client({ connectionString: url, keepAlive: true, application_name: `toolloop owner ${n}` })
    const owner = new Owner(n, database, schema, connect)
    await owner.#lock()
    return owner
  }

  /** Of those, the owners that have died. That others have is certain only later: see `surelyDead`. */
  *deadOf(owners: readonly number[]): Work<Set<number>> {
    const others = owners.filter((n) => n !== this.n)
    if (others.length === 0) return new Set()
    const held = yield* rowsOf(
      sql`SELECT objid::bigint AS n FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = ${this.#lockClass} AND objsubid = 2
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    )
    const alive = new Set(held.map(({ n }) => Number(n)))
    // Without our own lock nothing is known: the server may have been restarted, and all are about to get theirs again.
    if (!alive.has(this.n)) this.#suspects.clear()
    for (const n of alive) this.#suspects.delete(n)
    return new Set(alive.has(this.n) ? others.filter((n) => !alive.has(n) && this.#suspect(n) >= graceMs) : [])
  }

  /** As `deadOf`, but waits until it is certain of each. */
  async surelyDead(owners: readonly number[]): Promise<Set<number>> {
    for (;;) {
      const dead = await doInTurn(this.deadOf(owners), this.#database.query)
      const undecided = owners.flatMap((n) => (dead.has(n) ? [] : (this.#suspects.get(n)?.since ?? [])))
      if (undecided.length === 0 || this.#closed) return dead
      const left = Math.max(10, Math.min(...undecided) + graceMs - performance.now())
      // As long as the journal is open, its connections keep the process from ending.
      await new Promise((resolve) => setTimeout(resolve, left).unref())
    }
  }

  /** For how long that owner has been seen without its lock, in milliseconds. */
  #suspect(n: number): number {
    const now = performance.now()
    const known = this.#suspects.get(n)
    // Where nobody has looked for long, it may have had its lock meanwhile.
    const { since } = known === undefined || now - known.last > 2 * graceMs ? { since: now } : known
    this.#suspects.set(n, { since, last: now })
    return now - since
  }

  /** Does `work` while no other owner does such work. */
  async exclusively(work: () => Promise<void>): Promise<void> {
    const client = this.#client
    const lock = [this.#lockClass, exclusive]
    // Asked again and again: a statement that waits for a lock keeps others from making an index, which may be what its holder does.
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

  /** From now on this owner is dead to everybody. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#client.end().catch(() => {})
  }

  /** Gets the lock, and gets it again whenever its connection is lost. Rejects where the first attempt fails. */
  async #lock(): Promise<void> {
    const client = this.#client
    // What is being asked fails because of it; else the connection ends.
    client.on('error', () => {})
    try {
      await client.connect()
      await checkSession(client, this.#database)
      // Of them, those that this version has.
      const settings = JSON.stringify(sessionSettings)
      await client.query('SELECT set_config(name, $1::jsonb ->> name, false) FROM pg_settings WHERE $1::jsonb ? name', [settings])
      // Where the server still takes an earlier connection of ours to be alive, this waits until it doesn't.
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
        // The server is not there yet.
        await new Promise((resolve) => setTimeout(resolve, retryMs))
      }
    }
  }
}
