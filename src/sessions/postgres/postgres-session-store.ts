import type { Claim, Claimed, ClaimRequest, NotClaimed, SessionStore } from '../../agent/sessions/session-store.ts'
import { closedStore } from '../../agent/sessions/session-store.ts'
import { doInTurn, type Work } from '../../sql/statement.ts'
import { prunedAtOnce, SessionWork } from '../session-work.ts'
import { checkTables, migrate, now } from './migrate.ts'
import { fewTries, inTransaction, manyTries, type PostgresPool, surviveLostConnections, withRetries } from './pool.ts'
import { postgresDialect } from './session-dialect.ts'

/** How the store works. */
export interface StoreOptions {
  pool: PostgresPool
  schema: string
  leaseMs: number
  expireAfterMs: number
}

/**
 * Sessions in PostgreSQL. A process says again and again that it is alive (`lease`): one that no longer does has lost its sessions, and what it
 * still wants to add is refused by its token.
 */
export class PostgresSessionStore implements SessionStore {
  readonly #pool: PostgresPool
  readonly #name: string
  readonly #schema: string
  readonly #leaseMs: number
  readonly #work: SessionWork
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
    this.#work = new SessionWork(postgresDialect({ schema: this.#schema, owner: this.#owner, leaseMs }), expireAfterMs)
  }

  async migrate(): Promise<void> {
    await withRetries(() => migrate(this.#pool, this.#schema, this.#name))
    this.#checked = undefined
  }

  async claim(id: string, request: ClaimRequest): Promise<Claimed | NotClaimed> {
    const token = crypto.randomUUID()
    const claimed = await this.#do(() => this.#work.claim(id, request, token))
    if (claimed.kind === 'claimed') this.#hold(token)
    return claimed
  }

  commit: SessionStore['commit'] = (claim, added) => this.#letGo(claim, () => this.#work.commit(claim, added))
  pause: SessionStore['pause'] = (claim, draft) => this.#letGo(claim, () => this.#work.pause(claim, draft))
  unclaim: SessionStore['unclaim'] = (claim, options) => this.#letGo(claim, () => this.#work.unclaim(claim, options))
  release: SessionStore['release'] = (...given) => this.#do(() => this.#work.release(...given))
  // By its number a run reads its session, which is worth waiting for.
  read: SessionStore['read'] = (session, range) =>
    this.#look(() => this.#work.read(session, range), typeof session === 'number' ? manyTries : fewTries)
  // Not tried again: nothing would tell that it has been done.
  append: SessionStore['append'] = (...given) => this.#do(() => this.#work.append(...given), 1)
  get: SessionStore['get'] = (id) => this.#look(() => this.#work.get(id))
  list: SessionStore['list'] = (query) => this.#look(() => this.#work.list(query))
  delete: SessionStore['delete'] = (id) => this.#do(() => this.#work.delete(id), fewTries)

  async prune(olderThanMs: number): Promise<number> {
    for (let deleted = 0; ; ) {
      const more = await this.#do(() => this.#work.prune(olderThanMs), fewTries)
      deleted += more
      // Not until there is none: sessions that change meanwhile could keep this from ending.
      if (more < prunedAtOnce) return deleted
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return
    clearInterval(this.#renewing)
    const left = `UPDATE ${this.#schema}.sessions SET owner = NULL, lease = NULL WHERE owner = $1`
    if (this.#held.size > 0) await this.#tried(() => this.#pool.query(left, [this.#owner]), fewTries)
    this.#closed = true
  }

  /** Work on a claimed session. */
  async #letGo<T>({ token }: Claim, work: () => Work<T>): Promise<T> {
    try {
      return await this.#do(work)
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

  /** Does the work in a transaction: again as a whole if the server could not be reached. */
  #do<T>(work: () => Work<T>, tries: number = manyTries): Promise<T> {
    return this.#tried(() => inTransaction(this.#pool, this.#leaseMs, (query) => doInTurn(work(), query)), tries)
  }

  /** The same of work that only reads, each statement by itself. */
  #look<T>(work: () => Work<T>, tries: number = fewTries): Promise<T> {
    return this.#tried(() => doInTurn(work(), async (text, values) => (await this.#pool.query(text, values)).rows), tries)
  }

  async #tried<T>(work: () => Promise<T>, tries: number): Promise<T> {
    await this.#ready()
    return withRetries(work, tries)
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
