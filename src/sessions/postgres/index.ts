/** `toolloop/sessions/postgres`: stores conversations in PostgreSQL, where several machines can share them. */
import { type ExpiryOptions, expiryOf } from '../../agent/sessions/session-options.ts'
import { Sessions } from '../../agent/sessions/sessions.ts'
import { checkOptionNames, type OptionNames } from '../../core/check-options.ts'
import { InvalidOptionError } from '../../core/errors.ts'
import type { PostgresPool } from './pool.ts'
import { PostgresSessionStore } from './postgres-session-store.ts'

export type { PostgresClient, PostgresPool, PostgresResult } from './pool.ts'

/** Options of `postgresSessions`. */
export interface PostgresSessionsOptions extends ExpiryOptions {
  /** A `Pool` of `pg` 8. You own it: `close` does not end it. */
  pool: PostgresPool
  /** The schema of the tables. Default `'toolloop'`. */
  schema?: string
  /**
   * How long a process keeps its sessions after it stops responding, in milliseconds, at least 300. Other processes can use the sessions
   * after that. A running process renews its lease three times in each period. Default 30,000.
   */
  leaseMs?: number
}

const optionNames: OptionNames<PostgresSessionsOptions> = { pool: true, schema: true, leaseMs: true, expireAfterMs: true }

/** Sessions in PostgreSQL. */
export class PostgresSessions extends Sessions {
  readonly #store: PostgresSessionStore

  /** @internal */
  constructor(store: PostgresSessionStore) {
    super(store)
    this.#store = store
  }

  /**
   * Creates the schema and its tables (`sessions`, `session_messages`, `session_runs`, `session_schema`), or upgrades them. Several
   * processes may call `migrate` at the same time. Call it before the first run of a new version, with a database role that is allowed to
   * change the schema. The tables are never upgraded automatically. Rejects with `session_failed` if the migration fails.
   */
  async migrate(): Promise<void> {
    await this.#store.migrate()
  }
}

/**
 * Stores conversations in PostgreSQL 13 or newer, for processes on any number of machines. Throws `invalid_option` for invalid options. The
 * methods of the returned object reject with `session_failed` until `migrate` has created the tables.
 *
 * ```ts
 * const sessions = postgresSessions({ pool: new Pool({ connectionString }) })
 * await sessions.migrate()
 * const runner = new AgentRunner({ model, tools, sessions })
 * ```
 */
export function postgresSessions(options: PostgresSessionsOptions): PostgresSessions {
  checkOptionNames(options, optionNames, '`postgresSessions`')
  const { pool, schema = 'toolloop', leaseMs = 30_000 } = options
  if (typeof pool?.query !== 'function' || typeof pool.connect !== 'function') throw new InvalidOptionError('pool', 'a `Pool` of `pg`')
  if (typeof schema !== 'string' || schema === '' || schema.includes('\0')) throw new InvalidOptionError('schema', 'a name', schema)
  if (!Number.isSafeInteger(leaseMs) || leaseMs < 300) throw new InvalidOptionError('leaseMs', 'an integer ≥ 300', leaseMs)
  return new PostgresSessions(new PostgresSessionStore({ pool, schema, leaseMs, expireAfterMs: expiryOf(options) }))
}
