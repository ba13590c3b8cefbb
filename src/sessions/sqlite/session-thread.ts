import { serveFiles } from '../../sqlite/file-thread.ts'
import { SessionWork } from '../session-work.ts'
import { sqliteDialect } from './session-dialect.ts'
import { sessionsSchema } from './sessions-schema.ts'

/** Options of the tables. */
export interface TablesOptions {
  expireAfterMs: number
}

// The program of the thread that opens the files.
serveFiles({
  ...sessionsSchema,
  open: (parts, { expireAfterMs }: TablesOptions) => new SessionWork(sqliteDialect(parts), expireAfterMs),
  reading: ['get', 'list', 'read'],
  // Sessions of an owner that is gone are free, unless their run waits or is in a journal.
  release: (database, ownerId) => database.prepare('UPDATE sessions SET owner = NULL WHERE owner = ?').run(ownerId),
})
