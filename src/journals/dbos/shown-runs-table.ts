import type { ShownNews } from '../../agent/journal/shown-runs.ts'
import { firstOf, Statement, sql, type Work } from '../../sql/statement.ts'
import { ShownWork } from '../queries/shown-work.ts'
import { dialectOf } from './dialect.ts'
import { now } from './values.ts'

/** Implements `ShownRuns` in PostgreSQL. */
export class ShownRunsTable extends ShownWork {
  /** `schema` is quoted. */
  constructor({ agent, schema }: { agent: string; schema: string }) {
    super({
      ...dialectOf(schema),
      agent,
      now: () => new Statement(now),
      hasId: (runId) => sql`agent = ${agent} AND id = ${runId}`,
      locked: sql`FOR UPDATE`,
      shared: sql`FOR SHARE`,
      allOf: (query) => sql`(SELECT coalesce(json_agg(value), '[]')::text FROM (${query}) AS listed)`,
      // Together, two runs might exceed the room.
      lockRoom: sql`SELECT pg_advisory_xact_lock(hashtextextended(${`toolloop room in ${schema}`}, 0))`,
      childTables: [],
    })
  }

  /** Like `append`, in one statement. Returns false, and does nothing, if there is more to change than events. */
  *appendEvents(runId: string, attempt: string, { events, firstEventId, title, secrets, hidesAll }: ShownNews): Work<boolean> {
    if (secrets.length > 0) return false
    const last = events.at(-1)?.id ?? 0
    const isSame = sql`id = ${runId} AND attempt = ${attempt} AND first_event = ${firstEventId} AND title = ${this.in.text(title)}`
    const told = sql`last_event = greatest(last_event, ${last}), hides_all = ${Number(hidesAll)}`
    const run = sql`UPDATE ${this.table('runs')} SET ${told} WHERE ${isSame} RETURNING n`
    const columns = [events.map(({ id }) => id), events.map(({ type }) => type), events.map(({ data }) => data)] as const
    const all = sql`unnest(${columns[0]}::bigint[], ${columns[1]}::text[], ${columns[2]}::text[]) AS told (id, type, data)`
    const added = sql`INSERT INTO ${this.table('events')} (run, id, type, data) SELECT n, told.* FROM run, ${all} ON CONFLICT DO NOTHING`
    return (yield* firstOf(sql`WITH run AS (${run}), added AS (${added}) SELECT n FROM run`)) !== undefined
  }

  protected override *stateSize(runId: string): Work<number> {
    const steps = sql`SELECT coalesce(sum(characters), 0) FROM ${this.table('executions', '')} WHERE run = n`
    const size = sql`octet_length(input) + (${steps}) AS size`
    return Number((yield* firstOf(sql`SELECT ${size} FROM ${this.table('runs', '')} WHERE ${this.in.hasId(runId)}`))?.size ?? 0)
  }
}
