/** `toolloop/journals/sqlite`: records runs in an SQLite file, so that they survive the process. */
import type { Journal } from '../../agent/journal/journal.ts'
import { checkedTakeOver } from '../../agent/journal/recovery.ts'
import { checkMaxTakeOvers, storeJournal } from '../../agent/journal/store-journal.ts'
import { checkOptionNames, type OptionNames } from '../../core/check-options.ts'
import { InvalidOptionError } from '../../core/errors.ts'
import { defaultLogger, type Logger, redacting } from '../../core/logger.ts'
import { fileOptions } from '../../sqlite/sqlite-file.ts'
import { SqliteStore } from './sqlite-store.ts'

/** Options of `sqliteJournal`. */
export interface SqliteJournalOptions {
  /**
   * The path of the database file, which must be on a local disk. The file and its folder are created if they don't exist. Only the owner
   * of the file can read it. SQLite and the journal create more files next to it, whose names start with the same name.
   */
  file: string
  /** A name for this agent, if several agents share the file. Each agent sees and resumes only its own runs. Default `'default'`. */
  agent?: string
  /**
   * `'full'`: a recorded step survives a power failure. `'normal'`: a recorded step survives a crash of the process, but a power failure
   * may lose the latest steps. Default `'full'`.
   */
  synchronous?: 'full' | 'normal'
  /** How long a call waits for a file that another process has locked, in milliseconds. After that, the call fails. Default 5,000. */
  busyTimeoutMs?: number
  /**
   * Maximum size of the file in bytes, at least 1,048,576. A write that would exceed the limit fails with `journal_failed`. Default: no
   * limit.
   */
  maxBytes?: number
  /**
   * Whether to accept a copy of a journal file while the original is in use. If true, every unfinished run is executed twice: from the
   * original and from the copy. If false, opening such a copy fails with `journal_failed`. Default false.
   */
  adopt?: boolean
  /**
   * How often this process looks for unfinished runs that no process executes, and resumes them: an interval in milliseconds, at least 100.
   * The first run or the first `recover()` starts the timer. `Infinity`: only `recover()` resumes such runs. Default 2,000.
   */
  takeOverEveryMs?: number
  /** Maximum number of taken-over runs that execute concurrently. Default 100. */
  takeOverConcurrency?: number
  /**
   * A run ends with `aborted` after this number of processes in a row have died while executing it. A recorded step resets the count.
   * `Infinity`: no limit. Default 10.
   */
  maxTakeOvers?: number
  /** Receives a warning if the clock of this machine jumps. Default: logs warnings and errors to standard error. */
  logger?: Logger
}

const optionNames: OptionNames<SqliteJournalOptions> = {
  file: true,
  agent: true,
  synchronous: true,
  busyTimeoutMs: true,
  maxBytes: true,
  adopt: true,
  takeOverEveryMs: true,
  takeOverConcurrency: true,
  maxTakeOvers: true,
  logger: true,
}

/**
 * Records runs in an SQLite file, without a server. Several processes can share the file. Each run is executed by one process. If the
 * process dies, another process that executes runs from the file resumes its runs within seconds. `runner.recover()` resumes them
 * immediately. Throws `invalid_option` for invalid options. The first run opens the file. That run fails with `journal_failed` if the disk
 * is full, or if the file is locked, damaged, read-only, or was created by a newer version or another program.
 *
 * ```ts
 * const runner = new AgentRunner({ model, tools, journal: sqliteJournal({ file: 'data/runs.sqlite' }) })
 * await runner.recover()
 * ```
 */
export function sqliteJournal(options: SqliteJournalOptions): Journal & { close(): Promise<void> } {
  checkOptionNames(options, optionNames, '`sqliteJournal`')
  const { agent = 'default', adopt = false, takeOverEveryMs, takeOverConcurrency, maxTakeOvers, logger = defaultLogger, ...file } = options
  const takeOver = checkedTakeOver({ takeOverEveryMs, takeOverConcurrency })
  checkMaxTakeOvers(maxTakeOvers)
  if (typeof agent !== 'string' || agent === '') throw new InvalidOptionError('agent', 'a name', agent)
  if (typeof adopt !== 'boolean') throw new InvalidOptionError('adopt', 'true or false', adopt)
  return storeJournal(new SqliteStore({ ...fileOptions(file), adopt }, agent, redacting(logger)), { takeOver, maxTakeOvers })
}
