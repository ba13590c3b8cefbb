import { join } from 'node:path'
import { expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { inFolder } from './temp-folder.ts'

it('what can’t be sent to the thread fails its calls, and the journal goes on', () =>
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

it('a query or a bound that is not known is refused', () =>
  inFolder(async (folder) => {
    const journal = sqliteJournal({ file: join(folder, 'runs.sqlite') })
    const { runs } = new AgentRunner({ model: scriptedModel(() => 'done'), journal })
    await expect(runs.list({ state: 'ended' } as never)).rejects.toMatchObject({ code: 'invalid_option' })
    await expect(runs.prune({ keep: 1, olderThan: 5 } as never)).rejects.toMatchObject({ code: 'invalid_option' })
    await journal.close()
  }))
