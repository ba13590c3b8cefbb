import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { hasPostgres, type Postgres, startPostgres } from '../postgres.ts'
import type { WorkerOptions } from './dbos-process.ts'
import { countRuns, ended, kill, killAll, seen, startWorker, worldOf } from './dbos-workers.ts'
import { inFolder } from './temp-folder.ts'

const isStart = (tool: string) => (line: string) => line.startsWith(`start ${tool} `)

describe.skipIf(!hasPostgres)('several workers on one database', () => {
  let postgres: Postgres
  beforeAll(async () => {
    postgres = await startPostgres()
  }, 60_000)
  afterEach(killAll)
  afterAll(() => postgres?.stop())
  const options = (folder: string, more: Partial<WorkerOptions>): WorkerOptions => ({
    url: postgres.url,
    folder,
    agent: folder.split('-').at(-1) ?? '',
    runs: 0,
    turns: 1,
    concurrency: 1,
    toolMs: [0, 0],
    takeOverEveryMs: 1_000,
    ...more,
  })

  it('a run whose tool takes 9 s is not taken from a living worker, not even a paused one; the runs of a killed worker are taken over within 10 s', () =>
    inFolder(async (folder) => {
      const slow = startWorker(options(folder, { runs: 1, toolMs: [9_000, 9_000] }))
      await seen(folder, isStart('put'))
      const doomed = startWorker(options(folder, { runs: 4, concurrency: 3, toolMs: [600_000, 600_000] }))
      await seen(folder, () => worldOf(folder).filter(isStart('put')).length === 4)
      const heir = startWorker(options(folder, { stay: true }))
      await seen(folder, (line) => line === `ready ${heir.pid}`)
      slow.kill('SIGSTOP')
      await kill(doomed)
      const killed = performance.now()
      await seen(folder, () => worldOf(folder).filter((line) => isStart('put')(line) && line.endsWith(` ${heir.pid}`)).length === 3)
      const taken = performance.now() - killed
      console.log(`taken over after ${Math.round(taken)} ms`)
      expect(taken).toBeLessThan(10_000)
      slow.kill('SIGCONT')
      await ended(slow)
      expect(worldOf(folder).filter((line) => line.startsWith('start ') && line.includes(' run-0/'))).toHaveLength(2)
      await kill(heir)
    }))

  it('two that launch DBOS under the same name disturb each other, but lose nothing: no unsafe call starts twice', () =>
    inFolder(async (folder) => {
      const host = options(folder, { runs: 30, turns: 3, concurrency: 5, toolMs: [0, 60], executorID: 'local', untilAllEnd: true })
      const first = startWorker(host)
      await seen(folder, isStart('put'))
      // At its launch, DBOS resumes what it believes `local` has left.
      const second = startWorker(host)
      await Promise.all([ended(first), ended(second)])
      const pays = worldOf(folder)
        .filter(isStart('pay'))
        .map((line) => line.split(' ')[2])
      expect(pays.filter((key, at) => pays.indexOf(key) !== at)).toEqual([])
      expect(await countRuns(postgres.url, host.agent)).toMatchObject({ answered: 30, others: [] })
    }))

  it.each([
    ['was launched before the journal was made', 'DBOS.launch() ; dbosJournal({ url })'],
    ['was launched by the application, which the journal was not told', 'dbosJournal({ url }) ; DBOS.launch()'],
    ['was to be launched by the application, which has not', 'dbosJournal({ url, launch: false }) ; 0'],
    ['has another database', 'dbosJournal({ url }) ; dbosJournal({ url: url + "?a=b" })'],
  ])('reports that DBOS %s', async (_name, steps) => {
    const main = new URL('../../src/journals/dbos/index.ts', import.meta.url)
    const script = `
      import { DBOS } from '@dbos-inc/dbos-sdk'
      import { dbosJournal } from '${main}'
      const url = '${postgres.url}'
      DBOS.setConfig({ name: 'app', systemDatabaseUrl: url, logLevel: 'error' })
      try {
        const made = []
        for (const step of [${steps
          .split(' ; ')
          .map((step) => `() => ${step}`)
          .join(', ')}]) made.push(await step())
        for (const journal of made.filter((one) => one?.connect)) {
          const engine = journal.connect(async () => ({ stopReason: 'answered' }))
          await engine.start('run', {})
          await engine.result('run')
        }
        console.log('nothing')
      } catch (error) {
        console.log(error.code)
      }
      process.exit()`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { cwd: import.meta.dirname })
    expect(stdout.trim()).toBe(steps.includes('launch: false') ? 'journal_failed' : 'invalid_option')
  })
})
