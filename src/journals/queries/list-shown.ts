import type { ShownOrder, ShownQuery, ShownSession, ShownSums } from '../../agent/journal/shown-runs.ts'
import { cursorOf } from '../../agent/journal/store.ts'
import { joined, Statement, sql } from '../../sql/statement.ts'
import type { Dialect } from './dialect.ts'
import type { RunRow } from './run-row.ts'

/** The columns of a shown run in a list. */
export const listColumns =
  'n, id, caller, agent, kind, thread, status, stop_reason, created_at, finished_at, waited, size, first_event, last_event, title, summary'

/** The clauses `FROM`, `WHERE` and `ORDER BY` that select a list of shown runs. */
export interface ShownSelection {
  from: Statement
  order: Statement
}

const number = 'CAST(? AS DOUBLE PRECISION)'
/** Ignores the value of a column while a run is running, because the value is still that of its last pause. */
const settled = (column: string) => `CASE WHEN status <> 'running' THEN ${column} END`
const worked = `(${settled('finished_at')} - created_at - waited)`
/** The placeholder stands for the current time. */
const waited = `(waited + CASE WHEN status = 'waiting' THEN ${number} - finished_at ELSE 0 END)`

/** The expressions by which lists are sorted. They are null if the value is not known yet. */
const orders: Record<Exclude<ShownOrder, 'started'>, string> = {
  finished: settled('finished_at'),
  input: 'title',
  state: "status || ' ' || coalesce(stop_reason, '')",
  model: `coalesce(${settled('model')}, agent)`,
  owner: 'caller',
  worked,
  waited,
  turns: settled('turns'),
  calls: settled('calls'),
  tokens: settled('tokens'),
  cost: settled('cost'),
}

/** The text in which a search looks for words. */
const searchable = "title_words || '\n' || words"

export function selectShown(dialect: Dialect, query: ShownQuery): ShownSelection {
  const { tags = [], words = [], cursor } = query
  const { table, join, text, contains } = dialect
  // Many runs may have the same tag. They are read in the order of the index of tags, so that they need not be sorted.
  const [runs, place] =
    tags.length === 0
      ? [table('shown_runs'), 'n']
      : [`${table('shown_tags')} AS tagged ${join} ${table('shown_runs')} ON n = tagged.run`, 'tagged.run']
  const texts = words.length === 0 ? '' : `JOIN ${table('shown_words')} ON shown_words.run = n`
  const conditions = [
    ...tags.map((tag, at) => new Statement(at === 0 ? 'tagged.tag = ?' : hasTag(dialect), [tag])),
    ...conditionsOf(dialect, query),
    ...(cursor === undefined ? [] : [new Statement(`${place} < ?`, [cursorOf(cursor)])]),
    ...words.map((word) => new Statement(contains(searchable), [text(word)])),
  ]
  const where = conditions.length === 0 ? sql`` : sql`WHERE ${joined(conditions, ' AND ')}`
  return { from: sql`FROM ${new Statement(`${runs} ${texts}`)} ${where}`, order: orderOf(query, place) }
}

function orderOf({ order: { by, isDescending } = { by: 'started', isDescending: true } }: ShownQuery, place: string): Statement {
  const way = isDescending ? 'DESC' : 'ASC'
  if (by === 'started') return new Statement(`ORDER BY ${place} ${way}`)
  const value = new Statement(orders[by], orders[by].includes('?') ? [Date.now()] : [])
  return sql`ORDER BY (${value}) IS NULL, ${value} ${new Statement(`${way}, ${place} DESC`)}`
}

function conditionsOf({ text, isOneOf, listOf, contains }: Dialect, query: ShownQuery): Statement[] {
  const { caller, models, thread, status, stopReasons, errorCode, tool, runIds, notRunIds } = query
  const { createdAfter, createdBefore, endedAfter, endedBefore, minCostUsd, minWorkedMs } = query
  const one = (given: string | undefined) => given && text(given)
  const several = (given: readonly string[] | undefined) => given && listOf(given.map(text))
  const conditions: [condition: string, value: unknown][] = [
    ['caller = ?', one(caller)],
    ['thread = ?', one(thread)],
    // `status = 'waiting'` is the condition of the index of waiting runs. SQLite uses the index only if the condition is repeated
    // literally.
    [status === 'waiting' ? "status = 'waiting' AND ? = status" : 'status = ?', status],
    [isOneOf(settled('stop_reason')), several(stopReasons)],
    [`${settled('error')} = ?`, one(errorCode)],
    [contains('tools'), tool && text(linesOf([tool]))],
    [isOneOf('id'), several(runIds)],
    [`NOT ${isOneOf('id')}`, several(notRunIds)],
    [`created_at >= ${number}`, createdAfter],
    [`created_at < ${number}`, createdBefore],
    [`status = 'ended' AND finished_at >= ${number}`, endedAfter],
    [`status = 'ended' AND finished_at < ${number}`, endedBefore],
    [`${settled('cost')} >= ${number}`, minCostUsd],
    [`${worked} >= ${number}`, minWorkedMs],
  ]
  const given = conditions.filter(([, value]) => value !== undefined).map(([condition, value]) => new Statement(condition, [value]))
  return models === undefined
    ? given
    : [
        ...given,
        sql`(${joined(
          models.map((name) => isModel(text(name))),
          ' OR ',
        )})`,
      ]
}

/** Matches a model by its full name `provider/model` or by `model` alone. */
function isModel(name: string): Statement {
  const asked = settled('model')
  const last = `substr(${asked}, length(${asked}) - CAST(? AS INTEGER)) = ?`
  return new Statement(`agent = ? OR ${asked} = ? OR ${last}`, [name, name, [...name].length, `/${name}`])
}

/** Joins names into a text with one name in each line. */
export function linesOf(names: readonly string[]): string {
  return `\n${names.map((name) => name.replaceAll('\n', ' ')).join('\n')}\n`
}

const sumsOfShown = sql`count(*) AS runs,
  count(CASE WHEN status = 'running' THEN 1 END) AS running,
  count(CASE WHEN status = 'waiting' THEN 1 END) AS waiting,
  coalesce(sum(${new Statement(settled('tokens'))}), 0) AS tokens,
  coalesce(sum(${new Statement(settled('cost'))}), 0) AS cost,
  coalesce(sum(${new Statement(worked)}), 0) AS worked`

function sumsNow(): Statement {
  return sql`${sumsOfShown}, coalesce(sum(${new Statement(waited, [Date.now()])}), 0) AS waited`
}

export function sumShown({ from }: ShownSelection): Statement {
  return sql`SELECT ${sumsNow()} ${from}`
}

export function sumsOf({ runs, running, waiting, tokens, cost, worked: workedMs, waited: waitedMs }: RunRow = {}): ShownSums {
  return {
    runs: Number(runs),
    running: Number(running),
    waiting: Number(waiting),
    tokens: Number(tokens),
    costUsd: Number(cost),
    workedMs: Number(workedMs),
    waitedMs: Number(waitedMs),
  }
}

/** Selects sessions: the runs of the selection, grouped by their session. */
export function sessionsOf({ table }: Dialect, { from }: ShownSelection, { limit, offset = 0 }: ShownQuery): Statement {
  const chosen = sql`(SELECT shown_runs.* ${from}) AS chosen WHERE thread IS NOT NULL`
  const groups = sql`SELECT caller, thread, ${sumsNow()}, min(n) AS first, max(n) AS latest FROM ${chosen} GROUP BY caller, thread`
  const newest = sql`SELECT * FROM (${groups}) AS sessions ORDER BY latest DESC LIMIT ${limit} OFFSET ${offset}`
  const runs = new Statement(table('shown_runs'))
  const named = sql`begun.title, begun.created_at, newest.id AS latest_id, newest.created_at AS latest_at`
  const both = sql`JOIN ${runs} AS begun ON begun.n = sessions.first JOIN ${runs} AS newest ON newest.n = sessions.latest`
  return sql`SELECT sessions.*, ${named} FROM (${newest}) AS sessions ${both} ORDER BY sessions.latest DESC`
}

export function sessionOf(row: RunRow): ShownSession {
  return {
    ...sumsOf(row),
    thread: String(row.thread),
    caller: String(row.caller),
    createdAt: Number(row.created_at),
    title: String(row.title),
    latestRunId: String(row.latest_id),
    latestAt: Number(row.latest_at),
  }
}

/** Counts waiting runs and sums their sizes. `caller`: only runs of this caller. `tags`: only runs with all of these tags. */
export function sumWaiting(dialect: Dialect, { caller, tags = [] }: Pick<ShownQuery, 'caller' | 'tags'> = {}): Statement {
  const conditions = ["status = 'waiting'", ...(caller === undefined ? [] : ['caller = ?']), ...tags.map(() => hasTag(dialect))]
  const sums = `SELECT count(*) AS runs, coalesce(sum(size), 0) AS characters FROM ${dialect.table('shown_runs')}`
  const values = [...(caller === undefined ? [] : [dialect.text(caller)]), ...tags]
  return new Statement(`${sums} WHERE ${conditions.join(' AND ')}`, values)
}

function hasTag({ table }: Dialect): string {
  return `n IN (SELECT run FROM ${table('shown_tags')} WHERE tag = ?)`
}
