/** The differences between SQLite and PostgreSQL. Statements have `?` for their values. */
export interface Dialect {
  /** The qualified name of a table. */
  table(name: string): string
  /** Makes a text storable. */
  text(text: string): string
  /** The operator that joins tables in the written order, even if the database would choose another. */
  join: string
  /** The condition that a text contains a value. */
  contains(text: string): string
  /** Condition: the value of the column is in the list that `listOf` has packed into a single value. */
  isOneOf(column: string): string
  listOf(values: readonly Value[]): unknown
  /** Maximum number of rows that one statement inserts. */
  rowsAtOnce: number
}

export type Value = string | number
