/** What SQLite and PostgreSQL write differently. Statements have `?` for their values. */
export interface Dialect {
  /** A table, as a statement names it. */
  table(name: string): string
  /** A text that the database takes. */
  text(text: string): string
  /** Joins tables in the order in which they are written, if the database would choose another. */
  join: string
  /** Whether a column has one of the values that `listOf` makes a single value of. */
  isOneOf(column: string): string
  listOf(values: readonly Value[]): unknown
}

export type Value = string | number
