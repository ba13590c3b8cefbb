import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { configFile, json, startService } from './start-service.ts'

const [mount, unmount] = ['/bin/mount', '/bin/umount']

/** A disk of 3 MB; undefined for a user who may not mount one. */
function smallDisk(): string | undefined {
  const disk = mkdtempSync(join(tmpdir(), 'toolloop-disk-'))
  if (spawnSync(mount, ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', disk]).status === 0) return disk
  rmSync(disk, { recursive: true })
  return undefined
}
const disk = smallDisk()
if (disk === undefined) console.warn('SKIPPED: this user may mount no disk to fill')

it.skipIf(disk === undefined)(
  'P1.13 /readyz: is 503 while a full disk refuses every run; a call that ended meanwhile is made once',
  async () => {
    const folder = disk ?? ''
    onTestFinished(() => {
      execFileSync(unmount, ['-l', folder])
      rmSync(folder, { recursive: true })
    })
    const { file } = await configFile(`service: { keepRuns: { folder: ${join(folder, 'kept')} } }\n`)
    const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let calls = 0
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      execute: async () => {
        calls++
        begun.resolve()
        await end.promise
        return 'paid '.repeat(2_000)
      },
    })
    const model = scriptedModel(({ messages }) => {
      const last = messages.at(-1)
      return last?.role === 'tool' ? `It says ${String(last.content).slice(0, 9)}` : { toolCalls: [{ name: 'pay' }] }
    })
    const { ask, post, log } = await startService({ model, tools: [pay], configFile: file })
    const { id } = await json(post('/v1/runs', { input: 'go', background: true }))
    await begun.promise
    expect((await ask('/readyz')).status).toBe(200)

    const ballast = join(folder, 'ballast')
    for (let size = 3 * 1024 * 1024; size >= 512; size /= 2) {
      try {
        writeFileSync(ballast, Buffer.alloc(size), { flag: 'a' })
      } catch {
        // The rest is filled by smaller pieces.
      }
    }
    end.resolve()
    await expect.poll(async () => (await ask('/readyz')).status).toBe(503)
    expect(await json(ask('/readyz'))).toEqual({ status: 'not_storing' })
    expect((await ask('/healthz')).status).toBe(200)
    expect((await post('/v1/runs', { input: 'x'.repeat(100_000) })).status).toBe(503)
    // Whoever asks often has it written once a second, and logged once.
    for (let n = 0; n < 5; n++) expect((await ask('/readyz')).status).toBe(503)
    expect(log().match(/no run can be stored/g)).toHaveLength(1)

    rmSync(ballast)
    await expect.poll(async () => (await ask('/readyz')).status).toBe(200)
    await expect.poll(async () => (await json(ask(`/v1/runs/${id}`))).status).toBe('ended')
    expect([await json(ask(`/v1/runs/${id}`)), calls]).toMatchObject([{ stopReason: 'answered', output: 'It says paid paid' }, 1])
  },
)

it('P1.13 /readyz: is 503 while the journal can’t be written', async () => {
  const { folder, file } = await configFile('service: { keepRuns: { folder: kept } }\n')
  const { ask } = await startService({ model: scriptedModel(() => 'done'), configFile: file, cwd: folder })
  expect((await ask('/readyz')).status).toBe(200)
  const database = new DatabaseSync(join(folder, 'kept', 'runs.sqlite'), { timeout: 10_000 })
  database.exec("CREATE TRIGGER full BEFORE INSERT ON tried_writes BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
  await expect.poll(async () => (await ask('/readyz')).status).toBe(503)
  database.exec('DROP TRIGGER full')
  database.close()
  await expect.poll(async () => (await ask('/readyz')).status).toBe(200)
})

it('P1.13 /readyz: is 200 for a service that stores no runs', async () => {
  const { ask } = await startService({ model: scriptedModel(() => 'done') })
  expect((await ask('/readyz')).status).toBe(200)
})
