import { serveFiles } from '../../sqlite/file-thread.ts'
import { SessionWork } from '../session-work.ts'
import { sqliteDialect } from './session-dialect.ts'
import { sessionsSchema } from './sessions-schema.ts'

/** How the tables are used. */
export interface TablesOptions {
  expireAfterMs: number
}

// The program of the thread that has the files.
serveFiles({
  ...sessionsSchema,
  open: (parts, { expireAfterMs }: TablesOptions) => new SessionWork(sqliteDialect(parts), expireAfterMs),
  reading: ['get', 'list', 'read'],
  // Whose owner is no longer there is free, unless its run waits or is in a journal.
  release: (database, ownerId) => database.prepare('UPDATE sessions SET owner = NULL WHERE owner = ?').run(ownerId),
})
