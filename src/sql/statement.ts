/** A statement, or a part of one: `?` stands for each of its values. */
export class Statement {
  readonly sql: string
  readonly values: readonly unknown[]

  constructor(sql: string, values: readonly unknown[] = []) {
    this.sql = sql
    this.values = values
  }
}

/** A statement of a template: statements in it become parts of it, all else is bound as a value. */
export function sql(texts: TemplateStringsArray, ...given: readonly unknown[]): Statement {
  let text = texts[0] ?? ''
  const values: unknown[] = []
  for (const [at, value] of given.entries()) {
    if (value instanceof Statement) values.push(...value.values)
    else values.push(value ?? null)
    text += (value instanceof Statement ? value.sql : '?') + texts[at + 1]
  }
  return new Statement(text, values)
}

/** Parts with a text between them. */
export function joined(parts: readonly Statement[], separator: string): Statement {
  return new Statement(
    parts.map((part) => part.sql).join(separator),
    parts.flatMap(({ values }) => values),
  )
}

/** A row, by its columns' names. */
export type Row = Readonly<Record<string, unknown>>

/** Work on a database, written once for all of them: it yields statements, and gets the rows of each. */
export type Work<T> = Generator<Statement, T, readonly Row[]>

export function* rowsOf(statement: Statement): Work<readonly Row[]> {
  return yield statement
}

export function* firstOf(statement: Statement): Work<Row | undefined> {
  return (yield statement)[0]
}

/** Work that needs no statement. */
export function* given<T>(value: T): Work<T> {
  yield* []
  return value
}

/** What work comes to. */
export type ResultOf<Done> = Done extends Work<infer T> ? T : Done

export function isWork(value: unknown): value is Work<unknown> {
  return typeof value === 'object' && value !== null && 'next' in value && 'throw' in value
}

/** Does the work on a database that answers at once. */
export function doAtOnce<T>(work: Work<T>, query: (statement: Statement) => readonly Row[]): T {
  let next = work.next()
  while (next.done !== true) next = work.next(query(next.value))
  return next.value
}

/** Does the work on a database that answers later, and takes `$1`, `$2`, … for values. */
export async function doInTurn<T>(work: Work<T>, query: (text: string, values: unknown[]) => Promise<readonly Row[]>): Promise<T> {
  let next = work.next()
  while (next.done !== true) next = work.next(await query(...numbered(next.value)))
  return next.value
}

/** A statement as `pg` takes it. A `?` in a quoted name is a part of the name. */
export function numbered({ sql: text, values }: Statement): [text: string, values: unknown[]] {
  let at = 0
  return [text.replace(/"[^"]*"|\?/g, (part) => (part === '?' ? `$${++at}` : part)), [...values]]
}
