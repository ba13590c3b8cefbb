/** The differences between SQLite and PostgreSQL. In all statements, `?` is the placeholder of a value. */
export interface Dialect {
  /** The qualified name of a table. */
  table(name: string): string
  /** Replaces the characters that the database can't store. */
  text(text: string): string
  /** The `JOIN` operator. In SQLite, it makes the database read the tables in the written order. */
  join: string
  contains(text: string): string
  /** Returns the condition that a column has one of the values in a list. The list is passed as one value, made by `listOf`. */
  isOneOf(column: string): string
  listOf(values: readonly Value[]): unknown
  /** Maximum number of rows that one statement inserts. */
  rowsAtOnce: number
}

export type Value = string | number
