import type { Claim, Claimed, ClaimRequest, NotClaimed, SessionStore } from '../../agent/sessions/session-store.ts'
import { closedStore } from '../../agent/sessions/session-store.ts'
import { doInTurn, type Work } from '../../sql/statement.ts'
import { prunedAtOnce, SessionWork } from '../session-work.ts'
import { checkTables, migrate, now } from './migrate.ts'
import { fewTries, inTransaction, manyTries, type PostgresPool, surviveLostConnections, withRetries } from './pool.ts'
import { postgresDialect } from './session-dialect.ts'

export interface StoreOptions {
  pool: PostgresPool
  schema: string
  leaseMs: number
  expireAfterMs: number
}

/**
 * Stores sessions in PostgreSQL. A process renews the leases of its sessions regularly. If it doesn't, another process can claim the
 * sessions; the changes of the first process are then refused.
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
  // Only runs pass a number. Their reads are retried more often, because a run fails if it can't read its session.
  read: SessionStore['read'] = (session, range) =>
    this.#look(() => this.#work.read(session, range), typeof session === 'number' ? manyTries : fewTries)
  // Not retried, because the first attempt may have succeeded, and a retry would append the messages twice.
  append: SessionStore['append'] = (...given) => this.#do(() => this.#work.append(...given), 1)
  get: SessionStore['get'] = (id) => this.#look(() => this.#work.get(id))
  list: SessionStore['list'] = (query) => this.#look(() => this.#work.list(query))
  delete: SessionStore['delete'] = (id) => this.#do(() => this.#work.delete(id), fewTries)

  async prune(olderThanMs: number): Promise<number> {
    for (let deleted = 0; ; ) {
      const more = await this.#do(() => this.#work.prune(olderThanMs), fewTries)
      deleted += more
      // A batch that is not full is the last one. Continuing until a batch is empty could take forever, because more sessions expire in the
      // meantime.
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

  /** Runs `work` on a claimed session, and stops renewing the claim. */
  async #letGo<T>({ token }: Claim, work: () => Work<T>): Promise<T> {
    try {
      return await this.#do(work)
    } finally {
      // The claim is no longer renewed even if `work` has failed, so that it expires and others can use the session.
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
    // Errors are ignored, because the next renewal may succeed. If none succeeds, the run notices the loss of its session
    // when it stores its messages.
    await this.#pool.query(renewed, [this.#owner, [...this.#held], this.#leaseMs]).catch(() => undefined)
  }

  /** Runs the statements of `work` in a transaction. Repeats the transaction if the server could not be reached. */
  #do<T>(work: () => Work<T>, tries: number = manyTries): Promise<T> {
    return this.#tried(() => inTransaction(this.#pool, this.#leaseMs, (query) => doInTurn(work(), query)), tries)
  }

  /** Runs statements that only read, without a transaction. */
  #look<T>(work: () => Work<T>, tries: number = fewTries): Promise<T> {
    return this.#tried(() => doInTurn(work(), async (text, values) => (await this.#pool.query(text, values)).rows), tries)
  }

  async #tried<T>(work: () => Promise<T>, tries: number): Promise<T> {
    await this.#ready()
    return withRetries(work, tries)
  }

  /** Checks that the tables exist. After the first success, the check is skipped. */
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
