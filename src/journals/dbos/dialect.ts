import { InvalidOptionError } from '../../core/errors.ts'
import type { Dialect } from '../queries/dialect.ts'

/** The current time of the server, which all processes share. */
export const now = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

/** Checks the id of a run. Throws `invalid_option` for an id that PostgreSQL would refuse or change. */
export function checkRunId(runId: string): void {
  if (!runId.isWellFormed() || runId.includes('\0')) throw new InvalidOptionError('runId', 'well-formed Unicode without NUL', runId)
}

/** Replaces the characters that PostgreSQL can't store. */
export function plain(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD')
}

/** Returns the dialect for a schema. The name of the schema must be quoted. */
export function dialectOf(schema: string): Dialect {
  return {
    table: (name) => `${schema}.${name}`,
    text: plain,
    join: 'JOIN',
    contains: (text) => `strpos(${text}, ?) > 0`,
    isOneOf: (column) => `${column} = ANY(?)`,
    listOf: (values) => values,
    rowsAtOnce: 1_000,
  }
}
