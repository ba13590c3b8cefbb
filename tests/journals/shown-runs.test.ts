import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { storeJournal } from '../../src/agent/durable/store-journal.ts'
import { SqliteStore } from '../../src/journals/sqlite/sqlite-store.ts'
import { describeShownRuns } from './shown-runs-contract.ts'

describeShownRuns('in an SQLite file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'toolloop-shown-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'runs.sqlite')
  const store = new SqliteStore({ file, synchronous: 'normal', busyTimeoutMs: 5_000, maxBytes: undefined }, 'service')
  const journal = storeJournal(store)
  onTestFinished(() => journal.close())
  return { shown: store.shown, journal }
})
