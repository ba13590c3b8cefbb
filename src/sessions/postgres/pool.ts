import { callUnawaited, handleRejectionOf } from '../../core/callbacks/callbacks.ts'
import { messageOf, readableError, ToolloopError } from '../../core/errors.ts'

/** The result of a statement. */
export interface PostgresResult {
  rows: Record<string, unknown>[]
}

/** The part of a `pg` client that is used. */
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<PostgresResult>
  release(error?: Error | boolean): void
  on(event: 'error', listener: (error: Error) => void): this
  off(event: 'error', listener: (error: Error) => void): unknown
}

/** The part of a `pg` 8 `Pool` that is used. Any other object with these functions works too. It is the caller's, who also ends it. */
export interface PostgresPool {
  query(text: string, values?: unknown[]): Promise<PostgresResult>
  connect(callback: (error: Error | undefined, client: PostgresClient | undefined) => void): void
  /** Listened to: `pg` ends the process of whoever does not when an idle connection is lost. */
  on?(event: 'error', listener: (error: Error) => void): unknown
}

const listenedTo = new WeakSet<PostgresPool>()

/** From now on a lost connection that nobody uses does not end the process. The pool makes another. */
export function surviveLostConnections(pool: PostgresPool): void {
  if (!listenedTo.has(pool)) callUnawaited(() => pool.on?.('error', ignore))
  listenedTo.add(pool)
}

/** A statement, within a transaction. */
export type Query = (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>

/** Undone as a whole if `work` rejects, or leaves the server waiting for longer than `idleMs`, as a process does that stands still. */
export async function inTransaction<T>(pool: PostgresPool, idleMs: number, work: (query: Query) => Promise<T>): Promise<T> {
  const client = await connectionOf(pool)
  let broken: Error | undefined
  try {
    await client.query(`BEGIN; SET LOCAL idle_in_transaction_session_timeout = ${idleMs}`)
    const value = await work(async (text, values) => (await client.query(text, values)).rows)
    await client.query('COMMIT')
    return value
  } catch (error) {
    // A client that can't even undo is of no use to others.
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

/** A connection whose end is not an uncaught error. Listened to in the callback: by the time a promise is, it may have ended. */
function connectionOf(pool: PostgresPool): Promise<PostgresClient> {
  return new Promise((resolve, reject) => {
    const connecting: unknown = pool.connect((error, client) => {
      if (client === undefined) reject(error)
      else resolve(client.on('error', ignore))
    })
    handleRejectionOf(connecting, reject)
  })
}

/** The next statement fails of it. */
function ignore(): void {}

/** Pauses are 0.1, 0.2, 0.4, … s, at most 2 s. */
const firstPauseMs = 100
const longestPauseMs = 2_000
/** About three seconds. */
export const fewTries = 6
/** About half a minute: what a run has come to is worth waiting for. */
export const manyTries = 20

/**
 * Does `work` again when the server could not be reached, as while it is restarted. It has to come to the same however often it is done: a
 * connection may be lost after the server has done it. Rejects with `session_failed`.
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

/** Classes of SQLSTATE: connections, resources, an operator's doing; transactions that have to be tried again. https://www.postgresql.org/docs/current/errcodes-appendix.html */
const passingStates = /^(08|53|57P)|^(25P03|40001|40P01)$/
const passingCodes = /^E(CONNREFUSED|CONNRESET|PIPE|TIMEDOUT|NOTFOUND|AI_AGAIN|HOSTUNREACH|NETUNREACH)$/

function isPassing(error: unknown): boolean {
  const code = codeOf(error)
  if (typeof code === 'string') return passingStates.test(code) || passingCodes.test(code)
  // What `pg` says of a connection that ends, or that it has waited for in vain, has no code.
  return /connection terminated|connection ended|not queryable|timeout exceeded when trying to connect/i.test(messageOf(error))
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
}

/** Of a table or schema that is not there. */
export function isMissing(error: unknown): boolean {
  return codeOf(error) === '42P01' || codeOf(error) === '3F000'
}

function postgresProblem(error: unknown): ToolloopError {
  if (ToolloopError.isInstance(error)) return error
  return new ToolloopError('session_failed', `The sessions in PostgreSQL can’t be used: ${messageOf(error)}`, { cause: error })
}
