import type { ShownQuery } from '../../agent/journal/shown-runs.ts'
import { cursorOf } from '../../agent/journal/store.ts'
import { Statement } from '../../sql/statement.ts'
import type { Dialect } from './dialect.ts'

/** Selects the shown runs of a list, newest first. */
export interface ShownSelection {
  from: string
  /** Includes the word `WHERE`; `''` selects all runs. */
  where: string
  /** The expression that orders the list. */
  place: string
  values: unknown[]
}

/** `foundBy`: the condition that a run's searchable text contains a word. */
export function selectShown(
  dialect: Dialect,
  {
    caller,
    model,
    thread,
    tags = [],
    status,
    stopReason,
    runIds,
    notRunIds,
    words = [],
    cursor,
    createdAfter,
    createdBefore,
    minCostUsd,
  }: ShownQuery,
  foundBy: string,
): ShownSelection {
  const { table, isOneOf, listOf } = dialect
  const text = (given: string | undefined) => given && dialect.text(given)
  // A tag may have very many runs: read them in the order of its index.
  const [from, place] =
    tags.length === 0
      ? [table('shown_runs'), 'n']
      : [`${table('shown_tags')} AS tagged ${dialect.join} ${table('shown_runs')} ON n = tagged.run`, 'tagged.run']
  const conditions: [condition: string, value: unknown][] = [
    ...tags.map((tag, at): [string, string] => [at === 0 ? 'tagged.tag = ?' : hasTag(dialect), tag]),
    ['caller = ?', text(caller)],
    ["? IN (agent, CASE WHEN status <> 'running' THEN model END)", text(model)],
    ['thread = ?', text(thread)],
    // Written exactly as in the index of waiting runs.
    [status === 'waiting' ? "status = 'waiting' AND ? = status" : 'status = ?', status],
    ['stop_reason = ?', text(stopReason)],
    [isOneOf('id'), runIds && listOf(runIds.map(dialect.text))],
    [`NOT ${isOneOf('id')}`, notRunIds && listOf(notRunIds.map(dialect.text))],
    ['created_at >= CAST(? AS DOUBLE PRECISION)', createdAfter],
    ['created_at < CAST(? AS DOUBLE PRECISION)', createdBefore],
    ['cost >= CAST(? AS DOUBLE PRECISION)', minCostUsd],
    [`${place} < ?`, cursor === undefined ? undefined : cursorOf(cursor)],
    ...words.map((word): [string, string] => [foundBy, dialect.text(word)]),
  ]
  const given = conditions.filter(([, value]) => value !== undefined)
  const where = given.length === 0 ? '' : `WHERE ${given.map(([condition]) => condition).join(' AND ')}`
  return { from, where, place, values: given.map(([, value]) => value) }
}

/** Counts the waiting runs and sums their sizes: of one caller, with all of these tags, or of all. */
export function sumWaiting(dialect: Dialect, { caller, tags = [] }: Pick<ShownQuery, 'caller' | 'tags'> = {}): Statement {
  const conditions = ["status = 'waiting'", ...(caller === undefined ? [] : ['caller = ?']), ...tags.map(() => hasTag(dialect))]
  const sums = `SELECT count(*) AS runs, coalesce(sum(size), 0) AS characters FROM ${dialect.table('shown_runs')}`
  const values = [...(caller === undefined ? [] : [dialect.text(caller)]), ...tags]
  return new Statement(`${sums} WHERE ${conditions.join(' AND ')}`, values)
}

function hasTag({ table }: Dialect): string {
  return `n IN (SELECT run FROM ${table('shown_tags')} WHERE tag = ?)`
}
