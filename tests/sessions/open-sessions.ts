import { Pool } from 'pg'
import type { Sessions } from '../../src/agent/sessions/sessions.ts'
import { postgresSessions } from '../../src/sessions/postgres/index.ts'
import { sqliteSessions } from '../../src/sessions/sqlite/index.ts'

/** The sessions at an address of PostgreSQL, or in a file. */
export async function openSessions(where: string): Promise<{ sessions: Sessions; end(): Promise<void> }> {
  if (!where.startsWith('postgresql:')) {
    const sessions = sqliteSessions({ file: where })
    return { sessions, end: () => sessions.close() }
  }
  const pool = new Pool({ connectionString: where })
  // A killed server closes idle connections; the pool opens new ones.
  pool.on('error', () => {})
  const sessions = postgresSessions({ pool, leaseMs: 400 })
  await sessions.migrate()
  return {
    sessions,
    end: async () => {
      await sessions.close()
      await pool.end()
    },
  }
}
