import type { Dialect } from '../queries/dialect.ts'

export const sqlite: Dialect = {
  table: (name) => name,
  text: (text) => text,
  join: 'CROSS JOIN',
  contains: (text) => `instr(${text}, ?) > 0`,
  isOneOf: (column) => `${column} IN (SELECT value FROM json_each(?))`,
  listOf: (values) => JSON.stringify(values),
  // With one row per statement, a single prepared statement serves any number of rows.
  rowsAtOnce: 1,
}
