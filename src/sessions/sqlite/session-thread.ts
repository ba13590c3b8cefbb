import { serveFiles } from '../../sqlite/file-thread.ts'
import { SessionTables } from './session-tables.ts'
import { sessionsSchema } from './sessions-schema.ts'

/** How the tables are used. */
export interface TablesOptions {
  expireAfterMs: number
}

// The program of the thread that has the files.
serveFiles({
  ...sessionsSchema,
  open: (parts, { expireAfterMs }: TablesOptions) => new SessionTables(parts, expireAfterMs),
  reading: ['get', 'list', 'read'],
  // Whose owner is no longer there is free, unless its run waits or is in a journal.
  release: (database, ownerId) => database.prepare('UPDATE sessions SET owner = NULL WHERE owner = ?').run(ownerId),
})
