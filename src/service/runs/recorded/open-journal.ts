import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Journal } from '../../../agent/durable/journal.ts'
import type { ShownRuns } from '../../../agent/durable/shown-runs.ts'
import { storeJournal } from '../../../agent/durable/store-journal.ts'
import { InvalidOptionError, messageOf } from '../../../core/errors.ts'

/** Where runs are recorded, and what is shown of them. */
export interface OpenedJournal {
  journal: Journal
  shown: ShownRuns
  close(): Promise<void>
}

/** Opens the journal of a folder, which is made if need be; `option` is what named it. Rejects with `invalid_option` when it can't be had. */
export async function openJournal(folder: string, option: string): Promise<OpenedJournal> {
  let opened: OpenedJournal | undefined
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    // One that was there already may have been open to others.
    await chmod(folder, 0o700)
    const { SqliteStore } = await import('../../../journals/sqlite/sqlite-store.ts')
    const file = join(folder, 'runs.sqlite')
    const store = new SqliteStore({ file, synchronous: 'full', busyTimeoutMs: 5_000, maxBytes: undefined }, 'service')
    const journal = storeJournal(store)
    const { shown } = store
    opened = { journal, shown, close: () => journal.close() }
    // Opens the file.
    await shown.waiting()
    return opened
  } catch (error) {
    await opened?.close().catch(() => {})
    throw new InvalidOptionError(option, `a folder that can be written to (${messageOf(error)})`, folder)
  }
}
