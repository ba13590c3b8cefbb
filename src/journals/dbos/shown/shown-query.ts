import type { ShownQuery } from '../../../agent/durable/shown-runs.ts'
import { cursorOf } from '../../../agent/durable/store.ts'
import { plain } from '../values.ts'

/** The condition by which `shown_runs` of a schema are listed, `''` if all are, with the values of its parameters. */
export function conditionsOf(
  { caller, agent, thread, tags = [], status, stopReason, runIds, words = [], cursor, createdAfter, createdBefore, minCostUsd }: ShownQuery,
  schema: string,
): { where: string; values: unknown[] } {
  const values: unknown[] = []
  const conditions = [
    ...tags.map((tag): [string, string] => [`n IN (SELECT run FROM ${schema}.shown_tags WHERE tag = ?)`, tag]),
    ['caller = ?', caller === undefined ? undefined : plain(caller)],
    ['agent = ?', agent === undefined ? undefined : plain(agent)],
    ['thread = ?', thread === undefined ? undefined : plain(thread)],
    // As it is written in the index of those that wait.
    [status === 'paused' ? "status = 'paused' AND ? = status" : 'status = ?', status],
    ['stop_reason = ?', stopReason === undefined ? undefined : plain(stopReason)],
    ['id = ANY(?)', runIds?.map(plain)],
    ['created_at >= ?::float8', createdAfter],
    ['created_at < ?::float8', createdBefore],
    ['cost >= ?::float8', minCostUsd],
    ['n < ?', cursor === undefined ? undefined : cursorOf(cursor)],
    ...words.map((word): [string, string] => ['strpos(concat_ws(chr(10), folded_title, words), ?) > 0', plain(word)]),
  ] as const
  const given = conditions.filter(([, value]) => value !== undefined)
  const where = given.map(([condition, value]) => condition.replace('?', `$${values.push(value)}`)).join(' AND ')
  return { where, values }
}
