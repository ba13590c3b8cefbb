import type { Dialect } from '../queries/dialect.ts'

export const sqlite: Dialect = {
  table: (name) => name,
  text: (text) => text,
  join: 'CROSS JOIN',
  contains: (text) => `instr(${text}, ?) > 0`,
  isOneOf: (column) => `${column} IN (SELECT value FROM json_each(?))`,
  listOf: (values) => JSON.stringify(values),
  // Inserts rows one at a time, because each number of rows would need its own prepared statement in the cache.
  rowsAtOnce: 1,
}
