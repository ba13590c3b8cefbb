import { Statement, sql } from '../../sql/statement.ts'
import type { SessionsDialect } from '../session-work.ts'
import { now } from './migrate.ts'

const serverTime = new Statement(now)
/** Whether the process that has a session still says that it is there. */
const alive = sql`(owner IS NOT NULL AND lease > ${serverTime})`

/** Who is gone is told by leases, which a living process renews. `schema` is quoted. */
export function postgresDialect({ schema, owner, leaseMs }: { schema: string; owner: string; leaseMs: number }): SessionsDialect {
  return {
    table: (name) => new Statement(`${schema}.${name}`),
    now: () => serverTime,
    alive: () => alive,
    beside: sql`, ${alive} AS alive, ${serverTime} AS time`,
    isAlive: (row) => row.alive === true,
    timeOf: (row) => Number(row.time),
    owned: () => sql`owner = ${owner}, lease = ${serverTime} + CAST(${leaseMs} AS BIGINT)`,
    noOwner: sql`token = NULL, owner = NULL, lease = NULL`,
    locked: sql`FOR UPDATE`,
    skipsLocked: sql`FOR UPDATE SKIP LOCKED`,
    listOf: (texts) =>
      sql`(SELECT place - 1 AS at, value FROM unnest(CAST(${texts} AS text[])) WITH ORDINALITY AS item (value, place)) AS items`,
  }
}
