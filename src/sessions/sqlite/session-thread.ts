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
  // Frees the sessions of an owner that is gone. Sessions whose run waits or is in a journal are still held by that run.
  release: (database, ownerId) => database.prepare('UPDATE sessions SET owner = NULL WHERE owner = ?').run(ownerId),
})
