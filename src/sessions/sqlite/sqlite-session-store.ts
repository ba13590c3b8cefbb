import type { SessionStore } from '../../agent/sessions/session-store.ts'
import { defaultLogger, type Logger } from '../../core/logger.ts'
import type { DatabaseOptions } from '../../sqlite/database.ts'
import { FileThread, SqliteFile } from '../../sqlite/sqlite-file.ts'
import { prunedAtOnce, type SessionWork } from '../session-work.ts'
import type { TablesOptions } from './session-thread.ts'
import { workerCode } from './session-thread-code.ts'
import { sessionsSchema } from './sessions-schema.ts'

/** The thread that opens all session files of this process. */
const thread = new FileThread(workerCode)

export class SqliteSessionStore implements SessionStore {
  readonly #file: SqliteFile<SessionWork>

  constructor(database: DatabaseOptions, expireAfterMs: number, logger: Logger = defaultLogger) {
    this.#file = new SqliteFile(sessionsSchema, thread, { database, own: { expireAfterMs } satisfies TablesOptions }, { logger })
  }

  claim: SessionStore['claim'] = (...args) => this.#file.call('claim', ...args, crypto.randomUUID())
  commit: SessionStore['commit'] = (...args) => this.#file.call('commit', ...args)
  pause: SessionStore['pause'] = (...args) => this.#file.call('pause', ...args)
  unclaim: SessionStore['unclaim'] = (...args) => this.#file.call('unclaim', ...args)
  release: SessionStore['release'] = (...args) => this.#file.call('release', ...args)
  read: SessionStore['read'] = (...args) => this.#file.call('read', ...args)
  append: SessionStore['append'] = (...args) => this.#file.call('append', ...args)
  get: SessionStore['get'] = (...args) => this.#file.call('get', ...args)
  list: SessionStore['list'] = (...args) => this.#file.call('list', ...args)
  delete: SessionStore['delete'] = (...args) => this.#file.call('delete', ...args)
  async prune(olderThanMs: number): Promise<number> {
    for (let deleted = 0; ; ) {
      const more = await this.#file.call('prune', olderThanMs)
      deleted += more
      // A batch that is not full is the last one. Continuing until a batch is empty could take forever, because more sessions expire in the
      // meantime.
      if (more < prunedAtOnce) return deleted
    }
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}
