import { Statement, sql } from '../../sql/statement.ts'
import type { SessionsDialect } from '../session-work.ts'
import { now } from './migrate.ts'

const serverTime = new Statement(now)
/** SQL condition: the lease of the process that holds the session is valid. */
const alive = sql`(owner IS NOT NULL AND lease > ${serverTime})`

/** Detects dead processes by their leases, which a living process renews. `schema` must be quoted. */
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
