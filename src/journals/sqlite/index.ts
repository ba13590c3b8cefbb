/** `toolloop/journals/sqlite`: runs that outlive the process, in one file. */
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
   * The file, on a local disk. It is created, with its folder, if it doesn't exist, and only its owner can read it. SQLite and the journal
   * create further files beside it whose names start with its name.
   */
  file: string
  /** A name for this agent, if several share the file: each sees and continues only its own runs. Default `'default'`. */
  agent?: string
  /**
   * `'full'`: a recorded step survives a power failure. `'normal'`: it survives a crash of the process, and a power failure may lose the
   * latest steps. Default `'full'`.
   */
  synchronous?: 'full' | 'normal'
  /** How long to wait while another process has locked the file, in milliseconds. After that, a call fails. Default 5,000. */
  busyTimeoutMs?: number
  /** The largest size of the file in bytes, at least 1,048,576. A write that doesn't fit fails with `journal_failed`. Default: none. */
  maxBytes?: number
  /**
   * Uses a copy of a journal whose original is in use. Both then execute the runs, including those of living processes. Default false: the
   * copy is refused with `journal_failed`.
   */
  adopt?: boolean
  /**
   * How often this process looks for runs that no living process executes, in milliseconds, and continues them; at least 100. `Infinity`:
   * only `recover()` continues them. Starts with the first run or the first `recover()`. Default 2,000.
   */
  takeOverEveryMs?: number
  /** How many of these runs are executed at once. Default 100. */
  takeOverConcurrency?: number
  /**
   * How many processes in a row may die while they execute a run and record nothing new of it. Then the run ends with `aborted`.
   * `Infinity`: no limit. Default 10.
   */
  maxTakeOvers?: number
  /** Where jumps of this machine's clock are logged. Default: warnings and errors, to standard error. */
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
 * Records runs in an SQLite file, without a server. Several processes can share the file. Each run is executed by one of them; if that
 * process dies, another process that has started to execute runs resumes its runs within seconds. `runner.recover()` resumes them at once.
 * Throws `invalid_option`. The first run opens the file. It fails with `journal_failed` if the disk is full, or if the file is locked,
 * damaged, read-only, of a newer version or of another program.
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
