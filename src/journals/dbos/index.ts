/** `toolloop/journals/dbos`: runs that outlive the process and the machine, as workflows of DBOS in PostgreSQL. */
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
   * The address of the database, such as `postgres://user:password@host:5432/name`: of the server itself or a pooler in session mode,
   * because each lock needs its own session.
   */
  url: string
  /** A name for this agent, if several share the database: each sees and continues only its own runs. Without `/`. Default `'default'`. */
  agent?: string
  /** The schema of the journal's own tables, created if it doesn't exist. DBOS uses its own, `dbos`. Default `'toolloop'`. */
  schema?: string
  /**
   * The largest number of connections of this process to the database, at least 7. DBOS uses two thirds of them for all journals. Default
   * 13.
   */
  connections?: number
  /** How long a call waits for an unreachable server, in milliseconds. A step waits as long as it takes. Default 30,000. */
  outageMs?: number
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
  /**
   * Whether the journal launches DBOS, and shuts it down with the last journal of the process. `false`: your application launches it,
   * after `dbosJournal`, on the same database, with its own `executorID` in each process. Default true.
   */
  launch?: boolean
  /**
   * Where DBOS logs, for all journals of the process; the first one's counts. Not used with `launch: false`. Default: warnings and errors,
   * to standard error.
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
 * process dies, another continues it within seconds. Needs the packages `@dbos-inc/dbos-sdk` and `pg`. Throws `missing_dependency` without
 * them, and `invalid_option`. The first run connects to the database, and rejects with `journal_failed` if that fails. The connections keep
 * the process alive until `close()`.
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
    // The error doesn't quote the value, because it may contain a password.
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
