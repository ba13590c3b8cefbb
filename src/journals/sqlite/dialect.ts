import type { SQLOutputValue } from 'node:sqlite'
import type { Dialect, Statement } from '../queries/dialect.ts'

export const sqlite: Dialect = {
  table: (name) => name,
  text: (text) => text,
  join: 'CROSS JOIN',
  isOneOf: (column) => `${column} IN (SELECT value FROM json_each(?))`,
  listOf: (values) => JSON.stringify(values),
}

/** A statement as `Statements` takes it. */
export function given({ sql, values }: Statement): [sql: string, ...values: SQLOutputValue[]] {
  return [sql, ...(values as SQLOutputValue[])]
}
