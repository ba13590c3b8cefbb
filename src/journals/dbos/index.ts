/** `toolloop/journals/dbos`: records runs as DBOS workflows in PostgreSQL, so that they survive the loss of the process or the machine. */
import type { Journal } from '../../agent/journal/journal.ts'
import { checkedTakeOver } from '../../agent/journal/recovery.ts'
import { checkMaxTakeOvers, storeJournal } from '../../agent/journal/store-journal.ts'
import { checkOptionNames, type OptionNames } from '../../core/check-options.ts'
import { InvalidOptionError } from '../../core/errors.ts'
import { defaultLogger, type Logger, redacting } from '../../core/logger.ts'
import { DbosStore } from './dbos-store.ts'

/** Options of `dbosJournal`. */
export interface DbosJournalOptions {
  /**
   * The URL of the database, such as `postgres://user:password@host:5432/name`. Connect to the server directly or through a pooler in
   * session mode, because each lock needs its own session.
   */
  url: string
  /**
   * A name for this agent, if several agents share the database. Each agent sees and resumes only its own runs. Must not contain `/`.
   * Default `'default'`.
   */
  agent?: string
  /**
   * The schema for the journal's tables. It is created if it doesn't exist. DBOS keeps its tables in a separate schema, `dbos`. Default
   * `'toolloop'`.
   */
  schema?: string
  /**
   * Maximum number of database connections of this process, at least 7. DBOS uses two thirds of them, shared by all journals. Default 13.
   */
  connections?: number
  /** How long a call waits for an unreachable server, in milliseconds. Recording a step has no time limit. Default 30,000. */
  outageMs?: number
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
  /**
   * Whether the journal launches DBOS, and shuts it down when the last journal of the process closes. `false`: your application launches
   * DBOS after calling `dbosJournal`. DBOS must then use the same database, and a different `executorID` in each process. Default true.
   */
  launch?: boolean
  /**
   * The logger for DBOS. All journals of the process use the logger of the first journal. Ignored with `launch: false`. Default: warnings
   * and errors, to standard error.
   */
  logger?: Logger
}

const optionNames: OptionNames<DbosJournalOptions> = {
  url: true,
  agent: true,
  schema: true,
  connections: true,
  outageMs: true,
  takeOverEveryMs: true,
  takeOverConcurrency: true,
  maxTakeOvers: true,
  launch: true,
  logger: true,
}

/**
 * Records runs in PostgreSQL, for processes on several machines. Each run is executed by one process, as a workflow of DBOS; if that
 * process dies, another process continues the run within seconds. Needs the packages `@dbos-inc/dbos-sdk` and `pg`. Throws
 * `missing_dependency` if a package is not installed, and `invalid_option` if an option is invalid. The first run opens the connection to
 * the database, and rejects with `journal_failed` if the connection fails. Open connections keep the process alive until `close()`.
 *
 * ```ts
 * const journal = dbosJournal({ url: process.env.DATABASE_URL ?? '', agent: 'refunds' })
 * const runner = new AgentRunner({ model, tools, journal })
 * await runner.recover()
 * ```
 */
export function dbosJournal(options: DbosJournalOptions): Journal & { close(): Promise<void> } {
  checkOptionNames(options, optionNames, '`dbosJournal`')
  const { url, agent = 'default', schema = 'toolloop', connections = 13, outageMs = 30_000, launch = true } = options
  const { maxTakeOvers, logger = defaultLogger } = options
  if (typeof url !== 'string' || !URL.canParse(url) || !/^postgres(ql)?:$/.test(new URL(url).protocol)) {
    // The error doesn't quote the value of `url`, because the value may contain a password.
    throw new InvalidOptionError('url', 'the address of a database, as `postgres://user:password@host:5432/name`', 'another text')
  }
  if (typeof agent !== 'string' || !/^[^/\0]+$/.test(agent) || !agent.isWellFormed())
    throw new InvalidOptionError('agent', 'a name without `/`', agent)
  if (typeof schema !== 'string' || !/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw new InvalidOptionError('schema', 'a name of lower-case letters, digits and `_`', schema)
  }
  if (!Number.isSafeInteger(connections) || connections < 7) throw new InvalidOptionError('connections', 'an integer ≥ 7', connections)
  if (!(outageMs >= 0)) throw new InvalidOptionError('outageMs', 'milliseconds ≥ 0', outageMs)
  const takeOver = checkedTakeOver(options)
  checkMaxTakeOvers(maxTakeOvers)
  if (typeof launch !== 'boolean') throw new InvalidOptionError('launch', 'true or false', launch)
  const store = new DbosStore({ url, agent, schema, connections, outageMs, launch, logger: redacting(logger) })
  return storeJournal(store, { takeOver, maxTakeOvers })
}
