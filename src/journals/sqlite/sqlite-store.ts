import type { PruneOptions } from '../../agent/durable/journal.ts'
import type { Store } from '../../agent/durable/store.ts'
import type { ToolloopError } from '../../core/errors.ts'
import type { DatabaseOptions } from '../../sqlite/database.ts'
import { SqliteFile } from '../../sqlite/sqlite-file.ts'
import { FileThread } from '../../sqlite/thread-link.ts'
import { prunedAtOnce, type RecordedRuns } from './recorded-runs.ts'
import { runsSchema } from './runs-schema.ts'
import type { RunsOptions } from './store-thread.ts'
import { workerCode } from './store-thread-code.ts'

/** Has the files of all journals. `.ts` when run from the sources, `.js` when built. */
export const journalThread: FileThread = new FileThread(workerCode)

/** The runs in a file. */
export class SqliteStore implements Store {
  readonly #file: SqliteFile<RecordedRuns>
  #lost: ((problem: ToolloopError) => void) | undefined

  constructor(database: DatabaseOptions, agent: string) {
    this.#file = new SqliteFile(runsSchema, journalThread, { database, own: { agent } satisfies RunsOptions }, (problem) =>
      this.#lost?.(problem),
    )
  }

  take: Store['take'] = (...args) => this.#file.call('take', ...args)
  record: Store['record'] = (...args) => this.#file.call('record', ...args)
  keep: Store['keep'] = (...args) => this.#file.call('keep', ...args)
  kept: Store['kept'] = (...args) => this.#file.call('kept', ...args)
  noteTries: Store['noteTries'] = (...args) => this.#file.call('noteTries', ...args)
  finish: Store['finish'] = (...args) => this.#file.call('finish', ...args)
  suspend: Store['suspend'] = (...args) => this.#file.call('suspend', ...args)
  release: Store['release'] = (...args) => this.#file.call('release', ...args)
  deliver: Store['deliver'] = (...args) => this.#file.call('deliver', ...args)
  cancel: Store['cancel'] = (...args) => this.#file.call('cancel', ...args)
  cancelled: Store['cancelled'] = () => this.#file.call('cancelled')
  get: Store['get'] = (...args) => this.#file.call('get', ...args)
  // Field by field: what else the caller's object may hold, such as a function, can't be sent to the thread.
  list: Store['list'] = ({ status, createdAfter, createdBefore, limit, cursor }) =>
    this.#file.call('list', { status, createdAfter, createdBefore, limit, cursor })
  pending: Store['pending'] = () => this.#file.call('pending')
  async prune({ olderThanMs, keep }: PruneOptions): Promise<number> {
    for (let deleted = 0; ; ) {
      const more: number = await this.#file.call('prune', { olderThanMs, keep })
      deleted += more
      // Not until there is none: runs that end meanwhile could keep this from ending.
      if (more < prunedAtOnce) return deleted
    }
  }

  onLost(lost: (problem: ToolloopError) => void): void {
    this.#lost = lost
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}
