import type { Dialect, Statement } from '../queries/dialect.ts'
import { plain } from './values.ts'

/** `schema` is quoted. */
export function dialectOf(schema: string): Dialect {
  return {
    table: (name) => `${schema}.${name}`,
    text: plain,
    join: 'JOIN',
    isOneOf: (column) => `${column} = ANY(?)`,
    listOf: (values) => values,
  }
}

/** A statement as `pg` takes it: its values are numbered. */
export function numbered({ sql, values }: Statement): [sql: string, values: unknown[]] {
  let at = 0
  return [sql.replaceAll('?', () => `$${++at}`), values]
}
