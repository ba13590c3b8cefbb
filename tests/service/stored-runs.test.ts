import { spawnSync } from 'node:child_process'
import { mkdir, readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createService } from '../../src/service/index.ts'
import { StartQueue } from '../../src/service/runs/start-queue.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { type Answer, allFrames, configFile, json, type StartedService, startService, token } from './start-service.ts'

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
  const stored = async (id: string) => JSON.parse(await readFile(join(runs, `${id}.json`), 'utf8'))
  return { folder, file, runs, stored, options: { configFile: file, cwd: folder } }
}

const decide = ({ post }: StartedService, { id, pending: [{ toolCallId, fingerprint }] }: Answer, decision: object = { approved: true }) =>
  post(`/v1/runs/${id}/decisions`, { decisions: [{ toolCallId, fingerprint, ...decision }] })

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
    const inFlight = await first.post(`/v1/runs/${paused.id}/decisions`, { decisions: [{ ...paused.pending[0], approved: true }] }, stream)
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
    await rename(runs, `${runs}-away`)
    const refused = await decide(service, run)
    expect([refused.status, (await json(refused)).error.code]).toEqual([503, 'not_stored'])
    expect(done).toEqual([])
    await rename(`${runs}-away`, runs)
    expect(await json(decide(service, run))).toMatchObject({ status: 'done', output: 'paid' })
    expect(done).toEqual([5])
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
      `Run ${run.id} waits on: its model special is not in the configuration any more`,
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

  it('what is no run is left as it is, and said', async () => {
    const { options, runs } = await folderOfRuns()
    await mkdir(runs)
    const broken = { 'run_00000000-0000-0000-0000-000000000000.json': '{"version":1', 'notes.txt': 'mine' }
    for (const [name, text] of Object.entries(broken)) await writeFile(join(runs, name), text)
    await writeFile(join(runs, 'run_00000000-0000-0000-0000-000000000001.json'), '{"version":2}')
    const head = { id: 'run_00000000-0000-0000-0000-000000000003', caller: {}, agent: 'a', kind: 'run', clientTools: [{ name: 'no name' }] }
    const odd = { version: 1, head, createdAt: '', said: '', events: [], lastEventId: 0, secrets: [], waiting: [] }
    await writeFile(join(runs, `${head.id}.json`), JSON.stringify(odd))
    await writeFile(join(runs, '.toolloop-00000000-0000-0000-0000-000000000002.tmp'), 'half')
    const { ask, log, listening } = await startService({ ...options, model: scriptedModel([]) })
    expect((await json(ask('/v1/runs'))).data).toEqual([])
    expect(log().match(/a stored run is not readable/g)).toHaveLength(2)
    expect(log()).toContain('a stored run can not be taken over')
    await listening.close()
    expect((await readdir(runs)).sort()).toEqual([
      'notes.txt',
      'run_00000000-0000-0000-0000-000000000000.json',
      'run_00000000-0000-0000-0000-000000000001.json',
      'run_00000000-0000-0000-0000-000000000003.json',
    ])
  })

  it('one folder is one process’s', async () => {
    const { options, runs } = await folderOfRuns()
    const first = await startService({ ...options, model: scriptedModel([]) })
    const second = createService({ ...options, token, model: scriptedModel([]), env: {} })
    await expect(second.ready).rejects.toThrow(
      /Expected `service.keepRuns.folder` to be a folder no other process uses, got .* process \d+/,
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

/** The number of a process that is no more. */
function deadProcess(): number {
  return spawnSync(process.execPath, ['-e', '']).pid
}
