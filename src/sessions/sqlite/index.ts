/** `toolloop/sessions/sqlite`: stores conversations in an SQLite file, so that they survive the process. */
import { type ExpiryOptions, expiryOf } from '../../agent/sessions/session-options.ts'
import { Sessions } from '../../agent/sessions/sessions.ts'
import { checkOptionNames, type OptionNames } from '../../core/check-options.ts'
import { defaultLogger, type Logger, redacting } from '../../core/logger.ts'
import { fileOptions } from '../../sqlite/sqlite-file.ts'
import { SqliteSessionStore } from './sqlite-session-store.ts'

/** Options of `sqliteSessions`. */
export interface SqliteSessionsOptions extends ExpiryOptions {
  /**
   * The path of the database file, which must be on a local disk. The file and its folder are created if they don't exist. Only the owner
   * of the file can read it. SQLite and the session store create more files next to it, whose names start with the same name. Don't use the
   * file of a journal.
   */
  file: string
  /**
   * `'full'`: stored messages survive a power failure. `'normal'`: stored messages survive a crash of the process, but a power failure may
   * lose the latest. Default `'full'`.
   */
  synchronous?: 'full' | 'normal'
  /** How long a call waits for a file that another process has locked, in milliseconds. After that, the call fails. Default 5,000. */
  busyTimeoutMs?: number
  /**
   * Maximum size of the file in bytes, at least 1,048,576. A write that would exceed the limit fails with `session_failed`. Default: no
   * limit.
   */
  maxBytes?: number
  /** Receives warnings, such as a jump of this machine's clock. Default: logs warnings and errors to standard error. */
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
 * Stores conversations in an SQLite file, without a server. Several processes may use the file at the same time. If a process dies, the
 * other processes can use its sessions. Throws `invalid_option` for invalid options. The first call opens the file, and rejects with
 * `session_failed` if the disk is full, or if the file is locked, damaged, read-only, of a newer version, or of another program.
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
