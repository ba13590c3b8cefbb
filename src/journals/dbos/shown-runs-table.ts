import { firstOf, joined, rowsOf, Statement, sql, type Work } from '../../sql/statement.ts'
import { type PackedNews, packedType } from '../queries/shown-news.ts'
import { ShownWork } from '../queries/shown-work.ts'
import { dialectOf, now } from './dialect.ts'

/** New data of one run to store, such as events. */
export interface RunNews extends PackedNews {
  runId: string
  attempt: string
}

/** Implements `ShownRuns` in PostgreSQL. */
export class ShownRunsTable extends ShownWork {
  /** `schema` must be quoted. */
  constructor({ agent, schema }: { agent: string; schema: string }) {
    super({
      ...dialectOf(schema),
      agent,
      now: () => new Statement(now),
      hasId: (runId) => sql`agent = ${agent} AND id = ${runId}`,
      locked: sql`FOR UPDATE`,
      shared: sql`FOR SHARE`,
      allOf: (query) => sql`(SELECT coalesce(json_agg(value), '[]')::text FROM (${query}) AS listed)`,
      together: (statements) => {
        const parts = statements.map((statement, at) => sql`${new Statement(`part${at}`)} AS (${statement})`)
        return [sql`WITH ${joined(parts, ', ')} SELECT 1`]
      },
      // Only one transaction at a time compares the waiting runs with their limit. Otherwise, two runs stored at the same time could exceed
      // the limit together.
      lockRoom: sql`SELECT pg_advisory_xact_lock(hashtextextended(${`toolloop room in ${schema}`}, 0))`,
      childTables: [],
    })
  }

  /**
   * Like `append`, for several runs in one statement. Returns the ids of the runs whose events were stored. Skips a run if more than its
   * events has changed, or if another attempt executes it.
   */
  *appendEvents(all: readonly RunNews[]): Work<Set<string>> {
    const columnOf = (type: string, value: (news: RunNews) => unknown) => sql`CAST(${all.map(value)} AS ${new Statement(type)}[])`
    const columns = [
      columnOf('text', ({ runId }) => runId),
      columnOf('text', ({ attempt }) => attempt),
      columnOf('bigint', ({ firstEventId }) => firstEventId),
      columnOf('text', ({ title }) => this.in.text(title)),
      columnOf('integer', ({ hidesAll }) => Number(hidesAll)),
      columnOf('bigint', ({ last }) => last),
      columnOf('text', ({ packed }) => packed),
    ]
    const news = sql`unnest(${joined(columns, ', ')}) AS news (id, attempt, first, title, hides, last, packed)`
    const isSame = sql`shown.id = news.id AND shown.attempt = news.attempt AND first_event = news.first AND shown.title = news.title`
    const changed = sql`last_event = greatest(last_event, news.last), hides_all = news.hides`
    const told = sql`n, shown.id, news.last, news.packed`
    const run = sql`UPDATE ${this.table('runs')} AS shown SET ${changed} FROM ${news} WHERE ${isSame} RETURNING ${told}`
    const rows = sql`SELECT n, last, ${packedType}, packed FROM run WHERE packed <> ''`
    const added = sql`INSERT INTO ${this.table('events')} (run, id, type, data) ${rows} ON CONFLICT DO NOTHING`
    const stored = yield* rowsOf(sql`WITH run AS (${run}), added AS (${added}) SELECT id FROM run`)
    return new Set(stored.map(({ id }) => String(id)))
  }

  protected override *stateSize(runId: string): Work<number> {
    const steps = sql`SELECT coalesce(sum(characters), 0) FROM ${this.table('executions', '')} WHERE run = n`
    const size = sql`octet_length(input) + (${steps}) AS size`
    return Number((yield* firstOf(sql`SELECT ${size} FROM ${this.table('runs', '')} WHERE ${this.in.hasId(runId)}`))?.size ?? 0)
  }
}
