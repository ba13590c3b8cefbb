/** `toolloop/sessions/sqlite`: conversations in a file, which survive the process. */
import { type ExpiryOptions, expiryOf } from '../../agent/sessions/session-options.ts'
import { Sessions } from '../../agent/sessions/sessions.ts'
import { checkOptionNames, type OptionNames } from '../../core/check-options.ts'
import { defaultLogger, type Logger, redacting } from '../../core/logger.ts'
import { fileOptions } from '../../sqlite/sqlite-file.ts'
import { SqliteSessionStore } from './sqlite-session-store.ts'

/** Options of `sqliteSessions`. */
export interface SqliteSessionsOptions extends ExpiryOptions {
  /**
   * The file, on a local disk. Created with its folder if it does not exist, readable only by its owner. Further files whose names start
   * with this name are created next to it. It must not be the file of a journal.
   */
  file: string
  /**
   * `'full'`: messages of a run survive a power failure. `'normal'`: they survive the process, but a power failure may lose the latest.
   * Default `'full'`.
   */
  synchronous?: 'full' | 'normal'
  /** How long to wait if another process locks the file, in milliseconds. Then the call fails. Default 5,000. */
  busyTimeoutMs?: number
  /** Maximum size of the file in bytes, at least 1,048,576. Writes beyond it fail with `session_failed`. Default: no limit. */
  maxBytes?: number
  /** Receives a message if the clock of this machine has jumped. Default: logs warnings and errors to standard error. */
  logger?: Logger
}

const optionNames: OptionNames<SqliteSessionsOptions> = {
  file: true,
  synchronous: true,
  busyTimeoutMs: true,
  maxBytes: true,
  logger: true,
  expireAfterMs: true,
}

/**
 * Stores conversations in an SQLite file, without a server. Several processes may use it at the same time; if one dies, its sessions are
 * free for the others. Throws `invalid_option`. The first call opens the file, and rejects with `session_failed` if the disk is full, or if
 * the file is locked, damaged, read-only, of a newer version, or of another program.
 *
 * ```ts
 * const sessions = sqliteSessions({ file: 'data/sessions.sqlite' })
 * const runner = new AgentRunner({ model, tools, sessions })
 * await runner.run('My name is Ann.', { session: 'user-17/chat-1' })
 * ```
 */
export function sqliteSessions(options: SqliteSessionsOptions): Sessions {
  checkOptionNames(options, optionNames, '`sqliteSessions`')
  const { expireAfterMs: _, logger = defaultLogger, ...file } = options
  return new Sessions(new SqliteSessionStore(fileOptions(file), expiryOf(options), redacting(logger)))
}
