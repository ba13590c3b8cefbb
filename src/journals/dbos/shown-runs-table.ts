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

  protected override *stateSize(runId: string): Work<number> {
    const steps = sql`SELECT coalesce(sum(characters), 0) FROM ${this.table('executions', '')} WHERE run = n`
    const size = sql`octet_length(input) + (${steps}) AS size`
    return Number((yield* firstOf(sql`SELECT ${size} FROM ${this.table('runs', '')} WHERE ${this.in.hasId(runId)}`))?.size ?? 0)
  }
}
