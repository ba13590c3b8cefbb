import pg from 'pg'
import type { Journal, Logger, Sessions } from '../../src/index.ts'
import { dbosJournal } from '../../src/journals/dbos/index.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { postgresSessions } from '../../src/sessions/postgres/index.ts'
import { sqliteSessions } from '../../src/sessions/sqlite/index.ts'

/** Where workers store their runs and sessions. */
export type Store = { kind: 'sqlite'; folder: string } | { kind: 'dbos'; url: string; schema: string }

/** When abandoned sessions and undecided runs expire. A clock that is off by weeks would end them. */
export const expireAfterMs: number = 7 * 86_400_000
/** How long a process without a sign of life keeps its sessions, in milliseconds. */
export const leaseMs: number = 600

export async function openStores(store: Store, logger: Logger): Promise<{ journal: Journal; sessions: Sessions; end(): Promise<void> }> {
  if (store.kind === 'sqlite') {
    const journal = sqliteJournal({ file: `${store.folder}/runs.sqlite`, synchronous: 'normal', takeOverEveryMs: 300 })
    const sessions = sqliteSessions({ file: `${store.folder}/sessions.sqlite`, synchronous: 'normal', expireAfterMs })
    const end = async () => {
      await journal.close()
      await sessions.close()
    }
    return { journal, sessions, end }
  }
  const { url, schema } = store
  const pool = new pg.Pool({ connectionString: url, max: 5 })
  // An idle connection may be lost.
  pool.on('error', () => {})
  const journal = dbosJournal({ url, schema, takeOverEveryMs: 300, outageMs: 5_000, logger })
  const sessions = postgresSessions({ pool, schema: `${schema}_sessions`, leaseMs, expireAfterMs })
  await sessions.migrate()
  const end = async () => {
    await journal.close()
    await sessions.close()
    await pool.end()
  }
  return { journal, sessions, end }
}
