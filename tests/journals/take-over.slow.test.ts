import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { type SqliteJournalOptions, sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { killHard, stuckProcess } from './stuck.ts'
import { inFolder } from './temp-folder.ts'

/** A process that finishes what the other could not; but not the runs that begin with `long`. */
function open(options: SqliteJournalOptions) {
  const keys: string[] = []
  const execute = (_args: unknown, { idempotencyKey }: { idempotencyKey: string }) => {
    keys.push(idempotencyKey)
    return idempotencyKey.startsWith('long') ? new Promise<string>(() => {}) : 'paid'
  }
  const pay = defineTool({ name: 'pay', description: 'Pays.', effect: 'idempotent', execute })
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'user' && messages[0]?.content === 'go' ? { toolCalls: [{ name: 'pay' }] } : 'done',
  )
  const journal = sqliteJournal({ takeOverEveryMs: 100, ...options })
  const { logger } = recordingLogger()
  return { journal, keys, runner: new AgentRunner({ model, tools: [pay], journal, logger }) }
}

it('P1.4 sqliteJournal: resumes the runs of a killed process by itself, once the runner has started a run or called `recover`', () =>
  inFolder(async (folder) => {
    const file = join(folder, 'runs.sqlite')
    const [starts, recovers, lists] = [open({ file }), open({ file }), open({ file })]
    const endsAs = async (runId: string) => {
      await expect.poll(async () => (await lists.runner.runs.get(runId))?.status).toBe('ended')
    }
    let child = await stuckProcess(file, 'one', 'two')
    expect(await starts.runner.run('hello')).toMatchObject({ output: 'done' })
    expect((await lists.runner.runs.list({ status: 'running' })).runs).toHaveLength(2)
    await killHard(child)
    await endsAs('one')
    await endsAs('two')
    expect(starts.keys.toSorted()).toEqual(['one/1.tool.0', 'two/1.tool.0'])

    await starts.journal.close()
    child = await stuckProcess(file, 'three')
    expect(await recovers.runner.recover()).toEqual([])
    await killHard(child)
    await endsAs('three')
    expect(recovers.keys).toEqual(['three/1.tool.0'])
    expect((await lists.runner.runs.list({ status: 'ended' })).runs).toHaveLength(4)
    expect(lists.keys).toEqual([])
    await recovers.journal.close()
    await lists.journal.close()
  }))

it('P1.4 sqliteJournal: leaves runs alone in a process that only lists them, and with `takeOverEveryMs: Infinity`', () =>
  inFolder(async (folder) => {
    const file = join(folder, 'runs.sqlite')
    const [lists, never] = [open({ file }), open({ file, takeOverEveryMs: Number.POSITIVE_INFINITY })]
    await killHard(await stuckProcess(file, 'left'))
    expect(await never.runner.run('hello')).toMatchObject({ output: 'done' })
    expect((await lists.runner.runs.list({ status: 'running' })).runs).toHaveLength(1)
    // When this one has resumed a run of its own, the others would have looked four times.
    const witness = open({ file: join(folder, 'witness.sqlite'), takeOverEveryMs: 400 })
    await killHard(await stuckProcess(join(folder, 'witness.sqlite'), 'seen'))
    await witness.runner.run('hello')
    await expect.poll(() => witness.keys).toEqual(['seen/1.tool.0'])
    expect([(await lists.runner.runs.get('left'))?.status, lists.keys, never.keys]).toEqual(['running', [], []])
    // `recover` stays as it was.
    expect(await never.runner.recover()).toEqual([{ runId: 'left', stopReason: 'answered' }])
    for (const { journal } of [lists, never, witness]) await journal.close()
  }))

describe('runs that two processes have died with', () => {
  const longRuns = Array.from({ length: 5 }, (_, n) => `long-${n}`)

  /** Kills two processes in the calls of these runs. */
  async function killedTwice(file: string, runIds: string[]): Promise<void> {
    for (let deaths = 0; deaths < 2; deaths++) await killHard(await stuckProcess(file, ...runIds))
  }

  it('P1.9 start within a second, whatever the first of them waits for', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'runs.sqlite')
      await killedTwice(file, [...longRuns, 'short'])
      const { journal, keys, runner } = open({ file })
      const recovering = runner.recover().catch(() => {})
      await expect.poll(() => keys[0]).toBe('long-0/1.tool.0')
      // By the clock within a tenth of a second; on a busy machine the test needs longer.
      await expect.poll(() => keys.length).toBe(6)
      await expect.poll(async () => (await runner.runs.get('short'))?.result?.output).toBe('done')
      await journal.close()
      await recovering
    }))

  it('P1.9 run alone for longer the more processes have died with them; cancelling waits for no turn', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'runs.sqlite')
      await killedTwice(file, [...longRuns, 'short'])
      const database = new DatabaseSync(file)
      database.exec('UPDATE runs SET tries = 9')
      database.close()
      const { journal, keys, runner } = open({ file })
      const recovering = runner.recover().catch(() => {})
      await expect.poll(() => keys).toEqual(['long-0/1.tool.0'])
      // Here, and through another process.
      const elsewhere = open({ file, busyTimeoutMs: 4_999 })
      await runner.runs.cancel('long-1', 'not wanted')
      await elsewhere.runner.runs.cancel('long-2', 'not wanted')
      for (const runId of ['long-1', 'long-2']) {
        await expect.poll(async () => (await runner.runs.get(runId))?.stopReason).toBe('aborted')
      }
      // It has its turn as soon as the one before it has ended.
      await runner.runs.cancel('long-0')
      await expect.poll(() => keys.at(-1)).toBe('long-3/1.tool.0')
      await journal.close()
      await recovering
      await elsewhere.journal.close()
    }))
})

it.each([{ takeOverEveryMs: 99 }, { takeOverEveryMs: '1' }, { takeOverEveryMs: Number.NaN }, { takeOverConcurrency: 0 }])(
  'P1.4 sqliteJournal: refuses %o',
  (options) => {
    const [name = ''] = Object.keys(options)
    expect(() => sqliteJournal({ file: 'x', ...options } as SqliteJournalOptions)).toThrow(`Expected \`${name}\` to be`)
  },
)
