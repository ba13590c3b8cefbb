import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { storeJournal } from '../../src/agent/journal/store-journal.ts'
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

describe('a part of a recording', () => {
  it('that does not fit on the disk takes no room from the step it is written with', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'toolloop-shown-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const store = new SqliteStore(
      { file: join(folder, 'runs.sqlite'), synchronous: 'normal', busyTimeoutMs: 5_000, maxBytes: 1_048_576 },
      'service',
    )
    onTestFinished(() => store.close())
    const shown = { caller: 'eva', agent: 'service', createdAt: Date.now(), title: 'Go', head: '{}' }
    await store.take('run', { input: '"go"', loop: 1 })
    await store.shown.begin({ runId: 'run', ...shown }, { attempt: 'one' })
    const part = store.shown.keepRecording('run', 'one', [{ name: '0', value: 'x'.repeat(2_000_000) }])
    const step = store.record('run', 1, '1.model', '"done"')
    await expect(part).rejects.toThrow('the disk is full')
    await step
    expect((await store.get('run'))?.status).toBe('running')
    expect(await store.shown.recording('run', '')).toEqual([])
  })
})
