import { messageOf, ToolloopError } from '../../core/errors.ts'

/** Of PostgreSQL's error codes those that say something to whoever keeps the database. https://www.postgresql.org/docs/current/errcodes-appendix.html */
const words: Readonly<Record<string, string>> = {
  '25006': 'it is read-only: expected the primary server',
  '28000': 'the user may not log in',
  '28P01': 'the password is wrong',
  '3D000': 'there is no such database',
  '42501': 'the user lacks a right: expected one who may create schemas, or whose schemas are there',
  '53100': 'its disk is full; what is recorded so far is safe',
  '53300': 'it has no connection left: expected `max_connections` to be higher, or `connections` to be lower',
}

/** Codes of a server that is not there for a while, and of transactions that only have to be tried again. */
const passing =
  /^(08...|25P03|57P0[123]|53300|40001|40P01|E(CONNREFUSED|CONNRESET|TIMEDOUT|PIPE|NOTFOUND|AI_AGAIN|HOSTUNREACH|NETUNREACH))$/
/** What the driver says without a code. */
const lostConnection = /connection terminated|connection error|not queryable|timeout exceeded when trying to connect|timeout expired/i

/** Whether the same may work when it is tried again. */
export function isPassing(error: unknown): boolean {
  const code = codeOf(error)
  return code === undefined ? lostConnection.test(messageOf(error)) : passing.test(code)
}

/** Anything that was thrown while the database was used, in words that say which database and what to do. */
export function journalProblem(error: unknown, database: string): ToolloopError {
  if (ToolloopError.isInstance(error)) return error
  const why = words[codeOf(error) ?? ''] ?? (isPassing(error) ? 'it can’t be reached' : undefined)
  const said = why === undefined ? messageOf(error) : `${why} (${messageOf(error)})`
  return new ToolloopError('journal_failed', `The journal in \`${database}\` can’t be used: ${said}`, { cause: error })
}

/** Also of one of several addresses that were tried, and of what DBOS says in its own words. */
function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  if ('code' in error && typeof error.code === 'string') return error.code
  if (error instanceof AggregateError) return codeOf(error.errors[0])
  return 'error' in error ? codeOf(error.error) : undefined
}
