import type { PruneOptions } from '../../agent/journal/journal.ts'
import type { ShownRuns } from '../../agent/journal/shown-runs.ts'
import type { RunTries, Store } from '../../agent/journal/store.ts'
import type { ToolloopError } from '../../core/errors.ts'
import { defaultLogger, type Logger } from '../../core/logger.ts'
import type { DatabaseOptions } from '../../sqlite/database.ts'
import { inMemory } from '../../sqlite/file-place.ts'
import { FileThread, SqliteFile } from '../../sqlite/sqlite-file.ts'
import { inParts } from '../queries/run-work.ts'
import { aged, packedNews } from '../queries/shown-news.ts'
import { runsSchema } from './runs-schema.ts'
import type { RunsTable } from './runs-table.ts'
import type { ShownRunsTable } from './shown-runs-table.ts'
import type { RunsOptions } from './store-thread.ts'
import { workerCode } from './store-thread-code.ts'

/** The thread that opens all journal files of this process. */
export const journalThread: FileThread = new FileThread(workerCode)

export class SqliteStore implements Store {
  readonly #file: SqliteFile<RunsTable>
  readonly #shown: SqliteFile<ShownRunsTable>
  #lost: ((problem: ToolloopError) => void) | undefined

  /** Returns the name of a new database in memory. The database is deleted when its store is closed. */
  static inMemory(): string {
    return inMemory()
  }

  constructor(database: DatabaseOptions, agent: string, logger: Logger = defaultLogger) {
    const own = (isShown: boolean): RunsOptions => ({ agent, isShown })
    this.#file = new SqliteFile(
      runsSchema,
      journalThread,
      { database, own: own(false) },
      { logger, lost: (problem) => this.#lost?.(problem) },
    )
    this.#shown = new SqliteFile(runsSchema, journalThread, { database, own: own(true) }, { logger })
  }

  take: Store['take'] = (...args) => this.#file.call('take', ...args)
  record: Store['record'] = (...args) => this.#file.call('record', ...args)
  keep: Store['keep'] = (...args) => this.#file.call('keep', ...args)
  kept: Store['kept'] = (...args) => this.#file.call('kept', ...args)
  append: Store['append'] = (...args) => this.#file.call('append', ...args)
  entries: Store['entries'] = (...args) => this.#file.call('entries', ...args)
  noteTries: Store['noteTries'] = (...args) => this.#file.call('noteTries', ...args)
  finish: Store['finish'] = (...args) => this.#file.call('finish', ...args)
  suspend: Store['suspend'] = (...args) => this.#file.call('suspend', ...args)
  release: Store['release'] = (...args) => this.#file.call('release', ...args)
  deliver: Store['deliver'] = (...args) => this.#file.call('deliver', ...args, crypto.randomUUID())
  cancel: Store['cancel'] = (...args) => this.#file.call('cancel', ...args)
  cancelled: Store['cancelled'] = () => this.#file.call('cancelled')
  get: Store['get'] = (...args) => this.#file.call('get', ...args)
  // Copies the known fields, because the caller's object may contain a function, which can't be sent to the thread.
  list: Store['list'] = ({ status, stopReason, session, model, process, createdAfter, createdBefore, metadata, limit, cursor }) =>
    this.#file.call('list', { status, stopReason, session, model, process, createdAfter, createdBefore, metadata, limit, cursor })
  news: Store['news'] = (...args) => this.#file.call('news', ...args)
  pending: Store['pending'] = () => this.#file.call('pending')
  prune({ olderThanMs, keep }: PruneOptions): Promise<number> {
    return inParts(() => this.#file.call('prune', { olderThanMs, keep }))
  }

  /** The runs that the service lists, called shown runs. */
  readonly shown: ShownRuns = {
    tryWriting: () => this.#shown.call('tryWriting'),
    begin: (...args) => this.#shown.call('begin', ...args),
    append: (runId, attempt, news) => this.#shown.call('append', runId, attempt, packedNews(news)),
    put: (run, attempt, news, outcome, room) => this.#shown.callWithNext('put', run, attempt, packedNews(news), aged(outcome), room),
    settle: (runId, expected, outcome, room) => this.#shown.call('settle', runId, expected, aged(outcome), room),
    giveUp: (...args) => this.#shown.call('giveUp', ...args),
    noteDecisions: (...args) => this.#shown.call('noteDecisions', ...args),
    withdrawDecisions: (...args) => this.#shown.call('withdrawDecisions', ...args),
    get: (...args) => this.#shown.call('get', ...args),
    result: (...args) => this.#shown.call('result', ...args),
    state: (...args) => this.#shown.call('state', ...args),
    events: (...args) => this.#shown.call('events', ...args),
    writesInOrder: true,
    keepRecording: (...args) => this.#file.callWithNext('keepRecording', ...args),
    recording: (...args) => this.#shown.call('recording', ...args),
    progress: (...args) => this.#shown.call('progress', ...args),
    sendMessages: (...args) => this.#shown.call('sendMessages', ...args, crypto.randomUUID()),
    messages: (...args) => this.#shown.call('messages', ...args),
    list: (...args) => this.#shown.call('list', ...args),
    sum: (...args) => this.#shown.call('sum', ...args),
    sessions: (...args) => this.#shown.call('sessions', ...args),
    unsettled: (...args) => this.#shown.call('unsettled', ...args),
    waiting: (...args) => this.#shown.call('waiting', ...args),
    closeMessages: (...args) => this.#shown.call('closeMessages', ...args),
    clear: (...args) => this.#shown.call('clear', ...args),
    forget: (bounds) => inParts(() => this.#shown.call('forget', bounds)),
  }

  onLost(lost: (problem: ToolloopError) => void): void {
    this.#lost = lost
  }

  async close(tries: readonly RunTries[] = []): Promise<void> {
    // Errors are ignored, so that closing works even if another owner has taken over a run, or if the file can't be written.
    await Promise.allSettled(tries.map(({ runId, epoch, tries }) => this.noteTries(runId, epoch, tries)))
    await Promise.all([this.#file.close(), this.#shown.close()])
  }
}
