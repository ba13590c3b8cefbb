import { copyFile, mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { upgradeRuns } from '../../src/service/runs/earlier/upgrade-runs.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { allFrames, configFile, json, startService } from './start-service.ts'

/** Runs as an earlier version has written them: one has ended, one went on, one waits, one waits still though half of it was decided. */
const earlier = fileURLToPath(new URL('earlier-runs', import.meta.url))

async function folderOfEarlierRuns() {
  const { folder, file } = await configFile('service: { keepRuns: { folder: runs, minutes: 1e9, pausedDays: 1e6 } }\n')
  const runs = join(folder, 'runs')
  await mkdir(runs)
  const names: string[] = []
  for (const name of await readdir(earlier)) {
    names.push(name.replace(/\.txt$/, ''))
    await copyFile(join(earlier, name), join(runs, name.replace(/\.txt$/, '')))
  }
  return { runs, names: names.sort(), options: { configFile: file, cwd: folder } }
}

function tools() {
  const done: unknown[] = []
  const transfer = defineTool({
    name: 'transfer',
    description: 'Transfers money.',
    approval: true,
    secrets: ['account'],
    parameters: { type: 'object', properties: { euros: { type: 'number' }, account: { type: 'string' } }, required: ['euros'] },
    execute: ({ euros }) => {
      done.push(euros)
      return `transferred ${euros}`
    },
  })
  const look = defineTool({ name: 'look', description: 'Looks.', parameters: { type: 'object' }, execute: () => done.push('looked') })
  return { tools: [transfer, look], done }
}

describe('runs of an earlier version', () => {
  it('are shown as they were, and go on from where they wait', async () => {
    const { runs, options } = await folderOfEarlierRuns()
    expect(await upgradeRuns(runs)).toEqual({ upgraded: 4, unreadable: [], movedTo: join(runs, 'earlier') })
    const { tools: own, done } = tools()
    const model = scriptedModel(({ messages }) => `paid from DE-12345678, ${messages.at(-1)?.content}`)
    const service = await startService({ ...options, model, tools: own })
    const listed = async (input: string) => {
      const { data } = await json(service.ask('/v1/runs'))
      return json(service.ask(`/v1/runs/${data.find((run) => (run as { input?: string }).input === input)?.id}`))
    }
    const decide = async (input: string) => {
      const { id, pending } = await listed(input)
      const decisions = pending.map(({ toolCallId, fingerprint }) => ({ toolCallId, fingerprint, approved: true, acknowledgeHidden: true }))
      return json(service.post(`/v1/runs/${id}/decisions`, { decisions }))
    }
    expect(await listed('hello')).toMatchObject({ status: 'done', output: 'good day', result: { text: 'good day' } })
    expect(await listed('hang')).toMatchObject({ status: 'done', stopReason: 'aborted' })
    const waiting = await listed('pay')
    expect(waiting).toMatchObject({
      status: 'paused',
      pending: [{ tool: 'transfer', hidden: ['/args/account'] }],
      events: { first: 1, last: 13 },
    })
    const events = await allFrames(await service.ask(`/v1/runs/${waiting.id}/events`))
    expect(events.map(({ id }) => id)).toEqual([...Array.from({ length: 13 }, (_, at) => String(at + 1)), undefined])

    // What was said to it before is taken up, and what was secret still is.
    expect(await decide('pay')).toMatchObject({ status: 'done', output: 'paid from [redacted], and tell me' })
    expect(done).toEqual([5])
    await expect.poll(async () => (await listed('pay twice')).status).toBe('paused')
    expect(await decide('pay twice')).toMatchObject({ status: 'done', stopReason: 'answered' })
    // What was decided and carried out before is not carried out again.
    expect(done).toEqual([5, 6])
  })

  it('are kept as files too, and what is not readable is named', async () => {
    const { runs, names } = await folderOfEarlierRuns()
    const broken = 'run_00000000-0000-0000-0000-000000000000.json'
    await writeFile(join(runs, broken), '{"version":2')
    const { upgraded, unreadable, movedTo } = await upgradeRuns(runs)
    expect([upgraded, unreadable.map(({ name }) => name)]).toEqual([4, [broken]])
    expect((await readdir(movedTo)).sort()).toEqual([broken, ...names].sort())
    expect(((await stat(movedTo)).mode & 0o777).toString(8)).toBe('700')
    // Once more, as after a crash, changes nothing.
    for (const name of names) await copyFile(join(movedTo, name), join(runs, name))
    expect((await upgradeRuns(runs)).upgraded).toBe(4)
  })

  it('are moved once, though the upgrade was interrupted when it had decided and said what was decided and said before', async () => {
    const { runs, names, options } = await folderOfEarlierRuns()
    const { movedTo } = await upgradeRuns(runs)
    const database = new DatabaseSync(join(runs, 'runs.sqlite'))
    const said = () => database.prepare('SELECT value FROM shown_messages ORDER BY run, n').all()
    const before = said()
    expect(before.length).toBeGreaterThan(0)
    database.exec("UPDATE shown_runs SET status = 'running', last_event = 0 WHERE status = 'paused'; DELETE FROM shown_events")
    for (const name of names) await copyFile(join(movedTo, name), join(runs, name))
    expect((await upgradeRuns(runs)).upgraded).toBe(4)
    expect(said()).toEqual(before)
    database.close()
    const { tools: own, done } = tools()
    const service = await startService({ ...options, model: scriptedModel(() => 'paid'), tools: own })
    await expect.poll(async () => (await json(service.ask('/v1/runs?status=paused'))).data.length).toBe(2)
    expect(done).toEqual([])
  })

  it('are left alone while a service of that version uses them', async () => {
    const { runs, names } = await folderOfEarlierRuns()
    await writeFile(join(runs, 'lock'), '{}')
    await expect(upgradeRuns(runs)).rejects.toThrow('stop the one of the earlier version first')
    expect((await readdir(runs)).sort()).toEqual(['lock', ...names])
  })
})
