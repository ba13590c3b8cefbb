import type { Pool, PoolClient } from 'pg'
import { digestOf } from '../../core/digest.ts'
import { ToolloopError } from '../../core/errors.ts'
import type { Pg } from './load-dbos.ts'
import { isPassing, journalProblem } from './problems.ts'

/** A row, by column name. The driver returns PostgreSQL's `bigint` as text. */
export type Row = Readonly<Record<string, unknown>>
/** Executes one statement. */
export type Query = (sql: string, values?: readonly unknown[]) => Promise<Row[]>

export interface DatabaseOptions {
  url: string
  /** Maximum number of connections. */
  connections: number
  /** How long a call retries while the server is unreachable, in milliseconds. */
  outageMs: number
}

/** The delay before a retry, in milliseconds. It starts with the first value and doubles up to the second. */
const pauses = [50, 2_000] as const
/** How long to wait for a connection, in milliseconds. */
const connectTimeoutMs = 10_000
/**
 * How long a transaction may be idle before the server ends it and releases its locks, in milliseconds. Without this limit, a process that
 * hangs in the middle of a transaction would keep its locks.
 */
const idleInTransactionMs = 30_000

/** Maximum number of different statements that are prepared for one pool. */
const mostPrepared = 200
/**
 * Maximum number of values of a prepared statement. Statements with more values are not prepared: they usually contain a list, so their
 * text changes with the length of the list.
 */
const mostValues = 30

/** Returns the name under which the connections of a pool prepare a statement. Returns undefined if the statement is not prepared. */
function preparedName(text: string, prepared: Map<string, string>): string | undefined {
  const known = prepared.get(text)
  // Statements with `*` are not prepared, because a prepared `SELECT *` fails once another process has added a column.
  if (known !== undefined || prepared.size >= mostPrepared || /(SELECT|RETURNING) \*/i.test(text)) return known
  // The name is a digest of the text. With numbers as names, two clients that share a session through a pooler could use the same name for
  // different statements.
  const name = `toolloop_${digestOf(text).slice(0, 32)}`
  prepared.set(text, name)
  return name
}

/**
 * Makes a connection prepare statements that have few values, including the statements of DBOS. The server then parses and plans each
 * statement only once.
 */
function prepareStatements(client: PoolClient, prepared: Map<string, string>): void {
  client.query = new Proxy(client.query, {
    apply: (query, self, [text, values, ...rest]: unknown[]) => {
      const isSuited = typeof text === 'string' && Array.isArray(values) && values.length > 0 && values.length <= mostValues
      const name = isSuited ? preparedName(text, prepared) : undefined
      return Reflect.apply(query, self, [name === undefined ? text : { name, text }, values, ...rest])
    },
  })
}

/** Creates a connection pool. A lost connection doesn't end the process: the next statement fails or gets another connection. */
export function openPool(pg: Pg, { url, connections }: Pick<DatabaseOptions, 'url' | 'connections'>): Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: connectTimeoutMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    keepAlive: true,
    application_name: 'toolloop',
  })
  // The listener is added as soon as the connection exists, because the connection may end before the pool hands it to a caller.
  const ignore = (): void => {}
  const prepared = new Map<string, string>()
  return pool.on('error', ignore).on('connect', (client) => {
    client.on('error', ignore)
    prepareStatements(client, prepared)
  })
}

/**
 * A PostgreSQL database. If the server restarts during a call, the call waits and is then repeated from its beginning. Calls must therefore
 * be safe to repeat.
 */
export class Database {
  /** The database's address without its password, for messages. */
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

  /** Executes a statement once, without retries. */
  attempt: Query = (sql, values) => rowsOf(this.pool, sql, values)

  /** Runs `work` in a transaction, which is rolled back if `work` throws. */
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

  /** Makes all calls fail: those that are waiting for the server, and later calls. */
  close(): void {
    this.#closed = true
  }

  /** Repeats `work` while the server is unreachable. */
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
