import type { Pool, PoolClient } from 'pg'
import { ToolloopError } from '../../core/errors.ts'
import type { Pg } from './load-dbos.ts'
import { isPassing, journalProblem } from './problems.ts'

/** A row, by its columns' names. PostgreSQL's `bigint` arrives as text. */
export type Row = Readonly<Record<string, unknown>>
/** One statement. */
export type Query = (sql: string, values?: readonly unknown[]) => Promise<Row[]>

export interface DatabaseOptions {
  url: string
  /** Most connections at once. */
  connections: number
  /** How long a call goes on trying where the server can't be reached, in milliseconds. */
  outageMs: number
}

/** How long after one attempt the next comes, in milliseconds: twice as long each time, at most the second. */
const pauses = [50, 2_000] as const
/** How long a connection may take, in milliseconds. */
const connectTimeoutMs = 10_000
/** How long a process that stands still in the middle of a transaction keeps its locks, in milliseconds. */
const idleInTransactionMs = 30_000

/** A pool that loses connections without ending the process: the next statement fails, or gets another connection. */
export function openPool(pg: Pg, { url, connections }: Pick<DatabaseOptions, 'url' | 'connections'>): Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: connectTimeoutMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    keepAlive: true,
    application_name: 'toolloop',
  })
  // From the moment there is a connection: whoever waits for it is told only later, and it may have ended by then.
  const ignore = (): void => {}
  return pool.on('error', ignore).on('connect', (client) => client.on('error', ignore))
}

/**
 * A PostgreSQL database. Calls wait for a server that is restarted, and are then made again as a whole: what they do has to be the same when it
 * is done twice.
 */
export class Database {
  /** For messages: without the password. */
  readonly name: string
  readonly pool: Pool
  readonly #outageMs: number
  #closed = false

  constructor(pg: Pg, options: DatabaseOptions) {
    this.name = nameOf(options.url)
    this.#outageMs = options.outageMs
    this.pool = openPool(pg, options)
  }

  query: Query = (sql, values) => this.persistently(() => rowsOf(this.pool, sql, values))

  /** Made once: for what is not worth waiting for. */
  attempt: Query = (sql, values) => rowsOf(this.pool, sql, values)

  /** Rolled back if `work` throws. */
  transaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    return this.persistently(() => this.#once(work))
  }

  async #once<T>(work: (query: Query) => Promise<T>): Promise<T> {
    const client = await this.pool.connect()
    let broken: Error | undefined
    try {
      await client.query('BEGIN')
      const value = await work((sql, values) => rowsOf(client, sql, values))
      await client.query('COMMIT')
      return value
    } catch (error) {
      await client.query('ROLLBACK').catch((problem: Error) => {
        broken = problem
      })
      throw error
    } finally {
      client.release(broken)
    }
  }

  /** Makes the calls after this one, and those that wait for the server, fail. */
  close(): void {
    this.#closed = true
  }

  /** Does `work` again while the server can't be reached. */
  async persistently<T>(work: () => Promise<T>): Promise<T> {
    const until = performance.now() + this.#outageMs
    for (let pause: number = pauses[0]; ; pause = Math.min(pause * 2, pauses[1])) {
      if (this.#closed) throw new ToolloopError('journal_failed', `The journal in \`${this.name}\` can’t be used: it was closed`)
      try {
        return await work()
      } catch (error) {
        if (!isPassing(error) || performance.now() + pause > until) throw journalProblem(error, this.name)
      }
      await new Promise((resolve) => setTimeout(resolve, pause))
    }
  }
}

async function rowsOf(connection: Pool | PoolClient, sql: string, values: readonly unknown[] = []): Promise<Row[]> {
  return (await connection.query<Row>(sql, [...values])).rows
}

function nameOf(url: string): string {
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}
