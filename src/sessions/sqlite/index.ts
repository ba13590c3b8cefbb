/** `toolloop/sessions/sqlite`: conversations that outlive the process, in one file. */
import { type ExpiryOptions, expiryOf } from '../../agent/sessions/session-options.ts'
import { Sessions } from '../../agent/sessions/sessions.ts'
import { defaultLogger, type Logger, redacting } from '../../core/logger.ts'
import { checkOptionNames, type OptionNames } from '../../core/option-names.ts'
import { fileOptions } from '../../sqlite/sqlite-file.ts'
import { SqliteSessionStore } from './sqlite-session-store.ts'

/** Options of `sqliteSessions`. */
export interface SqliteSessionsOptions extends ExpiryOptions {
  /**
   * The file, on a local disk. It is created, with its folder, if it doesn't exist, and only its owner can read it. It can't be the file
   * of a journal.
   */
  file: string
  /**
   * `'full'`: what a run added survives a power failure. `'normal'`: it survives a crash of the process, and a power failure may lose the
   * latest additions. Default `'full'`.
   */
  synchronous?: 'full' | 'normal'
  /** How long to wait while another process has locked the file, in milliseconds. After that, a call fails. Default 5,000. */
  busyTimeoutMs?: number
  /** The largest size of the file in bytes, at least 1,048,576. What doesn't fit fails with `session_failed`. Default: none. */
  maxBytes?: number
  /** Where jumps of this machine's clock are logged. Default: warnings and errors, to standard error. */
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
 * Stores conversations in an SQLite file, without a server. Several processes may use it at once; the sessions of one that dies are free
 * for the others. Throws `invalid_option`. The file is opened by the first call: a full disk, a file that is locked, damaged, read-only, of
 * a newer version or of another program is told then, with `session_failed`.
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
