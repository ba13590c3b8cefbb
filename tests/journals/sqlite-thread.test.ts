import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { Durable } from '../../src/agent/journal/journal.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { journalThread } from '../../src/journals/sqlite/sqlite-store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { inFolder } from './temp-folder.ts'

it('a value that can’t be sent to the thread fails its calls, and the journal continues to work', () =>
  inFolder(async (folder) => {
    const journal = sqliteJournal({ file: join(folder, 'runs.sqlite') })
    const engine = journal.connect(async () => ({}))
    const reason = (() => 1) as never
    await expect(engine.cancel('run', reason)).rejects.toMatchObject({
      code: 'journal_failed',
      message: expect.stringMatching(/could not be cloned/),
    })
    expect(await engine.pending()).toEqual([])
    await expect(engine.cancel('run', reason)).rejects.toMatchObject({ code: 'journal_failed' })
    expect(await engine.list?.({ filter: reason } as never)).toEqual({ runs: [] })
    expect(await engine.prune?.({ keep: 1, filter: reason } as never)).toBe(0)
    await journal.close()
  }))

it('an unknown query or option is refused', () =>
  inFolder(async (folder) => {
    const journal = sqliteJournal({ file: join(folder, 'runs.sqlite') })
    const { runs } = new AgentRunner({ model: scriptedModel(() => 'done'), journal })
    await expect(runs.list({ state: 'ended' } as never)).rejects.toMatchObject({ code: 'invalid_option' })
    await expect(runs.prune({ keep: 1, olderThan: 5 } as never)).rejects.toMatchObject({ code: 'invalid_option' })
    await journal.close()
  }))

const quiet = { answered() {}, ended() {} }
const databaseOf = (file: string) => ({ file, synchronous: 'full' as const, busyTimeoutMs: 1, maxBytes: undefined })
it('if the thread dies, running runs are aborted, and the journal’s next owner can resume them', () =>
  inFolder(async (folder) => {
    const journal = sqliteJournal({ file: join(folder, 'runs.sqlite') })
    const started: Durable[] = []
    const engine = journal.connect(async (durable) => {
      started.push(durable)
      if (started.length > 1) return { stopReason: 'answered' }
      await new Promise((resolve) => durable.signal?.addEventListener('abort', resolve))
      return durable.step('0.late', async () => null)
    })
    await engine.start('run', {})
    const first = engine.result('run')
    // No message that a store sends: the thread fails of it.
    const other = { database: databaseOf(join(folder, 'other.sqlite')), own: { agent: 'other' } }
    journalThread.send(journalThread.nextStore(), null as never, other, quiet)
    await expect(first).rejects.toMatchObject({ code: 'run_taken_over' })
    expect(started[0]?.signal?.reason).toMatchObject({ code: 'journal_failed' })
    expect(await engine.pending()).toEqual(['run'])
    await engine.start('run')
    expect(await engine.result('run')).toEqual({ stopReason: 'answered' })
    await journal.close()
    expect(readdirSync(join(folder, 'runs.sqlite-owners'))).toEqual([])
  }))

it('a store that fails to close does not affect the others', () =>
  inFolder(async (folder) => {
    const [one, two] = ['one', 'two'].map((name) => sqliteJournal({ file: join(folder, name) }))
    await one?.connect(async () => ({})).start('run', {})
    const { promise: end, resolve } = Promise.withResolvers<void>()
    const engine = two?.connect(async (durable) => {
      await end
      return durable.step('0.late', async () => ({ stopReason: 'answered' }))
    })
    await engine?.start('run', {})
    // What is no file can't be removed as one.
    const [lock = ''] = readdirSync(join(folder, 'one-owners'))
    rmSync(join(folder, 'one-owners', lock))
    mkdirSync(join(folder, 'one-owners', lock))
    await one?.close()
    resolve()
    expect(await engine?.result('run')).toEqual({ stopReason: 'answered' })
    await two?.close()
  }))
