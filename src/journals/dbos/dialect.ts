import type { Dialect } from '../queries/dialect.ts'
import { plain } from './values.ts'

/** `schema` is quoted. */
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
