/** `toolloop/sessions/sqlite`: conversations that outlive the process, in one file. */
import { type ExpiryOptions, expiryOf } from '../../agent/sessions/session-options.ts'
import { Sessions } from '../../agent/sessions/sessions.ts'
import { defaultLogger, type Logger, redacting } from '../../core/logger.ts'
import { checkOptionNames, type OptionNames } from '../../core/option-names.ts'
import { fileOptions } from '../../sqlite/sqlite-file.ts'
import { SqliteSessionStore } from './sqlite-session-store.ts'

/** What `sqliteSessions` takes. */
export interface SqliteSessionsOptions extends ExpiryOptions {
  /**
   * The file, on a local disk; made, with its folder, if it is not there, and readable for its owner alone. SQLite and the sessions put files
   * beside it whose names begin with its own. Not that of a journal: each has a file of its own.
   */
  file: string
  /**
   * `'full'`: what a run has added survives a power failure. `'normal'`: it survives the process, and the latest may be lost with the power.
   * Default `'full'`.
   */
  synchronous?: 'full' | 'normal'
  /** How long another process may keep the file locked before a call fails, in milliseconds. Default 5 000. */
  busyTimeoutMs?: number
  /** Most bytes of the file, at least 1 048 576; what does not fit fails with `session_failed`. Default: what the disk has. */
  maxBytes?: number
  /** Where it is logged that the clock of this machine has jumped. Default: warnings and errors, to standard error. */
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
 * Conversations in an SQLite file, without a server. Several processes may use it at once; the sessions of one that dies are free for the
 * others. Throws `invalid_option`. The file is opened by the first call: a full disk, a file that is locked, damaged, read-only, of a newer
 * version or of another program is told then, with `session_failed`.
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
