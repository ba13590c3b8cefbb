import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import type { RunnerOptions } from '../../src/agent/types/options.ts'
import { type SqliteJournalOptions, sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { inFolder } from './temp-folder.ts'

/** Fills a file whose journal may have 1 MiB, until there is room again. */
function fill(file: string): { end(): void } {
  const database = new DatabaseSync(file, { timeout: 10_000 })
  database.exec('CREATE TABLE IF NOT EXISTS ballast (value BLOB); INSERT INTO ballast VALUES (zeroblob(2097152))')
  return {
    end: () => {
      database.exec('DELETE FROM ballast')
      database.close()
    },
  }
}

/** Two payments at once: `first` ends while the disk is full, `second` when it is told to. */
function open(options: SqliteJournalOptions, more: Omit<Partial<RunnerOptions>, 'journal'> & { journal?: undefined } = {}) {
  const called: string[] = []
  const during = Promise.withResolvers<void>()
  const [first, second] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
  const pay = (name: string, end: Promise<string>) =>
    defineTool({
      name,
      description: 'Pays.',
      execute: () => {
        if (called.push(name) === 2) during.resolve()
        return end
      },
    })
  const journal = sqliteJournal({ maxBytes: 1_048_576, takeOverEveryMs: 100, ...options })
  const { logger, records } = recordingLogger()
  const runner = new AgentRunner({
    model: scriptedModel(({ messages }) =>
      messages.at(-1)?.role === 'tool' ? 'done' : { toolCalls: [{ name: 'first' }, { name: 'second' }] },
    ),
    tools: [pay('first', first.promise), pay('second', second.promise)],
    journal,
    logger,
    ...more,
  })
  return { journal, runner, called, records, during: during.promise, first, second }
}

const outcomesOf = async ({ runs }: AgentRunner, runId: string) =>
  (await runs.get(runId))?.result?.toolCalls.map(({ tool, outcome, content }) => `${tool} ${outcome} ${String(content).length}`)

describe('a call of an unsafe tool that ends while the disk is full', () => {
  it('P1.13 is made once: its run breaks off, and continues by itself with the result as soon as there is room', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'runs.sqlite')
      const { journal, runner, called, during, first, second } = open({ file })
      const running = runner.run('go', { runId: 'run' })
      await during
      const disk = fill(file)
      first.resolve('x'.repeat(20_000))
      // The other one has not been aborted: it ends later, and is known as well.
      await expect.poll(async () => (await runner.runs.get('run'))?.status).toBe('running')
      second.resolve('y'.repeat(20_000))
      await expect(running).rejects.toMatchObject({ code: 'journal_failed', message: expect.stringContaining('the disk is full') })
      // Nobody else makes the calls again meanwhile, neither here nor in another process.
      const other = open({ file, busyTimeoutMs: 4_999 })
      expect(await other.runner.recover()).toEqual([])
      expect(await runner.recover()).toEqual([])
      await expect(runner.resume('run')).rejects.toMatchObject({ code: 'journal_failed' })
      await expect(runner.run('go'.repeat(30_000), { runId: 'new' })).rejects.toMatchObject({ code: 'journal_failed' })
      disk.end()
      await expect.poll(async () => (await runner.runs.get('run'))?.status).toBe('ended')
      expect(await outcomesOf(runner, 'run')).toEqual(['first ok 20000', 'second ok 20000'])
      expect([...called, ...other.called]).toEqual(['first', 'second'])
      await journal.close()
      await other.journal.close()
    }))

  it('P1.13 is recorded when the journal is closed, if there is room by then', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'runs.sqlite')
      const { journal, runner, called, during, first, second } = open({ file, takeOverEveryMs: Number.POSITIVE_INFINITY })
      const running = runner.run('go', { runId: 'run' })
      await during
      const disk = fill(file)
      for (const { resolve } of [first, second]) resolve('x'.repeat(20_000))
      await expect(running).rejects.toMatchObject({ code: 'journal_failed' })
      disk.end()
      await journal.close()
      const next = open({ file })
      expect(await next.runner.recover()).toEqual([{ runId: 'run', stopReason: 'answered' }])
      expect(await outcomesOf(next.runner, 'run')).toEqual(['first ok 20000', 'second ok 20000'])
      expect([...called, ...next.called]).toEqual(['first', 'second'])
      await next.journal.close()
    }))

  it('P1.13 is uncertain if its process ends before there is room', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'runs.sqlite')
      const { journal, runner, during, first, second } = open({ file })
      const running = runner.run('go', { runId: 'run' })
      await during
      const disk = fill(file)
      for (const { resolve } of [first, second]) resolve('x'.repeat(20_000))
      await expect(running).rejects.toMatchObject({ code: 'journal_failed' })
      await journal.close()
      disk.end()
      const next = open({ file })
      const [ended] = await next.runner.recover()
      expect([ended?.runId, next.called]).toEqual(['run', []])
      expect((await next.runner.runs.get('run'))?.result?.toolCalls.map(({ outcome }) => outcome)).toEqual(['uncertain', 'uncertain'])
      await next.journal.close()
    }))

  it('P1.13 has its long result cut if that can’t be stored', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'runs.sqlite')
      const { journal, runner, called, records, during, first, second } = open(
        { file },
        { largeResults: { overBytes: 10_000 }, maxResultBytes: 12_000 },
      )
      const running = runner.run('go', { runId: 'run' })
      await during
      const disk = fill(file)
      for (const { resolve } of [first, second]) resolve('x'.repeat(100_000))
      const ended = await running.catch(({ code }) => code)
      disk.end()
      await expect.poll(async () => (await runner.runs.get('run'))?.status).toBe('ended')
      expect((await runner.runs.get('run'))?.result?.toolCalls.map(({ tool, outcome }) => `${tool} ${outcome}`)).toEqual([
        'first ok',
        'second ok',
      ])
      expect([ended, called]).toEqual(['journal_failed', ['first', 'second']])
      expect(records.filter(({ message }) => message === 'a long result could not be stored, and was cut')).toHaveLength(2)
      await journal.close()
    }))

  it('P1.13 is made once inside the call of an agent too', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'runs.sqlite')
      // Says how long its results are.
      const telling = scriptedModel(({ messages }) => {
        const results = messages.filter(({ role }) => role === 'tool')
        const calls = [{ name: 'first' }, { name: 'second' }]
        return results.length > 0 ? results.map(({ content }) => String(content).length).join(' and ') : { toolCalls: calls }
      })
      const {
        runner: inner,
        called,
        during,
        first,
        second,
        journal: unused,
      } = open({ file: join(folder, 'unused.sqlite') }, { journal: undefined, model: telling })
      const journal = sqliteJournal({ file, maxBytes: 1_048_576, takeOverEveryMs: 100 })
      const beside = Promise.withResolvers<string>()
      const wait = defineTool({ name: 'wait', description: 'Waits.', execute: () => beside.promise })
      const runner = new AgentRunner({
        model: scriptedModel(({ messages }) => {
          const calls = [{ name: 'help', args: { task: 'Pay.' } }, { name: 'wait' }]
          return messages.at(-1)?.role === 'tool' ? 'done' : { toolCalls: calls }
        }),
        tools: [asTool(inner, { name: 'help', description: 'Helps.', effect: 'idempotent' }), wait],
        journal,
        logger: recordingLogger().logger,
      })
      const running = runner.run('go', { runId: 'run' })
      await during
      const disk = fill(file)
      for (const { resolve } of [first, second]) resolve('x'.repeat(20_000))
      beside.resolve('y'.repeat(20_000))
      await expect(running).rejects.toMatchObject({ code: 'journal_failed' })
      disk.end()
      await expect.poll(async () => (await runner.runs.get('run'))?.status).toBe('ended')
      const calls = (await runner.runs.get('run'))?.result?.toolCalls
      expect(calls?.map(({ tool, outcome, content }) => `${tool} ${outcome} ${String(content).slice(0, 15)}`)).toEqual([
        'help ok 20000 and 20000',
        'wait ok yyyyyyyyyyyyyyy',
      ])
      expect(called).toEqual(['first', 'second'])
      await journal.close()
      await unused.close()
    }))
})
