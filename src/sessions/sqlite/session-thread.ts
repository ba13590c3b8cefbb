import { serveFiles } from '../../sqlite/file-thread.ts'
import { SessionWork } from '../session-work.ts'
import { sqliteDialect } from './session-dialect.ts'
import { sessionsSchema } from './sessions-schema.ts'

export interface TablesOptions {
  expireAfterMs: number
}

// The program of the thread that opens the files.
serveFiles({
  ...sessionsSchema,
  open: (parts, { expireAfterMs }: TablesOptions) => new SessionWork(sqliteDialect(parts), expireAfterMs),
  reading: ['get', 'list', 'read'],
  // Removes the owner from its sessions. A run that waits or is in a journal still holds its session.
  release: (database, ownerId) => database.prepare('UPDATE sessions SET owner = NULL WHERE owner = ?').run(ownerId),
})
