import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import type { Statement } from '../sql/statement.ts'

export type Row = Record<string, SQLOutputValue>
type Value = SQLOutputValue | undefined

/** Caches prepared statements by their text. Undefined is bound as NULL. */
export class Statements {
  readonly #database: DatabaseSync
  readonly #prepared = new Map<string, StatementSync>()

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  run(sql: string, ...values: Value[]): ReturnType<StatementSync['run']> {
    return this.#prepare(sql).run(...values.map((value) => value ?? null))
  }

  one(sql: string, ...values: Value[]): Row | undefined {
    return this.#prepare(sql).get(...values.map((value) => value ?? null))
  }

  all(sql: string, ...values: Value[]): Row[] {
    return this.#prepare(sql).all(...values.map((value) => value ?? null))
  }

  /** Iterates over the rows. Use it for results that are large, or that may not be read to the end. */
  each(sql: string, ...values: Value[]): Iterable<Row> {
    return this.#prepare(sql).iterate(...values.map((value) => value ?? null))
  }

  eachOf({ sql, values }: Statement): Iterable<Row> {
    return this.each(sql, ...(values as Value[]))
  }

  rowsOf({ sql, values }: Statement): Row[] {
    return this.all(sql, ...(values as Value[]))
  }

  #prepare(sql: string): StatementSync {
    const statement = this.#prepared.get(sql) ?? this.#database.prepare(sql)
    this.#prepared.set(sql, statement)
    return statement
  }
}
