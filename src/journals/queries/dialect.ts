/** The differences between SQLite and PostgreSQL. The statements use `?` as the placeholder of a value. */
export interface Dialect {
  /** The qualified name of a table. */
  table(name: string): string
  /** Returns a form of the text that the database can store. */
  text(text: string): string
  /** The operator that joins tables in the written order, even if the database would choose another order. */
  join: string
  /** Returns the condition that a text contains a value. */
  contains(text: string): string
  /** Returns the condition that the value of the column is in the list that `listOf` has packed into a single value. */
  isOneOf(column: string): string
  listOf(values: readonly Value[]): unknown
  /** Maximum number of rows that one statement inserts. */
  rowsAtOnce: number
}

export type Value = string | number
