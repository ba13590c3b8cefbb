import { messageOf, ToolloopError } from '../../core/errors.ts'

const sharedSessions = 'a pooler shares its sessions between transactions: expected the server itself, or a pooler in session mode'

/** The PostgreSQL error codes that an operator can act on. https://www.postgresql.org/docs/current/errcodes-appendix.html */
const words: Readonly<Record<string, string>> = {
  '25006': 'it is read-only: expected the primary server',
  '26000': sharedSessions,
  '28000': 'the user is not allowed to log in',
  '28P01': 'the password is wrong',
  '3D000': 'the database does not exist',
  '42501': 'the user lacks a right: expected one who may create schemas, or whose schemas are there',
  '42P05': sharedSessions,
  '53100': 'its disk is full; what is recorded so far is safe',
  '53300': 'it has no connection left: expected `max_connections` to be higher, or `connections` to be lower',
}

/** Error codes that mean a temporarily unavailable server, or a transaction that must be retried. */
const passing =
  /^(08...|25P03|57P0[123]|53300|40001|40P01|E(CONNREFUSED|CONNRESET|TIMEDOUT|PIPE|NOTFOUND|AI_AGAIN|HOSTUNREACH|NETUNREACH))$/
/** Matches the messages of driver errors that have no code. */
const lostConnection = /connection terminated|connection error|not queryable|timeout exceeded when trying to connect|timeout expired/i

/** Whether the same call may succeed if it is retried. */
export function isPassing(error: unknown): boolean {
  const code = codeOf(error)
  return code === undefined ? lostConnection.test(messageOf(error)) : passing.test(code)
}

/** Converts an error from the database to an error that names the database and suggests a fix. */
export function journalProblem(error: unknown, database: string): ToolloopError {
  if (ToolloopError.isInstance(error)) return error
  const why = words[codeOf(error) ?? ''] ?? (isPassing(error) ? 'it can’t be reached' : undefined)
  const said = why === undefined ? messageOf(error) : `${why} (${messageOf(error)})`
  return new ToolloopError('journal_failed', `The journal in \`${database}\` can’t be used: ${said}`, { cause: error })
}

/** Finds the code of an error. If several addresses were tried, or if DBOS has wrapped the error, the code is in a nested error. */
function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  if ('code' in error && typeof error.code === 'string') return error.code
  if (error instanceof AggregateError) return codeOf(error.errors[0])
  return 'error' in error ? codeOf(error.error) : undefined
}
