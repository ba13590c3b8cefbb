import { Statement, sql } from '../../sql/statement.ts'
import type { FileParts } from '../../sqlite/opened-file.ts'
import type { SessionsDialect } from '../session-work.ts'

/** The dialect of SQLite. Detects dead processes by file locks, which end with their process. */
export function sqliteDialect({ owner, clock, statements }: Omit<FileParts, 'database'>): SessionsDialect {
  const living = (): string[] => {
    const owners = statements.all('SELECT DISTINCT owner FROM sessions WHERE owner IS NOT NULL')
    return owners.map((row) => String(row.owner)).filter((id) => owner.isAlive(id))
  }
  return {
    table: (name) => new Statement(name),
    now: () => sql`${clock.now()}`,
    alive: () => sql`(owner IS NOT NULL AND owner IN (SELECT value FROM json_each(${JSON.stringify(living())})))`,
    beside: sql``,
    isAlive: (row) => typeof row.owner === 'string' && owner.isAlive(row.owner),
    timeOf: () => clock.now(),
    owned: () => sql`owner = ${owner.id}`,
    noOwner: sql`token = NULL, owner = NULL`,
    locked: sql``,
    skipsLocked: sql``,
    listOf: (texts) => sql`(SELECT key AS at, value FROM json_each(${JSON.stringify(texts)}))`,
  }
}
