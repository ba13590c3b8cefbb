/** A statement, or a part of one, with a `?` for each of its values. */
export class Statement {
  readonly sql: string
  readonly values: readonly unknown[]

  constructor(sql: string, values: readonly unknown[] = []) {
    this.sql = sql
    this.values = values
  }
}

/** Builds a statement from a template. A nested `Statement` becomes part of the text. Anything else is bound as a value. */
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

export function joined(parts: readonly Statement[], separator: string): Statement {
  return new Statement(
    parts.map((part) => part.sql).join(separator),
    parts.flatMap(({ values }) => values),
  )
}

/** A row, by column name. */
export type Row = Readonly<Record<string, unknown>>

/** Database work for any driver: a generator that yields statements, and receives the rows of each statement. */
export type Work<T> = Generator<Statement, T, readonly Row[]>

export function* rowsOf(statement: Statement): Work<readonly Row[]> {
  return yield statement
}

export function* firstOf(statement: Statement): Work<Row | undefined> {
  return (yield statement)[0]
}

/** Returns work that executes no statements. Its result is `value`. */
export function* given<T>(value: T): Work<T> {
  yield* []
  return value
}

export type ResultOf<Done> = Done extends Work<infer T> ? T : Done

export function isWork(value: unknown): value is Work<unknown> {
  return typeof value === 'object' && value !== null && 'next' in value && 'throw' in value
}

/** Executes the statements of `work` on a synchronous driver. */
export function doAtOnce<T>(work: Work<T>, query: (statement: Statement) => readonly Row[]): T {
  let next = work.next()
  while (next.done !== true) next = work.next(query(next.value))
  return next.value
}

/** Executes the statements of `work` on an asynchronous driver with numbered parameters (`$1`, `$2`, …). */
export async function doInTurn<T>(work: Work<T>, query: (text: string, values: unknown[]) => Promise<readonly Row[]>): Promise<T> {
  let next = work.next()
  while (next.done !== true) next = work.next(await query(...numbered(next.value)))
  return next.value
}

/** Converts a statement to the text and values that `pg` expects. */
function numbered({ sql: text, values }: Statement): [text: string, values: unknown[]] {
  let at = 0
  return [text.replace(/"[^"]*"|\?/g, (part) => (part === '?' ? `$${++at}` : part)), [...values]]
}
