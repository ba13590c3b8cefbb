/** `toolloop/journals/sqlite`: runs that outlive the process, in one file. */
import type { Journal } from '../../agent/journal/journal.ts'
import { checkedTakeOver } from '../../agent/journal/recovery/take-over.ts'
import { checkMaxTakeOvers, storeJournal } from '../../agent/journal/store-journal.ts'
import { InvalidOptionError } from '../../core/errors.ts'
import { defaultLogger, type Logger, redacting } from '../../core/logger.ts'
import { checkOptionNames, type OptionNames } from '../../core/option-names.ts'
import { fileOptions } from '../../sqlite/sqlite-file.ts'
import { SqliteStore } from './sqlite-store.ts'

/** What `sqliteJournal` takes. */
export interface SqliteJournalOptions {
  /**
   * The file, on a local disk; made, with its folder, if it is not there, and readable for its owner alone. SQLite and the journal put files
   * beside it whose names begin with its own.
   */
  file: string
  /** Whose runs these are, where several agents share the file: no agent sees or takes up another's. Default `'default'`. */
  agent?: string
  /**
   * `'full'`: a step that is recorded survives a power failure. `'normal'`: it survives the process, and the latest steps may be lost with the
   * power. Default `'full'`.
   */
  synchronous?: 'full' | 'normal'
  /** How long another process may keep the file locked before a call fails, in milliseconds. Default 5 000. */
  busyTimeoutMs?: number
  /** Most bytes of the file, at least 1 048 576; what does not fit fails with `journal_failed`. Default: what the disk has. */
  maxBytes?: number
  /**
   * Whether a copy of a journal is used though its original is: its runs are executed here as well then, those of living processes among them.
   * Default false: it is refused with `journal_failed`.
   */
  adopt?: boolean
  /**
   * How often this process looks for runs that no living process executes, and resumes them, in milliseconds, at least 100; `Infinity`: only
   * `recover()` does. Begins with the first run, or the first `recover()`. Default 2 000.
   */
  takeOverEveryMs?: number
  /** How many runs that were resumed this way are executed at once, at most. Default 100. */
  takeOverConcurrency?: number
  /**
   * How many processes in a row that have taken a run up may die before anything more of it is recorded; then it is ended with `aborted`.
   * `Infinity`: no limit. Default 10.
   */
  maxTakeOvers?: number
  /** Where it is logged that the clock of this machine has jumped. Default: warnings and errors, to standard error. */
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
 * A journal in an SQLite file, without a server. Several processes may use it at once, each run being carried out by one of them; when that
 * dies, another that has begun to execute runs resumes its runs within seconds; `runner.recover()` does so at once. Throws `invalid_option`. The file is opened by the first run: a full disk, a file
 * that is locked, damaged, read-only, of a newer version or of another program is told then, with `journal_failed`.
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
