import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Journal } from '../../../agent/journal/journal.ts'
import type { ShownRuns } from '../../../agent/journal/shown-runs.ts'
import type { EngineStore, Store } from '../../../agent/journal/store.ts'
import { storeJournal } from '../../../agent/journal/store-journal.ts'
import { InvalidOptionError, messageOf } from '../../../core/errors.ts'
import { defaultLogger, type Logger, redacting } from '../../../core/logger.ts'
import type { RunPlace } from '../../run-bounds.ts'
import type { ServiceRun } from '../service-run.ts'
import { Caretaker } from './caretaker.ts'
import { RecordedRuns, type RecordedRunsParts } from './recorded-runs.ts'
import { WriteCheck } from './write-check.ts'

export interface Recorded {
  runs: RecordedRuns
  caretaker: Caretaker
  writeCheck: WriteCheck
  /** Releases all runs, so that another process can resume them. */
  close(): Promise<void>
}

interface RecordedParts extends Omit<RecordedRunsParts, 'journal' | 'shown'> {
  /** Resumes a run that no process executes. Resolves when it has started. */
  carryOn(run: ServiceRun): Promise<void>
  tidied(): Promise<void>
}

/** Opens the store of runs. Rejects with `invalid_option` if it can't be opened. */
export async function openRecorded(place: RunPlace, { carryOn, tidied, ...parts }: RecordedParts): Promise<Recorded> {
  const { bounds, runOf, logger } = parts
  const opened = await openRunStore(place, logger)
  const runs = new RecordedRuns({ ...parts, ...opened })
  const isHere = (runId: string) => runOf(runId) !== undefined
  const caretaker = new Caretaker({ runs, bounds, isHere, carryOn, tidied, logger })
  const close = async () => {
    const stopped = caretaker.close()
    await opened.close()
    await stopped
    runs.close()
  }
  return { runs, caretaker, writeCheck: new WriteCheck(opened.shown, logger), close }
}

/** The journal, which resumes runs, and the store of shown runs, which the service lists. */
export interface OpenedStore {
  journal: Journal
  shown: ShownRuns
  close(): Promise<void>
}

/** The agent name under which the journal stores all runs. */
const agent = 'service'
/** The configuration option that names the folder. */
const folderOption = 'service.keepRuns.folder'
/** How long a call waits for a locked file or an unreachable server, in milliseconds. After that, the call fails. */
export const outageMs = 5_000

/** Opens the store, and creates its folder if necessary. Rejects with `invalid_option` if it can't be opened. */
export async function openRunStore(place: RunPlace, logger: Logger = defaultLogger): Promise<OpenedStore> {
  let opened: OpenedStore | undefined
  try {
    const store = await openStore(place, logger)
    // The journal doesn't resume abandoned runs by itself, because the service decides which runs are resumed.
    const journal = storeJournal(store)
    const { shown } = store
    opened = { journal, shown, close: () => journal.close() }
    // Checks that the file or the server can be used. A store in memory can't fail, and starting its thread is slow.
    if (place.kind !== 'memory') await shown.waiting()
    return opened
  } catch (error) {
    await opened?.close().catch(() => {})
    const why = messageOf(error)
    if (place.kind === 'sqlite') throw new InvalidOptionError(folderOption, `a folder that can be written to (${why})`, place.folder)
    // The message doesn't quote the URL of the database, because the URL may contain a password.
    throw new InvalidOptionError('service.journal', `a database that can be used (${why})`, place.kind)
  }
}

async function openStore(place: RunPlace, logger: Logger): Promise<(Store | EngineStore) & { shown: ShownRuns }> {
  if (place.kind === 'dbos') {
    const { DbosStore } = await import('../../../journals/dbos/dbos-store.ts')
    const { url, schema = 'toolloop', connections = 13 } = place
    return new DbosStore({ url, agent, schema, connections, outageMs, launch: true, logger: redacting(logger) })
  }
  const { SqliteStore } = await import('../../../journals/sqlite/sqlite-store.ts')
  const file = place.kind === 'memory' ? SqliteStore.inMemory() : await fileIn(place.folder)
  return new SqliteStore({ file, synchronous: 'full', busyTimeoutMs: outageMs, maxBytes: undefined }, agent, redacting(logger))
}

async function fileIn(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  // An existing folder may be accessible to other users.
  await chmod(folder, 0o700)
  return join(folder, 'runs.sqlite')
}
