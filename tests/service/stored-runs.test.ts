import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { createService } from '../../src/service/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { type Answer, allFrames, configFile, framesOf, json, type StartedService, startService, token } from './start-service.ts'

const yaml = 'service: { keepRuns: { folder: runs, count: 3 }, waitingRuns: 2 }'

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
  /** What a test looks at, or changes, behind the service's back. */
  const sql = (query: string, ...values: SQLInputValue[]) => {
    const database = new DatabaseSync(join(runs, 'runs.sqlite'), { timeout: 10_000 })
    try {
      return database.prepare(query).all(...values)
    } finally {
      database.close()
    }
  }
  const statusOf = (id: string) => sql('SELECT status FROM shown_runs WHERE id = ?', id)[0]?.status
  return { folder, file, runs, sql, statusOf, options: { configFile: file, cwd: folder } }
}

const decide = ({ post }: StartedService, { id, pending: [{ toolCallId, fingerprint }] }: Answer, decision: object = {}) =>
  post(`/v1/runs/${id}/decisions`, { decisions: [{ toolCallId, fingerprint, approved: true, acknowledgeHidden: true, ...decision }] })

describe('runs in a folder', () => {
  it('a paused run waits across a restart, and resumes once', async () => {
    const { options } = await folderOfRuns()
    const { tool, done } = transfer()
    const first = await startService({ ...options, model: scriptedModel([asks()]), tools: [tool] })
    const run = await json(first.post('/v1/runs', { input: 'pay the bill' }))
    expect(run.status).toBe('waiting')
    const events = await allFrames(await first.ask(`/v1/runs/${run.id}/events`))
    expect(events.at(-1)?.event).toBe('RESULT')
    expect((await first.post(`/v1/runs/${run.id}/messages`, { input: 'and tell me' })).status).toBe(202)
    await first.listening.close()

    const model = scriptedModel(['paid, from DE-12345678'])
    const second = await startService({ ...options, model, tools: [tool] })
    const kept = await json(second.ask(`/v1/runs/${run.id}`))
    expect(kept).toEqual(run)
    expect(await allFrames(await second.ask(`/v1/runs/${run.id}/events`))).toEqual(events)
    const ended = await json(decide(second, kept))
    expect(ended).toMatchObject({ status: 'ended', stopReason: 'answered', output: 'paid, from [redacted]', input: 'pay the bill' })
    expect(done).toEqual([5])
    // It has read the message sent during the pause, and its secrets are still hidden.
    expect(model.requests[0]?.messages.at(-1)).toMatchObject({ role: 'user', content: 'and tell me' })
    expect(JSON.stringify(ended)).not.toContain('DE-12345678')
    const later = await allFrames(await second.ask(`/v1/runs/${run.id}/events`, { headers: { 'last-event-id': String(run.events.last) } }))
    expect(later[0]?.id).toBe(String(run.events.last + 1))
    expect((await decide(second, kept)).status).toBe(409)
    await second.listening.close()

    const third = await startService({ ...options, model: scriptedModel([]), tools: [tool] })
    expect(await json(third.ask(`/v1/runs/${run.id}`))).toMatchObject({ status: 'ended', output: ended.output, result: ended.result })
    expect(done).toEqual([5])
  })

  it('tells a slow reader what a run waits for, even if only the disk has it by then', async () => {
    const { options } = await folderOfRuns()
    const filler = 'x'.repeat(200_000)
    const turn = { chunks: [filler], toolCalls: [{ name: 'transfer', arguments: { euros: 1 } }] }
    const { service, ask } = await startService({ ...options, model: scriptedModel([turn]), tools: [transfer().tool] })
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ input: 'pay', stream: true })
    const slow = await service.fetch(new Request('http://localhost/v1/runs', { method: 'POST', body, headers }))
    const id = slow.headers.get('x-run-id')
    await expect.poll(async () => (await json(ask(`/v1/runs/${id}`))).status).toBe('waiting')
    await new Promise((resolve) => setImmediate(resolve))
    const told = JSON.parse((await allFrames(slow)).at(-1)?.data ?? '')
    expect(told).toEqual(await json(ask(`/v1/runs/${id}`)))
    expect(told.result.pending).toHaveLength(1)
  })

  it('P1.1 a run of an earlier process continues with its owner’s context, and waits until that is available', async () => {
    const { options } = await folderOfRuns()
    const begun = Promise.withResolvers<void>()
    const paid: unknown[] = []
    const pay = (execute: (context: unknown) => unknown) =>
      defineTool({ name: 'pay', description: 'Pays.', effect: 'idempotent', execute: (_args, ctx) => execute(ctx.context) })
    const hanging = pay(() => {
      begun.resolve()
      return new Promise(() => {})
    })
    const context = async (request: Request | undefined, { name }: { name: string }) =>
      request === undefined ? undefined : { tenant: `of ${name}` }
    const first = await startService({ ...options, model: scriptedModel([{ toolCalls: [{ name: 'pay' }] }]), tools: [hanging], context })
    const run = await json(first.post('/v1/runs', { input: 'pay', background: true }))
    await begun.promise
    await first.listening.close(0)

    const tools = [pay((given) => paid.push(given))]
    const lost = await startService({ ...options, model: scriptedModel([]), tools, context })
    await expect.poll(lost.log).toContain('`restore` gave undefined as `context`')
    expect(await json(lost.ask(`/v1/runs/${run.id}`))).toMatchObject({ status: 'running' })
    expect(paid).toEqual([])
    await lost.listening.close(0)

    const found = (_request: Request | undefined, { name }: { name: string }) => ({ tenant: `of ${name}` })
    const third = await startService({ ...options, model: scriptedModel(['paid']), tools, context: found })
    await expect.poll(async () => (await json(third.ask(`/v1/runs/${run.id}`))).output).toBe('paid')
    expect(paid).toEqual([{ tenant: 'of operator' }])
  })

  it('a client’s own tools wait across a restart', async () => {
    const { options } = await folderOfRuns()
    const tools = [{ type: 'function', function: { name: 'locate', parameters: { type: 'object', properties: {} } } }]
    const first = await startService({ ...options, model: scriptedModel([{ toolCalls: [{ name: 'locate' }] }]) })
    const run = await json(first.post('/v1/runs', { input: 'where am I?', tools }))
    await first.listening.close()
    const model = scriptedModel(['in Bonn'])
    const second = await startService({ ...options, model })
    expect(await json(decide(second, run, { result: 'Bonn' }))).toMatchObject({ status: 'ended', output: 'in Bonn' })
    expect(JSON.stringify(model.requests[0]?.tools)).toContain('locate')
  })

  it('a decision without room for it is not stored, and can be made later', async () => {
    const { options } = await folderOfRuns(`${yaml.slice(0, -1)}, concurrentRuns: 1 }`)
    const { tool, done } = transfer()
    const service = await startService({ ...options, model: scriptedModel([asks(), { hang: true }, 'paid']), tools: [tool] })
    const run = await json(service.post('/v1/runs', { input: 'pay' }))
    const hanging = await json(service.post('/v1/runs', { input: 'wait', background: true }))
    const refused = await decide(service, run)
    expect([refused.status, (await json(refused)).error.code]).toEqual([429, 'too_many_requests'])
    await service.post(`/v1/runs/${hanging.id}/cancel`, {})
    expect(await json(decide(service, run))).toMatchObject({ status: 'ended', output: 'paid' })
    expect(done).toEqual([5])
  })

  it('a run that waits for a tool that is no longer usable is listed, and can be cancelled', async () => {
    const { options, sql } = await folderOfRuns()
    const tools = [{ type: 'function', function: { name: 'locate', parameters: { type: 'object', properties: {} } } }]
    const first = await startService({ ...options, model: scriptedModel([{ toolCalls: [{ name: 'locate' }] }]) })
    const run = await json(first.post('/v1/runs', { input: 'where am I?', tools }))
    await first.listening.close()
    sql("UPDATE shown_runs SET head = json_set(head, '$.clientTools[0].name', ?)", 'not a name')
    const second = await startService({ ...options, model: scriptedModel([]) })
    expect(await json(second.ask(`/v1/runs/${run.id}`))).toEqual(run)
    expect((await decide(second, run, { result: 'Bonn' })).status).toBe(400)
    expect(await json(second.post(`/v1/runs/${run.id}/cancel`, {}))).toMatchObject({ status: 'ended', stopReason: 'aborted' })
  })

  it('a message sent while a pause is stored is stored too; a run whose end is stored accepts none', async () => {
    const { options, sql } = await folderOfRuns()
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
    const said = sql('SELECT value FROM shown_messages').map(({ value }) => JSON.parse(String(value)))
    expect(said).toMatchObject([{ role: 'user', content: 'one more thing' }])
    expect((await sayAtTheEnd()).status).toBe(409)
  })

  it('a run that is cancelled while its pause is stored does not wait for a decision', async () => {
    const { options, statusOf } = await folderOfRuns()
    const { tool } = transfer()
    const { service } = await startService({ ...options, model: scriptedModel([asks()]), tools: [tool] })
    const run = await json(service.fetch(inProcess('/v1/runs', '{"input":"pay","background":true}')))
    const events = await service.fetch(inProcess(`/v1/runs/${run.id}/events`))
    for await (const { event } of framesOf(events)) if (event === 'RUN_END') break
    const cancelled = await json(service.fetch(inProcess(`/v1/runs/${run.id}/cancel`, '{}')))
    expect(cancelled).toMatchObject({ status: 'ended', stopReason: 'aborted', pending: [] })
    expect(statusOf(run.id)).toBe('ended')
  })

  it('none starts, or is stored, once the folder is released', async () => {
    const { options, sql } = await folderOfRuns()
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
    expect([model.requests, sql('SELECT * FROM shown_runs'), sql('SELECT * FROM runs')]).toEqual([[], [], []])
  })

  it('a run whose model is no longer in the configuration keeps waiting, and says so', async () => {
    const { options, file } = await folderOfRuns(`${yaml}\nmodels: { special: demo }\n`)
    const { tool } = transfer()
    const call = 'call transfer with {"euros": 5}'
    const first = await startService({ ...options, tools: [tool] })
    const run = await json(first.post('/v1/runs', { input: call, model: 'special' }))
    expect(run.status).toBe('waiting')
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
    expect(await json(decide(third, run))).toMatchObject({ status: 'ended', model: 'special' })
  })

  it('a run that no process executes any more is listed as one whose process is gone', async () => {
    const { options, file } = await folderOfRuns(`${yaml}\nmodels: { special: demo }\n`)
    const begun = Promise.withResolvers<void>()
    const execute = () => {
      begun.resolve()
      return new Promise(() => {})
    }
    const hanging = defineTool({ name: 'hang', description: 'Hangs.', execute })
    const first = await startService({ ...options, tools: [hanging] })
    const run = await json(
      first.post('/v1/runs', { input: 'call hang with {}', model: 'special', metadata: { ticket: 'T-1' }, background: true }),
    )
    await begun.promise
    const ids = async ({ ask }: StartedService, query: string) => (await json(ask(`/v1/runs?${query}`))).data.map(({ id }) => id)
    expect([await ids(first, 'process=alive'), await ids(first, 'process=gone')]).toEqual([[run.id], []])
    await first.listening.close(0)
    await writeFile(file, yaml)
    const second = await startService({ ...options, tools: [hanging] })
    expect([await ids(second, 'process=gone'), await ids(second, 'process=alive')]).toEqual([[run.id], []])
    expect(await ids(second, `process=gone&id=none,${run.id}&metadata.ticket=T-1`)).toEqual([run.id])
    expect([await ids(second, 'process=gone&id=none'), await ids(second, 'process=gone&status=ended')]).toEqual([[], []])
  })

  it('a decision that is not allowed leaves the run waiting, across a restart too', async () => {
    const { options } = await folderOfRuns()
    const { tool, done } = transfer()
    const first = await startService({ ...options, model: scriptedModel([asks()]), tools: [tool] })
    const run = await json(first.post('/v1/runs', { input: 'pay' }))
    expect((await decide(first, run, { approved: true, args: { euros: 'many' } })).status).toBe(400)
    await first.listening.close()
    const second = await startService({ ...options, model: scriptedModel(['paid']), tools: [tool] })
    expect(await json(decide(second, run))).toMatchObject({ status: 'ended', output: 'paid' })
    expect(done).toEqual([5])
  })

  it('finished runs make room for later ones, paused ones do not; a token with too many of them gets an error', async () => {
    const { options, sql, statusOf } = await folderOfRuns()
    const { tool } = transfer()
    const answers = Array.from({ length: 8 }, (_, at) => (at < 2 ? asks() : `answer ${at}`))
    const service = await startService({ ...options, model: scriptedModel(answers), tools: [tool] })
    const paused = [await json(service.post('/v1/runs', { input: 'a' })), await json(service.post('/v1/runs', { input: 'b' }))]
    const refused = await service.post('/v1/runs', { input: 'c' })
    expect([refused.status, (await json(refused)).error.code]).toEqual([429, 'too_many_waiting'])
    const [one, two] = paused
    expect(await json(service.post(`/v1/runs/${one?.id}/cancel`, {}))).toMatchObject({
      status: 'ended',
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
    expect(sql('SELECT id FROM shown_runs ORDER BY id').map(({ id }) => id)).toEqual(kept.sort())
    for (const { id } of later.slice(1)) expect(statusOf(id)).toBe('ended')
  })

  it('a run that nobody decides on expires', async () => {
    const { options, sql } = await folderOfRuns()
    const { tool } = transfer()
    const first = await startService({ ...options, model: scriptedModel([asks()]), tools: [tool] })
    const run = await json(first.post('/v1/runs', { input: 'pay' }))
    await first.listening.close()
    sql('UPDATE shown_runs SET settled_at = ?', Date.now() - 31 * 86_400_000)
    const second = await startService({ ...options, model: scriptedModel([]), tools: [tool] })
    expect(await json(second.ask(`/v1/runs/${run.id}`))).toMatchObject({ status: 'ended', error: { message: 'nobody has decided' } })
  })

  it('of very many expired ones, each is shown as done', async () => {
    const { options, sql } = await folderOfRuns('service: { keepRuns: { folder: runs } }')
    const { tool } = transfer()
    const first = await startService({ ...options, model: scriptedModel(Array.from({ length: 20 }, () => asks())), tools: [tool] })
    const paused = await Promise.all(Array.from({ length: 20 }, () => json(first.post('/v1/runs', { input: 'pay' }))))
    await first.listening.close()
    sql('UPDATE shown_runs SET settled_at = ?', Date.now() - 31 * 86_400_000)
    const { service } = await startService({ ...options, model: scriptedModel([]), tools: [tool] })
    const shown = await Promise.all(paused.map(({ id }) => json(service.fetch(inProcess(`/v1/runs/${id}`)))))
    expect(shown.map(({ status }) => status)).toEqual(paused.map(() => 'ended'))
  })

  it('an unreadable run affects none of the others', async () => {
    const { options, sql, statusOf } = await folderOfRuns('service: { keepRuns: { folder: runs } }')
    const first = await startService({ ...options, model: scriptedModel(['one', 'two']) })
    const [a, b] = [await json(first.post('/v1/runs', { input: 'a' })), await json(first.post('/v1/runs', { input: 'b' }))]
    await first.listening.close()
    // Their process died before it had stored their outcomes.
    sql("UPDATE shown_runs SET status = 'running', head = ? WHERE id = ?", '{', a.id)
    sql("UPDATE shown_runs SET status = 'running' WHERE id = ?", b.id)
    const second = await startService({ ...options, model: scriptedModel([]) })
    await expect.poll(() => statusOf(b.id)).toBe('ended')
    expect(statusOf(a.id)).toBe('running')
    expect(second.log()).toContain('the outcome of a run can’t be stored yet')
  })

  it('a decision before a run waits is refused: nobody approves hidden arguments unseen', async () => {
    const { options } = await folderOfRuns('service: { keepRuns: { folder: runs }, requestsPerMinute: 1000000 }')
    const { tool, done } = transfer()
    const { service } = await startService({ ...options, model: scriptedModel([asks()]), tools: [tool] })
    // They take a while to be made ready, whenever the run begins to go on.
    const property = (at: number) => [`property${at}`, { type: 'string', minLength: at }]
    const parameters = { type: 'object', properties: Object.fromEntries(Array.from({ length: 100 }, (_, at) => property(at))) }
    const tools = Array.from({ length: 10 }, (_, at) => ({ type: 'function', function: { name: `own${at}`, parameters } }))
    const body = JSON.stringify({ input: 'pay', tools, background: true })
    const run = await json(service.fetch(inProcess('/v1/runs', body)))
    const statuses: number[] = []
    for await (const { event, data } of framesOf(await service.fetch(inProcess(`/v1/runs/${run.id}/events`)))) {
      if (event !== 'DECISION_NEEDED') continue
      const { toolCallId, fingerprint } = JSON.parse(data)
      const decisions = JSON.stringify({ decisions: [{ toolCallId, fingerprint, approved: true }] })
      const decideNow = async () => {
        const answer = await service.fetch(inProcess(`/v1/runs/${run.id}/decisions`, decisions))
        await answer.text()
        return statuses.push(answer.status)
      }
      // Until it has paused, and what is hidden is checked.
      while (statuses.every((status) => status === 409)) await Promise.all(Array.from({ length: 4 }, decideNow))
    }
    expect(new Set(statuses)).toEqual(new Set([409, 400]))
    expect(done).toEqual([])
    expect(await json(service.fetch(inProcess(`/v1/runs/${run.id}`)))).toMatchObject({ status: 'waiting' })
  })

  it('a damaged file keeps the service from starting, and is not changed', async () => {
    const { options, runs } = await folderOfRuns()
    const first = await startService({ ...options, model: scriptedModel(['hello']) })
    await first.post('/v1/runs', { input: 'hi' })
    await first.listening.close()
    const file = join(runs, 'runs.sqlite')
    const broken = (await readFile(file)).fill('x', 0, 8_192)
    await writeFile(file, broken)
    const second = createService({ ...options, token, model: scriptedModel([]), env: {} })
    await expect(second.ready).rejects.toThrow(/service.keepRuns.folder.*runs.sqlite.*it is not an SQLite database/)
    expect((await readFile(file)).equals(broken)).toBe(true)
  })

  it('an unusable folder keeps the service from starting', async () => {
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
    expect(log()).toMatch(/"waiting":1.*waiting runs are lost/)
  })

  it('paused runs do not make room if finished ones have too little', async () => {
    const { file, folder } = await configFile('service: { keepRuns: { megabytes: 0.002 } }')
    const { tool, done } = transfer()
    const service = await startService({ configFile: file, cwd: folder, model: scriptedModel([asks(1), asks(2), 'paid']), tools: [tool] })
    const first = await json(service.post('/v1/runs', { input: 'one' }))
    await service.post('/v1/runs', { input: 'two' })
    const kept = await json(service.ask(`/v1/runs/${first.id}`))
    expect(kept).toEqual(first)
    expect(await json(decide(service, first))).toMatchObject({ status: 'ended', output: 'paid' })
    expect(done).toEqual([1])
  })
})

describe('runs without a journal', () => {
  it('accept messages while they wait, and are decided once by concurrent decisions', async () => {
    const { tool, done } = transfer()
    const model = scriptedModel([asks(), asks(2), 'paid'])
    const service = await startService({ model, tools: [tool] })
    const paused = await json(service.post('/v1/runs', { input: 'pay' }))
    expect((await service.post(`/v1/runs/${paused.id}/messages`, { input: 'and tell me' })).status).toBe(202)
    const answers = await Promise.all([decide(service, paused), decide(service, paused), decide(service, paused)])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409])
    expect(done).toHaveLength(1)
    const again = await json(service.ask(`/v1/runs/${paused.id}`))
    expect((await decide(service, paused)).status).toBe(409)
    expect(await json(decide(service, again))).toMatchObject({ status: 'ended', output: 'paid' })
    const said = model.requests.map(({ messages }) => messages.filter(({ content }) => content === 'and tell me').length)
    expect([said, done.length]).toEqual([[0, 1, 1], 2])
  })

  it('a chat is in the list after a restart, and its events are complete', async () => {
    const { options } = await folderOfRuns()
    const first = await startService({ ...options, model: scriptedModel(['It is sunny.']) })
    const chat = { model: 'toolloop', messages: [{ role: 'user', content: 'How is the weather?' }] }
    const { id } = await json(first.post('/v1/chat/completions', chat))
    await first.listening.close()
    const second = await startService({ ...options, model: scriptedModel([]) })
    const { data } = await json(second.ask('/v1/runs'))
    expect(data).toMatchObject([{ kind: 'chat', status: 'ended', output: 'It is sunny.', input: 'How is the weather?' }])
    expect(id).toContain(data[0].id.replace(/^\w+_/, '').slice(0, 8))
    const frames = await allFrames(await second.ask(`/v1/runs/${data[0].id}/events`))
    expect([frames[0]?.event, frames.at(-1)?.event, frames.some(({ event }) => event === 'GAP')]).toEqual(['RUN_START', 'RESULT', false])
  })

  it('a chat that a shutdown aborts is stored', async () => {
    const { options } = await folderOfRuns()
    const asked = Promise.withResolvers<void>()
    const model = scriptedModel(() => {
      asked.resolve()
      return { before: new Promise<void>(() => {}), text: 'never' }
    })
    const first = await startService({ ...options, model })
    const chat = { model: 'toolloop', messages: [{ role: 'user', content: 'How is the weather?' }] }
    const answer = first.post('/v1/chat/completions', chat)
    await asked.promise
    await first.listening.close(0)
    await (await answer).text()
    const second = await startService({ ...options, model: scriptedModel([]) })
    const { data } = await json(second.ask('/v1/runs'))
    expect(data).toMatchObject([{ kind: 'chat', status: 'ended', stopReason: 'aborted', input: 'How is the weather?' }])
    const frames = await allFrames(await second.ask(`/v1/runs/${data[0].id}/events`))
    expect(frames.map(({ event }) => event)).toEqual(expect.arrayContaining(['RUN_START', 'RUN_END', 'RESULT']))
  })
})

describe('concurrent runs', () => {
  it('all end when the service is shut down while they wait to start', async () => {
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

/** A request that does not pass a network. */
function inProcess(path: string, body?: string | ReadableStream): Request {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return new Request(`http://localhost${path}`, body === undefined ? { headers } : { method: 'POST', headers, body, duplex: 'half' })
}
