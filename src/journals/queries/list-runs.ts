import type { RunPage, RunQuery } from '../../agent/journal/journal.ts'
import { cursorOf, mostRuns, tagsOf } from '../../agent/journal/store.ts'
import { Statement } from '../../sql/statement.ts'
import type { Dialect, Value } from './dialect.ts'
import { type RunRow, summaryOf } from './run-row.ts'

/**
 * Must equal the condition of SQLite's index of open runs, character by character. Otherwise SQLite does not use the index, and reads all
 * ended runs.
 */
const isOpen = "status <> 'ended'"

/** Selects the owners of running runs, one in each row. */
export function ownersOf({ table }: Dialect, agent: string): Statement {
  const running = `agent = ? AND ${isOpen} AND status = 'running' AND owner IS NOT NULL`
  return new Statement(`SELECT DISTINCT owner FROM ${table('runs')} WHERE ${running}`, [agent])
}

/** Selects the runs of a page, plus one more run if there is another page. `dead`: the owners that have died. */
export function listOf(dialect: Dialect, agent: string, query: RunQuery, dead: ReadonlySet<Value>): Statement {
  const { status, stopReason, session, model, process, createdAfter, createdBefore, metadata, cursor } = query
  const { table, isOneOf } = dialect
  const text = (given: string | undefined) => given && dialect.text(given)
  const tags = tagsOf(metadata)
  // Many runs may have the same tag. They are read in the order of the index of tags, so that they need not be sorted.
  const [from, place] =
    tags.length === 0 ? [table('runs'), 'n'] : [`${table('run_tags')} ${dialect.join} ${table('runs')} ON n = run`, 'run']
  const time = 'CAST(? AS DOUBLE PRECISION)'
  const isGone = `owner IS NULL OR ${isOneOf('owner')}`
  const ofProcess = process === 'gone' ? `(${isGone})` : `NOT (${isGone})`
  const conditions: [condition: string, value: unknown][] = [
    ...tags.map((tag, at): [string, string] => [at === 0 ? 'tag = ?' : `n IN (SELECT run FROM ${table('run_tags')} WHERE tag = ?)`, tag]),
    ['agent = ?', agent],
    [status === 'ended' ? 'status = ?' : `${isOpen} AND status = ?`, status],
    ["status <> 'running' AND stop_reason = ?", text(stopReason)],
    ['session = ?', text(session)],
    ["status <> 'running' AND model = ?", text(model)],
    [`${isOpen} AND status = 'running' AND ${ofProcess}`, process && dialect.listOf([...dead])],
    [`created_at > ${time}`, createdAfter],
    [`created_at < ${time}`, createdBefore],
    [`${place} < ?`, cursor === undefined ? undefined : cursorOf(cursor)],
  ]
  const given = conditions.filter(([, value]) => value !== undefined)
  const where = given.map(([condition]) => condition).join(' AND ')
  const columns = 'n, id, status, stop_reason, session, model, owner, created_at, updated_at, problem, metadata'
  const sql = `SELECT ${columns} FROM ${from} WHERE ${where} ORDER BY ${place} DESC LIMIT ?`
  return new Statement(sql, [...given.map(([, value]) => value), mostOf(query) + 1])
}

export function pageOf(rows: readonly RunRow[], query: RunQuery, dead: ReadonlySet<unknown>): RunPage {
  const shown = rows.slice(0, mostOf(query))
  const last = shown.at(-1)
  const next = rows.length > shown.length && last !== undefined ? { next: String(last.n) } : {}
  return { runs: shown.map((row) => summaryOf(row, dead)), ...next }
}

function mostOf({ limit = 50 }: RunQuery): number {
  return Math.min(limit, mostRuns)
}
