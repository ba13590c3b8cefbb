import { callUnawaited, handleRejectionOf } from '../../core/callbacks/callbacks.ts'
import { messageOf, readableError, ToolloopError } from '../../core/errors.ts'

/** The result of a statement. */
export interface PostgresResult {
  rows: Record<string, unknown>[]
}

/** The parts of a `pg` client that are used. */
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<PostgresResult>
  release(error?: Error | boolean): void
  on(event: 'error', listener: (error: Error) => void): this
  off(event: 'error', listener: (error: Error) => void): unknown
}

/**
 * The parts of a `Pool` of `pg` 8 that are used; any object with these methods works. The caller owns it and ends it.
 *
 * Contract: queries are awaited. If one rejects with an error of a lost connection, it is tried again; otherwise, sessions reject with
 * `session_failed`.
 */
export interface PostgresPool {
  query(text: string, values?: unknown[]): Promise<PostgresResult>
  connect(callback: (error: Error | undefined, client: PostgresClient | undefined) => void): void
  /** Used to add a listener: without one, `pg` ends the process if an idle connection is lost. */
  on?(event: 'error', listener: (error: Error) => void): unknown
}

const listenedTo = new WeakSet<PostgresPool>()

/** Prevents a lost idle connection from ending the process. The pool opens another one. */
export function surviveLostConnections(pool: PostgresPool): void {
  if (!listenedTo.has(pool)) callUnawaited(() => pool.on?.('error', ignore))
  listenedTo.add(pool)
}

/** Executes a statement within a transaction. */
export type Query = (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>

/**
 * Runs `work` in a transaction. Rolls it back if `work` rejects, or if it leaves the server waiting longer than `idleMs`, for example
 * because the process hangs.
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
    // A client that can't roll back must not be reused.
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
 * Gets a connection whose end is not an uncaught error. Adds the listener in the callback, because a promise might be resolved after the
 * connection has ended.
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

/** Used to ignore an error that the next statement reports. */
function ignore(): void {}

/** Delays are 0.1, 0.2, 0.4, … s, up to 2 s. */
const firstPauseMs = 100
const longestPauseMs = 2_000
/** Retries for about three seconds. */
export const fewTries = 6
/** Retries for about half a minute, which is justified for a run's result. */
export const manyTries = 20

/**
 * Runs `work` again if the server could not be reached, for example during a restart. `work` must have the same effect however often it
 * runs, because a connection may be lost after the server has executed it. Rejects with `session_failed`.
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

/**
 * Classes of SQLSTATE: connections, resources, operator intervention; transactions to be retried.
 * https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const passingStates = /^(08|53|57P)|^(25P03|40001|40P01)$/
const passingCodes = /^E(CONNREFUSED|CONNRESET|PIPE|TIMEDOUT|NOTFOUND|AI_AGAIN|HOSTUNREACH|NETUNREACH)$/

function isPassing(error: unknown): boolean {
  const code = codeOf(error)
  if (typeof code === 'string') return passingStates.test(code) || passingCodes.test(code)
  // Errors of `pg` have no code if a connection ended or could not be obtained in time.
  return /connection terminated|connection ended|not queryable|timeout exceeded when trying to connect/i.test(messageOf(error))
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
}

/** Whether an error is about a missing table or schema. */
export function isMissing(error: unknown): boolean {
  return codeOf(error) === '42P01' || codeOf(error) === '3F000'
}

function postgresProblem(error: unknown): ToolloopError {
  if (ToolloopError.isInstance(error)) return error
  return new ToolloopError('session_failed', `The sessions in PostgreSQL can’t be used: ${messageOf(error)}`, { cause: error })
}
