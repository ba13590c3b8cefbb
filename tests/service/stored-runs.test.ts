import { spawnSync } from 'node:child_process'
import { mkdir, open, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createLogger } from '../../src/core/logger.ts'
import { createService } from '../../src/service/index.ts'
import { ServiceRun } from '../../src/service/runs/service-run.ts'
import { Shelf } from '../../src/service/runs/shelf.ts'
import { StartQueue } from '../../src/service/runs/start-queue.ts'
import { FolderLock } from '../../src/service/runs/stored/folder-lock.ts'
import { RunFiles } from '../../src/service/runs/stored/run-files.ts'
import { RunReader } from '../../src/service/runs/stored/run-format.ts'
import { abortedWith, storedOrder } from '../../src/service/runs/stored/stored-run.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { type Answer, allFrames, configFile, framesOf, json, type StartedService, startService, token } from './start-service.ts'

const yaml = 'service: { keepRuns: { folder: runs, count: 3 }, pausedRuns: 2 }'

function transfer() {
  const done: unknown[] = []
  const tool = defineTool({
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
  return { tool, done }
}

const asks = (euros = 5) => ({ toolCalls: [{ name: 'transfer', arguments: { euros, account: 'DE-12345678' } }] })

async function folderOfRuns(text = yaml) {
  const { folder, file } = await configFile(text)
  const runs = join(folder, 'runs')
  const stored = (id: string) => readStored(join(runs, `${id}.json`))
  return { folder, file, runs, stored, options: { configFile: file, cwd: folder } }
}

/** All of a run's file, as the version before would have written it: that goes on being read. */
// biome-ignore lint/suspicious/noExplicitAny: a test looks at, and breaks, whatever it is about
async function readStored(path: string): Promise<any> {
  const file = await open(path)
  try {
    const reader = await RunReader.open(file)
    const { outcome, ...run } = await reader.run()
    const state = await reader.state()
    return { version: 1, ...run, ...(outcome === undefined ? {} : { outcome: { ...outcome, ...(state === '' ? {} : { state }) } }) }
  } finally {
    await file.close()
  }
}

/** Lets nothing be written any more, as when another process has the folder; the function returned undoes that. */
async function takeWriting(runs: string): Promise<() => Promise<void>> {
  const file = join(runs, 'lock')
  const own = await readFile(file)
  await writeFile(file, JSON.stringify({ id: 'b', host: 'another machine', pid: 1 }))
  return () => writeFile(file, own)
}

const decide = ({ post }: StartedService, { id, pending: [{ toolCallId, fingerprint }] }: Answer, decision: object = {}) =>
  post(`/v1/runs/${id}/decisions`, { decisions: [{ toolCallId, fingerprint, approved: true, acknowledgeHidden: true, ...decision }] })

describe('runs in a folder', () => {
  it('a paused run waits over a restart, and goes on once', async () => {
    const { options, runs } = await folderOfRuns()
    const { tool, done } = transfer()
    const first = await startService({ ...options, model: scriptedModel([asks()]), tools: [tool] })
    const run = await json(first.post('/v1/runs', { input: 'pay the bill' }))
    expect(run.status).toBe('paused')
    const events = await allFrames(await first.ask(`/v1/runs/${run.id}/events`))
    expect(events.at(-1)?.event).toBe('RESULT')
    expect((await first.post(`/v1/runs/${run.id}/messages`, { input: 'and tell me' })).status).toBe(202)
    await first.listening.close()
    expect(await readdir(runs)).toEqual([`${run.id}.json`])

    const model = scriptedModel(['paid, from DE-12345678'])
    const second = await startService({ ...options, model, tools: [tool] })
    expect(second.log()).toContain('runs of an earlier process are taken over')
    const kept = await json(second.ask(`/v1/runs/${run.id}`))
    expect(kept).toEqual(run)
    expect(await allFrames(await second.ask(`/v1/runs/${run.id}/events`))).toEqual(events)
    const ended = await json(decide(second, kept))
    expect(ended).toMatchObject({ status: 'done', stopReason: 'answered', output: 'paid, from [redacted]', input: 'pay the bill' })
    expect(done).toEqual([5])
    // What was said while it was paused has been taken up, what was secret still is.
    expect(model.requests[0]?.messages.at(-1)).toMatchObject({ role: 'user', content: 'and tell me' })
    expect(JSON.stringify(ended)).not.toContain('DE-12345678')
    const later = await allFrames(await second.ask(`/v1/runs/${run.id}/events`, { headers: { 'last-event-id': String(run.events.last) } }))
    expect(later[0]?.id).toBe(String(run.events.last + 1))
    expect((await decide(second, kept)).status).toBe(409)
    await second.listening.close()

    const third = await startService({ ...options, model: scriptedModel([]), tools: [tool] })
    expect(await json(third.ask(`/v1/runs/${run.id}`))).toMatchObject({ status: 'done', output: ended.output, result: ended.result })
    expect(done).toEqual([5])
  })

  it('who reads slowly is told what a run waits for, though it is on the disk alone by then', async () => {
    const { options } = await folderOfRuns()
    const filler = 'x'.repeat(200_000)
    const turn = { chunks: [filler], toolCalls: [{ name: 'transfer', arguments: { euros: 1 } }] }
    const { service, ask } = await startService({ ...options, model: scriptedModel([turn]), tools: [transfer().tool] })
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ input: 'pay', stream: true })
    const slow = await service.fetch(new Request('http://localhost/v1/runs', { method: 'POST', body, headers }))
    const id = slow.headers.get('x-run-id')
    await expect.poll(async () => (await json(ask(`/v1/runs/${id}`))).status).toBe('paused')
    await new Promise((resolve) => setImmediate(resolve))
    const told = JSON.parse((await allFrames(slow)).at(-1)?.data ?? '')
    expect(told).toEqual(await json(ask(`/v1/runs/${id}`)))
    expect(told.result.pending).toHaveLength(1)
  })

  it('a client’s own tools wait over a restart', async () => {
    const { options } = await folderOfRuns()
    const tools = [{ type: 'function', function: { name: 'locate', parameters: { type: 'object', properties: {} } } }]
    const first = await startService({ ...options, model: scriptedModel([{ toolCalls: [{ name: 'locate' }] }]) })
    const run = await json(first.post('/v1/runs', { input: 'where am I?', tools }))
    await first.listening.close()
    const model = scriptedModel(['in Bonn'])
    const second = await startService({ ...options, model })
    expect(await json(decide(second, run, { result: 'Bonn' }))).toMatchObject({ status: 'done', output: 'in Bonn' })
    expect(JSON.stringify(model.requests[0]?.tools)).toContain('locate')
  })

  it('a run whose process was killed is told as aborted, with what it had come to', async () => {
    const { options, runs, stored } = await folderOfRuns()
    const { tool, done } = transfer()
    const first = await startService({ ...options, model: scriptedModel([asks(), { hang: true }]), tools: [tool] })
    const paused = await json(first.post('/v1/runs', { input: 'pay' }))
    const inFlight = await first.post(
      `/v1/runs/${paused.id}/decisions`,
      { decisions: [{ ...paused.pending[0], approved: true, acknowledgeHidden: true }] },
      stream,
    )
    for await (const _ of inFlight.body ?? []) if (done.length > 0) break
    // What a killed process leaves behind: files as they are now, and a lock nobody holds.
    const left = await stored(paused.id)
    expect(left.outcome).toBeUndefined()
    await first.listening.close(0)
    await writeFile(join(runs, `${paused.id}.json`), JSON.stringify(left))
    await writeFile(join(runs, 'lock'), JSON.stringify({ id: 'a', host: hostname(), pid: deadProcess() }))

    const second = await startService({ ...options, model: scriptedModel([]), tools: [tool] })
    const told = await json(second.ask(`/v1/runs/${paused.id}`))
    expect(told).toMatchObject({ status: 'done', stopReason: 'aborted', pending: [], result: paused.result })
    expect(told.error).toMatchObject({ code: 'aborted', message: expect.stringContaining('the service ended while this run was going on') })
    // It does not wait for a decision that was carried out already.
    expect((await decide(second, paused)).status).toBe(409)
    expect(done).toEqual([5])
    expect((await stored(paused.id)).outcome.status).toBe('done')
  })

  it('a decision that can’t be written down is not carried out', async () => {
    const { options, runs } = await folderOfRuns()
    const { tool, done } = transfer()
    const service = await startService({ ...options, model: scriptedModel([asks(), 'paid']), tools: [tool] })
    const run = await json(service.post('/v1/runs', { input: 'pay' }))
    const giveBack = await takeWriting(runs)
    const refused = await decide(service, run)
    expect([refused.status, (await json(refused)).error.code]).toEqual([503, 'not_stored'])
    expect(done).toEqual([])
    await giveBack()
    expect(await json(decide(service, run))).toMatchObject({ status: 'done', output: 'paid' })
    expect(done).toEqual([5])
  })

  it('a decision there is no place for is not written down, and can be made later', async () => {
    const { options, runs } = await folderOfRuns(`${yaml.slice(0, -1)}, concurrentRuns: 1 }`)
    const { tool, done } = transfer()
    const service = await startService({ ...options, model: scriptedModel([asks(), { hang: true }, 'paid']), tools: [tool] })
    const run = await json(service.post('/v1/runs', { input: 'pay' }))
    const hanging = await json(service.post('/v1/runs', { input: 'wait', background: true }))
    const giveBack = await takeWriting(runs)
    const refused = await decide(service, run)
    expect([refused.status, (await json(refused)).error.code]).toEqual([429, 'too_many_requests'])
    await giveBack()
    await service.post(`/v1/runs/${hanging.id}/cancel`, {})
    expect(await json(decide(service, run))).toMatchObject({ status: 'done', output: 'paid' })
    expect(done).toEqual([5])
  })

  it('one that waits for a tool that is not usable any more is there, and can be cancelled', async () => {
    const { options, runs, stored } = await folderOfRuns()
    const tools = [{ type: 'function', function: { name: 'locate', parameters: { type: 'object', properties: {} } } }]
    const first = await startService({ ...options, model: scriptedModel([{ toolCalls: [{ name: 'locate' }] }]) })
    const run = await json(first.post('/v1/runs', { input: 'where am I?', tools }))
    await first.listening.close()
    const left = await stored(run.id)
    left.head.clientTools[0].parameters = { type: 'nonsense' }
    await writeFile(join(runs, `${run.id}.json`), JSON.stringify(left))
    const second = await startService({ ...options, model: scriptedModel([]) })
    expect(await json(second.ask(`/v1/runs/${run.id}`))).toEqual(run)
    expect((await decide(second, run, { result: 'Bonn' })).status).toBe(400)
    expect(await json(second.post(`/v1/runs/${run.id}/cancel`, {}))).toMatchObject({ status: 'done', stopReason: 'aborted' })
  })

  it('what is said while a pause is written down is written down too; to a run whose end is, nothing can be said', async () => {
    const { options, stored } = await folderOfRuns()
    const { tool } = transfer()
    const { service } = await startService({
      ...options,
      model: scriptedModel([asks(), { chunks: ['over '.repeat(200_000)] }]),
      tools: [tool],
    })
    const sayAtTheEnd = async () => {
      const run = await json(service.fetch(inProcess('/v1/runs', '{"input":"pay","background":true}')))
      const events = await service.fetch(inProcess(`/v1/runs/${run.id}/events`))
      let status: number | undefined
      for await (const { event } of framesOf(events))
        if (event === 'RUN_END')
          status = (await service.fetch(inProcess(`/v1/runs/${run.id}/messages`, '{"input":"one more thing"}'))).status
      return { id: run.id, status }
    }
    const paused = await sayAtTheEnd()
    expect(paused.status).toBe(202)
    expect((await stored(paused.id)).waiting).toMatchObject([{ role: 'user', content: 'one more thing' }])
    expect((await sayAtTheEnd()).status).toBe(409)
  })

  it('one that is cancelled while its pause is written down does not wait for a decision', async () => {
    const { options, stored } = await folderOfRuns()
    const { tool } = transfer()
    const { service } = await startService({ ...options, model: scriptedModel([asks()]), tools: [tool] })
    const run = await json(service.fetch(inProcess('/v1/runs', '{"input":"pay","background":true}')))
    const events = await service.fetch(inProcess(`/v1/runs/${run.id}/events`))
    for await (const { event } of framesOf(events)) if (event === 'RUN_END') break
    const cancelled = await json(service.fetch(inProcess(`/v1/runs/${run.id}/cancel`, '{}')))
    expect(cancelled).toMatchObject({ status: 'done', stopReason: 'aborted', pending: [] })
    expect((await stored(run.id)).outcome.status).toBe('done')
  })

  it('none begins, or is written down, once the folder is given back', async () => {
    const { options, runs } = await folderOfRuns()
    const model = scriptedModel(['hello'])
    const { service } = await startService({ ...options, model })
    const body = new TransformStream<Uint8Array, Uint8Array>()
    const writer = body.writable.getWriter()
    const write = (text: string) => writer.write(new TextEncoder().encode(text))
    const answer = service.fetch(inProcess('/v1/runs', body.readable))
    await write('{"input":')
    await service.drain(0)
    await write('"hi"}')
    await writer.close()
    expect((await answer).status).toBe(503)
    expect([model.requests, await readdir(runs)]).toEqual([[], []])

    const files = await RunFiles.open(runs, 'folder', createLogger({ level: 'silent' }))
    await files.close()
    await expect(
      files.save({ ...storedOrder(order), said: 'late' }, new ServiceRun(storedOrder(order), () => [], bounds).toHead()),
    ).rejects.toThrow('was released')
    expect(await readdir(runs)).toEqual([])
  })

  it('nothing is written over what another process has done that took the folder over', async () => {
    const { options, runs } = await folderOfRuns()
    const { tool, done } = transfer()
    const service = await startService({ ...options, model: scriptedModel([asks()]), tools: [tool] })
    const run = await json(service.post('/v1/runs', { input: 'pay' }))
    const theirs = (await readFile(join(runs, `${run.id}.json`), 'utf8')).replace('"said":"pay"', '"said":"hey"')
    expect(theirs).toContain('hey')
    const theirLock = JSON.stringify({ id: 'b', host: 'another machine', pid: 1 })
    await writeFile(join(runs, 'lock'), theirLock)
    await writeFile(join(runs, `${run.id}.json`), theirs)
    expect((await decide(service, run)).status).toBe(503)
    expect(done).toEqual([])
    await service.listening.close()
    expect(service.log()).toContain('Process 1 on another machine has taken over')
    expect(await readFile(join(runs, `${run.id}.json`), 'utf8')).toBe(theirs)
    expect(await readFile(join(runs, 'lock'), 'utf8')).toBe(theirLock)
  })

  it('of several that come upon an old lock at once, one has the folder', async () => {
    const old = JSON.stringify({ id: 'a', host: hostname(), pid: deadProcess() })
    for (const left of [undefined, old, '']) {
      for (let round = 0; round < 15; round++) {
        const { folder } = await configFile(yaml)
        if (left !== undefined) await writeFile(join(folder, 'lock'), left)
        const taken = await Promise.allSettled([1, 2, 3].map(() => FolderLock.take(folder, 'folder')))
        const held = taken.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
        expect(held).toHaveLength(1)
        await held[0]?.release()
        expect(await readdir(folder)).toEqual(['toolloop.yaml'])
      }
    }
  })

  it('a claim on a lock that was left behind by a crash is void after a while', async () => {
    const { folder } = await configFile(yaml)
    await writeFile(join(folder, 'lock.claim'), '')
    await expect(FolderLock.take(folder, 'folder')).rejects.toThrow('which another process is about to use')
    const longAgo = new Date(Date.now() - 31_000)
    await utimes(join(folder, 'lock.claim'), longAgo, longAgo)
    await (await FolderLock.take(folder, 'folder')).release()
    expect(await readdir(folder)).toEqual(['toolloop.yaml'])
  })

  it('a run whose model has left the configuration waits on, and says so', async () => {
    const { options, file } = await folderOfRuns(`${yaml}\nmodels: { special: demo }\n`)
    const { tool } = transfer()
    const call = 'call transfer with {"euros": 5}'
    const first = await startService({ ...options, tools: [tool] })
    const run = await json(first.post('/v1/runs', { input: call, model: 'special' }))
    expect(run.status).toBe('paused')
    await first.listening.close()
    await writeFile(file, yaml)
    const second = await startService({ ...options, tools: [tool] })
    const refused = await decide(second, run)
    expect([refused.status, (await json(refused)).error.message]).toEqual([
      409,
      `Run ${run.id} stays paused: its model special is no longer in the configuration`,
    ])
    await second.listening.close()
    await writeFile(file, `${yaml}\nmodels: { special: demo }\n`)
    const third = await startService({ ...options, tools: [tool] })
    expect(await json(decide(third, run))).toMatchObject({ status: 'done', model: 'special' })
  })

  it('a decision that is not allowed leaves the run waiting, over a restart too', async () => {
    const { options } = await folderOfRuns()
    const { tool, done } = transfer()
    const first = await startService({ ...options, model: scriptedModel([asks()]), tools: [tool] })
    const run = await json(first.post('/v1/runs', { input: 'pay' }))
    expect((await decide(first, run, { approved: true, args: { euros: 'many' } })).status).toBe(400)
    await first.listening.close()
    const second = await startService({ ...options, model: scriptedModel(['paid']), tools: [tool] })
    expect(await json(decide(second, run))).toMatchObject({ status: 'done', output: 'paid' })
    expect(done).toEqual([5])
  })

  it('finished runs give way to later ones, paused ones do not; a token with too many of them is told', async () => {
    const { options, runs, stored } = await folderOfRuns()
    const { tool } = transfer()
    const answers = Array.from({ length: 8 }, (_, at) => (at < 2 ? asks() : `answer ${at}`))
    const service = await startService({ ...options, model: scriptedModel(answers), tools: [tool] })
    const paused = [await json(service.post('/v1/runs', { input: 'a' })), await json(service.post('/v1/runs', { input: 'b' }))]
    const refused = await service.post('/v1/runs', { input: 'c' })
    expect([refused.status, (await json(refused)).error.code]).toEqual([429, 'too_many_paused'])
    const [one, two] = paused
    expect(await json(service.post(`/v1/runs/${one?.id}/cancel`, {}))).toMatchObject({
      status: 'done',
      stopReason: 'aborted',
      pending: [],
      result: one?.result,
    })
    const later: Answer[] = []
    for (const input of ['1', '2', '3', '4']) later.push(await json(service.post('/v1/runs', { input })))
    const kept = [...later.slice(1), two].map((run) => run?.id)
    const { data } = await json(service.ask('/v1/runs'))
    expect(data.map(({ id }) => id).sort()).toEqual(kept.sort())
    await service.listening.close()
    expect((await readdir(runs)).sort()).toEqual(kept.map((id) => `${id}.json`).sort())
    for (const { id } of later.slice(1)) expect((await stored(id)).outcome.status).toBe('done')
  })

  it('a run that nobody decides on is given up at last', async () => {
    const { options, runs, stored } = await folderOfRuns()
    const { tool } = transfer()
    const first = await startService({ ...options, model: scriptedModel([asks()]), tools: [tool] })
    const run = await json(first.post('/v1/runs', { input: 'pay' }))
    await first.listening.close()
    const left = await stored(run.id)
    left.outcome.finishedAt = new Date(Date.now() - 31 * 86_400_000).toISOString()
    await writeFile(join(runs, `${run.id}.json`), JSON.stringify(left))
    const second = await startService({ ...options, model: scriptedModel([]), tools: [tool] })
    expect(await json(second.ask(`/v1/runs/${run.id}`))).toMatchObject({ status: 'done', error: { message: 'nobody has decided' } })
  })

  it('one that was given up is shown as done while that is written down', async () => {
    const { options, runs, stored } = await folderOfRuns('service: { keepRuns: { folder: runs } }')
    const { tool } = transfer()
    const first = await startService({ ...options, model: scriptedModel(Array.from({ length: 20 }, () => asks())), tools: [tool] })
    const paused = await Promise.all(Array.from({ length: 20 }, () => json(first.post('/v1/runs', { input: 'pay' }))))
    await first.listening.close()
    for (const { id } of paused) {
      const left = await stored(id)
      left.outcome.finishedAt = new Date(Date.now() - 31 * 86_400_000).toISOString()
      await writeFile(join(runs, `${id}.json`), JSON.stringify(left))
    }
    const { service } = await startService({ ...options, model: scriptedModel([]), tools: [tool] })
    const shown = await Promise.all(paused.map(({ id }) => json(service.fetch(inProcess(`/v1/runs/${id}`)))))
    expect(shown.map(({ status }) => status)).toEqual(paused.map(() => 'done'))
  })

  it('what is no run is left as it is, and said', async () => {
    const { options, runs } = await folderOfRuns()
    await mkdir(runs)
    const broken = { 'run_00000000-0000-0000-0000-000000000000.json': '{"version":1', 'notes.txt': 'mine' }
    for (const [name, text] of Object.entries(broken)) await writeFile(join(runs, name), text)
    await writeFile(join(runs, 'run_00000000-0000-0000-0000-000000000001.json'), '{"version":2}')
    const head = { id: 'run_00000000-0000-0000-0000-000000000003', caller: {}, agent: 'a', kind: 'run', clientTools: [null] }
    const odd = { version: 1, head, createdAt: '', said: '', events: [], lastEventId: 0, secrets: [], waiting: [] }
    await writeFile(join(runs, `${head.id}.json`), JSON.stringify(odd))
    await writeFile(join(runs, '.toolloop-00000000-0000-0000-0000-000000000002.tmp'), 'half')
    await mkdir(join(runs, 'run_00000000-0000-0000-0000-000000000004.json'))
    const { ask, log, listening } = await startService({ ...options, model: scriptedModel([]) })
    expect((await json(ask('/v1/runs'))).data).toEqual([])
    expect(log().match(/a stored run is not readable/g)).toHaveLength(3)
    expect(log()).toContain('a stored run can not be taken over')
    await listening.close()
    expect((await readdir(runs)).sort()).toEqual([
      'notes.txt',
      'run_00000000-0000-0000-0000-000000000000.json',
      'run_00000000-0000-0000-0000-000000000001.json',
      'run_00000000-0000-0000-0000-000000000003.json',
      'run_00000000-0000-0000-0000-000000000004.json',
    ])
  })

  it('one folder is one process’s', async () => {
    const { options, runs } = await folderOfRuns()
    const first = await startService({ ...options, model: scriptedModel([]) })
    const second = createService({ ...options, token, model: scriptedModel([]), env: {} })
    await expect(second.ready).rejects.toThrow(
      /Expected `service.keepRuns.folder` to be a folder that no other process uses, got .* process \d+/,
    )
    expect((await second.fetch(new Request('http://localhost/healthz'))).status).toBe(503)
    await first.listening.close()

    const elsewhere = { id: 'b', host: 'another machine', pid: 1 }
    await writeFile(join(runs, 'lock'), JSON.stringify(elsewhere))
    const third = createService({ ...options, token, model: scriptedModel([]), env: {} })
    await expect(third.ready).rejects.toThrow('used by process 1 of another machine')
    const longAgo = new Date(Date.now() - 31_000)
    await utimes(join(runs, 'lock'), longAgo, longAgo)
    await startService({ ...options, model: scriptedModel([]) })
    expect(JSON.parse(await readFile(join(runs, 'lock'), 'utf8'))).toMatchObject({ host: hostname(), pid: process.pid })
  })

  it('a folder that can’t be had keeps the service from starting', async () => {
    const { options, runs } = await folderOfRuns()
    await writeFile(runs, 'a file')
    const service = createService({ ...options, token, model: scriptedModel([]), env: {} })
    await expect(service.ready).rejects.toThrow(/Expected `service.keepRuns.folder` to be a folder that can be written to/)
    await rm(runs)
  })
})

describe('runs in memory', () => {
  it('paused ones that a shutdown loses are counted in the log', async () => {
    const { tool } = transfer()
    const { post, listening, log } = await startService({ model: scriptedModel([asks()]), tools: [tool] })
    await post('/v1/runs', { input: 'pay' })
    await listening.close()
    expect(log()).toMatch(/"paused":1.*paused runs are lost/)
  })

  it('the events of paused runs give way when there are too many, the runs do not', async () => {
    const { file, folder } = await configFile('service: { keepRuns: { megabytes: 0.002 } }')
    const { tool, done } = transfer()
    const service = await startService({ configFile: file, cwd: folder, model: scriptedModel([asks(1), asks(2), 'paid']), tools: [tool] })
    const first = await json(service.post('/v1/runs', { input: 'one' }))
    await service.post('/v1/runs', { input: 'two' })
    const kept = await json(service.ask(`/v1/runs/${first.id}`))
    expect(kept.events).toEqual({ first: first.events.last + 1, last: first.events.last })
    expect(await json(decide(service, first))).toMatchObject({ status: 'done', output: 'paid' })
    expect(done).toEqual([1])
  })
})

describe('what is kept of a run', () => {
  const paused = { ...abortedWith('x'), status: 'paused' as const, state: '{}' }

  it('what it had come to before it went on is not kept beyond that', () => {
    const run = new ServiceRun({ ...storedOrder(order), outcome: paused }, () => [], bounds)
    run.takeUp()
    expect(run.stored().before).toBeDefined()
    run.settle(abortedWith('cancelled'))
    expect(run.stored().before).toBeUndefined()
  })

  it('events that have given way cost nothing when there is still too much', () => {
    let measured = 0
    const tool = { ...transfer().tool, toJSON: () => ++measured }
    const events = [{ id: 1, type: 'TEXT_DELTA', data: '{}' }]
    const run = new ServiceRun(
      { ...storedOrder({ ...order, clientTools: [tool] }), events, lastEventId: 1, outcome: paused },
      () => [],
      bounds,
    )
    const shelf = new Shelf()
    shelf.add(run)
    shelf.clearLog(run)
    expect([run.log.characters, shelf.characters]).toEqual([0, run.size])
    const before = measured
    shelf.clearLog(run)
    expect(measured).toBe(before)
  })
})

describe('runs that come at once', () => {
  it('begin one by one, in order, each in a turn of the event loop', async () => {
    const queue = new StartQueue()
    const seen: string[] = []
    let turns = 0
    const count = () => {
      turns++
      if (seen.length < 5) setImmediate(count)
    }
    setImmediate(count)
    await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => queue.turn().then(() => seen.push(`${name}${turns}`))))
    expect(seen).toEqual(['a0', 'b1', 'c2', 'd3', 'e4'])
    await new Promise((resolve) => setImmediate(resolve))
    seen.push('later')
    await queue.turn()
    expect(seen).toHaveLength(6)
  })

  it('all end when the service is shut down while they wait to begin', async () => {
    const { service } = await startService({ model: scriptedModel([]) })
    const authorization = `Bearer ${token}`
    const ask = () =>
      service.fetch(
        new Request('http://localhost/v1/runs', {
          method: 'POST',
          body: '{"input":"go"}',
          headers: { authorization, 'content-type': 'application/json' },
        }),
      )
    const asked = Array.from({ length: 40 }, ask)
    await service.ready
    const drained = service.drain(0)
    const answers = await Promise.all(asked)
    await drained
    for (const answer of answers) expect([200, 503]).toContain(answer.status)
  })
})

const stream = { accept: 'text/event-stream' }
const bounds = { events: 100, characters: 10_000 }

const order = {
  id: 'run_1',
  caller: { name: 'a', roles: [] },
  agent: 'toolloop',
  kind: 'run' as const,
  clientTools: [],
  input: 'x',
  options: {},
}

/** A request that does not pass a network. */
function inProcess(path: string, body?: string | ReadableStream): Request {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return new Request(`http://localhost${path}`, body === undefined ? { headers } : { method: 'POST', headers, body, duplex: 'half' })
}

/** The number of a process that is no more. */
function deadProcess(): number {
  return spawnSync(process.execPath, ['-e', '']).pid
}
