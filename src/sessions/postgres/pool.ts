import { callUnawaited, handleRejectionOf } from '../../core/callbacks/callbacks.ts'
import { messageOf, readableError, ToolloopError } from '../../core/errors.ts'

/** The result of a statement. */
export interface PostgresResult {
  rows: Record<string, unknown>[]
}

/** The parts of a `pg` client that session stores use. */
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<PostgresResult>
  release(error?: Error | boolean): void
  on(event: 'error', listener: (error: Error) => void): this
  off(event: 'error', listener: (error: Error) => void): unknown
}

/**
 * The parts of a `Pool` of `pg` 8 that session stores use; any object with these methods works. The caller owns the pool and ends it.
 *
 * Contract: queries are awaited. A query that rejects because the connection was lost is retried. After any other rejection, sessions
 * reject with `session_failed`.
 */
export interface PostgresPool {
  query(text: string, values?: unknown[]): Promise<PostgresResult>
  connect(callback: (error: Error | undefined, client: PostgresClient | undefined) => void): void
  /** Adds a listener. Without a listener, `pg` ends the process if an idle connection is lost. */
  on?(event: 'error', listener: (error: Error) => void): unknown
}

const listenedTo = new WeakSet<PostgresPool>()

/** Prevents the loss of an idle connection from ending the process. The pool replaces the connection. */
export function surviveLostConnections(pool: PostgresPool): void {
  if (!listenedTo.has(pool)) callUnawaited(() => pool.on?.('error', ignore))
  listenedTo.add(pool)
}

/** Executes a statement within a transaction. */
export type Query = (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>

/**
 * Runs `work` in a transaction. The transaction is rolled back if `work` rejects. The server also rolls it back if no statement arrives for
 * `idleMs` milliseconds.
 */
export async function inTransaction<T>(pool: PostgresPool, idleMs: number, work: (query: Query) => Promise<T>): Promise<T> {
  const client = await connectionOf(pool)
  let broken: Error | undefined
  try {
    await client.query(`BEGIN; SET LOCAL idle_in_transaction_session_timeout = ${idleMs}`)
    const value = await work(async (text, values) => (await client.query(text, values)).rows)
    await client.query('COMMIT')
    return value
  } catch (error) {
    // If the rollback fails, the pool discards the client.
    broken = await failureOf(() => client.query('ROLLBACK'))
    throw error
  } finally {
    callUnawaited(() => client.off('error', ignore))
    callUnawaited(() => client.release(broken))
  }
}

async function failureOf(work: () => Promise<unknown>): Promise<Error | undefined> {
  try {
    await work()
    return undefined
  } catch (error) {
    const failure = readableError(error)
    return failure instanceof Error ? failure : new Error(messageOf(failure))
  }
}

/**
 * Gets a connection whose errors don't become uncaught exceptions. The listener must be added in the callback: after a promise has
 * resolved, it may be too late.
 */
function connectionOf(pool: PostgresPool): Promise<PostgresClient> {
  return new Promise((resolve, reject) => {
    const connecting: unknown = pool.connect((error, client) => {
      if (client === undefined) reject(error)
      else resolve(client.on('error', ignore))
    })
    handleRejectionOf(connecting, reject)
  })
}

/** Ignores an error of a connection, because the next statement on the connection rejects. */
function ignore(): void {}

/** The pauses between retries are 0.1, 0.2, 0.4, … s, up to 2 s. */
const firstPauseMs = 100
const longestPauseMs = 2_000
/** The number of attempts for most work. With the pauses, they take about three seconds. */
export const fewTries = 6
/** The number of attempts to store a run's result. With the pauses, they take about half a minute. */
export const manyTries = 20

/**
 * Runs `work` again if the server could not be reached, for example during a restart. `work` must be idempotent, because a connection may
 * be lost after the server has executed it. Rejects with `session_failed` if the last attempt fails, too.
 */
export async function withRetries<T>(work: () => Promise<T>, tries: number = fewTries): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await work()
    } catch (error) {
      if (tried === tries || !isPassing(error)) throw postgresProblem(error)
      await new Promise((resolve) => setTimeout(resolve, Math.min(longestPauseMs, firstPauseMs * 2 ** (tried - 1))))
    }
  }
}

/** SQLSTATE codes of problems that a retry can solve. https://www.postgresql.org/docs/current/errcodes-appendix.html */
const passingStates = /^(08|53|57P)|^(25P03|40001|40P01)$/
const passingCodes = /^E(CONNREFUSED|CONNRESET|PIPE|TIMEDOUT|NOTFOUND|AI_AGAIN|HOSTUNREACH|NETUNREACH)$/

function isPassing(error: unknown): boolean {
  const code = codeOf(error)
  if (typeof code === 'string') return passingStates.test(code) || passingCodes.test(code)
  // These errors of `pg` have no code.
  return /connection terminated|connection ended|not queryable|timeout exceeded when trying to connect/i.test(messageOf(error))
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
}

/** Whether a statement failed because a table or schema doesn't exist. */
export function isMissing(error: unknown): boolean {
  return codeOf(error) === '42P01' || codeOf(error) === '3F000'
}

function postgresProblem(error: unknown): ToolloopError {
  if (ToolloopError.isInstance(error)) return error
  return new ToolloopError('session_failed', `The sessions in PostgreSQL can’t be used: ${messageOf(error)}`, { cause: error })
}
