import { describe, expect, it } from 'vitest'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { countingTool } from '../hazards/tools.ts'
import { allFrames, configFile, framesOf, json, payTool, startService as startInMemory } from './start-service.ts'

/** The same with a folder for its runs, but where a test has a configuration of its own. */
const startInJournal: typeof startInMemory = async (options = {}) => {
  const { folder, file } = await configFile('service: { keepRuns: { folder: kept } }\n')
  return startInMemory({ configFile: file, cwd: folder, ...options })
}

describe.each([
  ['in memory', startInMemory],
  ['in a journal', startInJournal],
] as const)('POST /v1/runs, %s', (_place, startService) => {
  it('answers with the result, and stores it', async () => {
    const { post, ask } = await startService({
      model: scriptedModel([{ toolCalls: [{ name: 'look' }] }, 'done']),
      tools: [countingTool('look').tool],
    })
    const response = await post('/v1/runs', { input: 'go' })
    const run = await json(response)
    expect(run).toMatchObject({
      status: 'ended',
      stopReason: 'answered',
      output: 'done',
      iterations: 2,
      owner: 'operator',
      model: 'toolloop',
    })
    expect(run.result.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    expect(await json(ask(`/v1/runs/${run.id}`))).toEqual(run)
    const { data } = await json(ask('/v1/runs'))
    expect(data).toMatchObject([{ id: run.id, output: 'done' }])
    expect(data[0].result).toBeUndefined()
  })

  it('continues from the messages of an earlier run', async () => {
    const model = scriptedModel(['one', 'two'])
    const { post } = await startService({ model })
    const first = await json(post('/v1/runs', { input: 'a' }))
    await post('/v1/runs', { input: [{ role: 'user', content: 'b' }], messages: first.result.messages })
    expect(model.requests[1]?.messages.map(({ content }) => content)).toEqual(['a', 'one', 'b'])
  })

  it('streams every event with its number, and resumes an interrupted stream', async () => {
    const held = Promise.withResolvers<void>()
    const model = scriptedModel([{ chunks: ['a', 'b', held.promise, 'c'] }])
    const { post, ask } = await startService({ model })
    const response = await post('/v1/runs', { input: 'go', stream: true })
    const id = response.headers.get('x-run-id')
    const seen: string[] = []
    for await (const frame of framesOf(response)) {
      seen.push(`${frame.id} ${frame.event}`)
      // The reader goes; the run does not.
      if (frame.event === 'TEXT_DELTA' && frame.data.includes('b"')) break
    }
    const last = Number(seen.at(-1)?.split(' ')[0])
    expect(seen[0]).toBe('1 RUN_START')
    held.resolve()
    const rest = await allFrames(await ask(`/v1/runs/${id}/events`, { headers: { 'last-event-id': String(last) } }))
    expect(rest[0]).toMatchObject({ id: String(last + 1), event: 'TEXT_DELTA' })
    expect(rest.at(-1)).toMatchObject({ event: 'RESULT' })
    expect(JSON.parse(rest.at(-1)?.data ?? '')).toMatchObject({ id, status: 'ended', output: 'abc' })
    // Who comes late gets the pieces of the text as one, with the number of the last.
    const again = await allFrames(await ask(`/v1/runs/${id}/events`))
    const numbers = again.slice(0, -1).map(({ id: number }) => Number(number))
    expect(numbers).toEqual([...numbers].sort((a, b) => a - b))
    expect(again.filter(({ event }) => event === 'TEXT_DELTA').map(({ data }) => JSON.parse(data).text)).toEqual(['abc'])
  })

  it('answers immediately in the background; a run can be cancelled', async () => {
    const { post } = await startService({ model: scriptedModel([{ text: 'so', hang: true }]) })
    const started = await post('/v1/runs', { input: 'go', background: true })
    expect(started.status).toBe(202)
    const { id, status } = await json(started)
    expect(status).toBe('running')
    expect(await json(post(`/v1/runs/${id}/cancel`, {}))).toMatchObject({ status: 'ended', stopReason: 'aborted' })
    // Once more changes nothing.
    expect(await json(post(`/v1/runs/${id}/cancel`, {}))).toMatchObject({ status: 'ended', stopReason: 'aborted' })
  })

  it('continues when its client has disconnected', async () => {
    const held = Promise.withResolvers<void>()
    const { ask, post, service } = await startService({ model: scriptedModel([{ before: held.promise, text: 'late' }]) })
    const begun = new Promise((resolve) => service.bus.on('MODEL_START', resolve))
    const ended = new Promise((resolve) => service.bus.on('RUN_END', resolve))
    const leaving = new AbortController()
    const asked = ask('/v1/runs', {
      method: 'POST',
      body: '{"input":"go"}',
      headers: { 'content-type': 'application/json' },
      signal: leaving.signal,
    })
    await begun
    leaving.abort()
    await expect(asked).rejects.toThrow()
    held.resolve()
    await ended
    const { data } = await json(ask('/v1/runs'))
    // How it has ended is written down after its last event.
    await expect.poll(async () => (await json(ask(`/v1/runs/${data[0].id}`))).output).toBe('late')
    expect((await post('/v1/runs/none/cancel', {})).status).toBe(404)
  })

  it('receives messages while it runs', async () => {
    const held = Promise.withResolvers<void>()
    const model = scriptedModel([{ before: held.promise, text: 'one' }, 'two'])
    const { post, ask } = await startService({ model })
    const { id } = await json(post('/v1/runs', { input: 'a', background: true }))
    expect((await post(`/v1/runs/${id}/messages`, { input: 'and b' })).status).toBe(202)
    const bad = await post(`/v1/runs/${id}/messages`, { input: [{ role: 'nobody', content: 'x' }] })
    expect([bad.status, (await json(bad)).error.code]).toEqual([400, 'invalid_message'])
    held.resolve()
    const frames = await allFrames(await ask(`/v1/runs/${id}/events`))
    expect(JSON.parse(frames.at(-1)?.data ?? '')).toMatchObject({ status: 'ended', output: 'two' })
    expect(model.requests[1]?.messages.map(({ content }) => content)).toEqual(['a', 'one', 'and b'])
    expect((await post(`/v1/runs/${id}/messages`, { input: 'late' })).status).toBe(409)
  })

  it('waits for a decision, and carries it out once', async () => {
    const { tool, paid } = payTool()
    const model = scriptedModel([{ toolCalls: [{ name: 'pay', arguments: { euros: 5 } }] }, 'paid'])
    const { post, ask } = await startService({ model, tools: [tool] })
    const run = await json(post('/v1/runs', { input: 'pay 5' }))
    expect(run).toMatchObject({ status: 'waiting', stopReason: 'paused', pending: [{ kind: 'approval', tool: 'pay', args: { euros: 5 } }] })
    expect(run.result.state).toBeUndefined()
    const [{ toolCallId, fingerprint }] = run.pending
    const decide = (decision: object) => post(`/v1/runs/${run.id}/decisions`, { decisions: [{ toolCallId, fingerprint, ...decision }] })
    const foreign = await decide({ approved: true, fingerprint: 'other' })
    expect([foreign.status, (await json(foreign)).error.code]).toEqual([409, 'not_pending'])
    const nameless = await decide({ approved: true, fingerprint: undefined })
    expect([nameless.status, (await json(nameless)).error]).toEqual([
      400,
      expect.objectContaining({
        code: 'invalid_request',
        message: 'The body is invalid: /decisions/0/fingerprint is missing (That of the same item in the run’s `pending`)',
      }),
    ])
    const bad = await decide({ approved: true, args: { euros: 'many' } })
    expect([bad.status, (await json(bad)).error.code]).toEqual([400, 'invalid_option'])
    expect((await json(ask(`/v1/runs/${run.id}`))).status).toBe('waiting')
    const [one, two] = await Promise.all([decide({ approved: true, args: { euros: 4 } }), decide({ approved: true })])
    expect([one.status, two.status].sort()).toEqual([200, 409])
    expect(await json(ask(`/v1/runs/${run.id}`))).toMatchObject({ status: 'ended', output: 'paid', pending: [] })
    expect(paid).toHaveLength(1)
  })

  it('a paused run can be cancelled, and then accepts no decision', async () => {
    const { tool, paid } = payTool()
    const { post } = await startService({
      model: scriptedModel([{ toolCalls: [{ name: 'pay', arguments: { euros: 5 } }] }]),
      tools: [tool],
    })
    const run = await json(post('/v1/runs', { input: 'pay 5' }))
    expect(await json(post(`/v1/runs/${run.id}/cancel`, {}))).toMatchObject({ status: 'ended', stopReason: 'aborted', pending: [] })
    const [{ toolCallId, fingerprint }] = run.pending
    const late = await post(`/v1/runs/${run.id}/decisions`, { decisions: [{ toolCallId, fingerprint, approved: true }] })
    expect([late.status, (await json(late)).error.code, paid]).toEqual([409, 'not_waiting', []])
  })

  it('events after a decision are those that follow it', async () => {
    const { tool } = payTool()
    const model = scriptedModel([{ toolCalls: [{ name: 'pay', arguments: { euros: 5 } }] }, 'paid'])
    const { post } = await startService({ model, tools: [tool] })
    const frames = await allFrames(await post('/v1/runs', { input: 'pay 5', stream: true }))
    expect(frames.at(-1)).toMatchObject({ event: 'RESULT' })
    const run = JSON.parse(frames.at(-1)?.data ?? '')
    const [{ toolCallId, fingerprint }] = run.pending
    const body = { decisions: [{ toolCallId, fingerprint, approved: true }] }
    const more = await allFrames(await post(`/v1/runs/${run.id}/decisions`, body, { accept: 'text/event-stream' }))
    expect(Number(more[0]?.id)).toBe(run.events.last + 1)
    expect(more.map(({ event }) => event)).toContain('TOOL_CALL_START')
    expect(JSON.parse(more.at(-1)?.data ?? '')).toMatchObject({ status: 'ended', output: 'paid' })
  })

  it('a client’s tools come back as pending, and continue with their results', async () => {
    const model = scriptedModel([{ toolCalls: [{ name: 'ask_user' }] }, 'thanks'])
    const { post } = await startService({ model })
    const tools = [{ type: 'function', function: { name: 'ask_user' } }]
    const run = await json(post('/v1/runs', { input: 'x', tools }))
    expect(run.pending).toMatchObject([{ kind: 'client_tool', tool: 'ask_user' }])
    const [{ toolCallId, fingerprint }] = run.pending
    const done = await json(
      await post(`/v1/runs/${run.id}/decisions`, { decisions: [{ toolCallId, fingerprint, result: { said: 'yes' } }] }),
    )
    expect(done).toMatchObject({ status: 'ended', output: 'thanks' })
  })

  it.each<[string, object, object?]>([
    ['a type that is unknown', { type: 'object', properties: { a: { type: 'nothing' } } }, { properties: { a: {} } }],
    ['a type that is no object', { type: 'array', items: { type: 'string' } }, { type: 'object' }],
    ['a pattern that can’t be read', { type: 'object', properties: { a: { pattern: '(' } } }, { properties: { a: { pattern: '(' } } }],
    [
      'bounds of draft-04',
      { type: 'object', properties: { b: { minimum: 0, exclusiveMinimum: true } } },
      { properties: { b: { exclusiveMinimum: 0 } } },
    ],
    ['references to nowhere', { type: 'object', properties: { a: { $ref: 'https://example.com/a.json' } } }],
    ['a format', { type: 'object', properties: { a: { type: 'string', format: 'date' } } }, { properties: { a: { format: 'date' } } }],
    [
      'very many fields',
      { type: 'object', properties: Object.fromEntries(Array.from({ length: 7_000 }, (_, at) => [`p${at}`, { type: 'string' }])) },
    ],
    ['ids that are the same', { type: 'object', properties: { a: { $id: 'urn:a' }, b: { $id: 'urn:a' } } }],
  ])('E3.4 a client’s own tool may have a schema with %s', async (_name, parameters, sent = {}) => {
    const model = scriptedModel([{ toolCalls: [{ name: 'mine', arguments: { a: 'x' } }] }, 'thanks'])
    const { post } = await startService({ model })
    const run = await json(post('/v1/runs', { input: 'x', tools: [{ type: 'function', function: { name: 'mine', parameters } }] }))
    expect(run.pending).toMatchObject([{ kind: 'client_tool', tool: 'mine', args: { a: 'x' } }])
    expect(model.requests[0]?.tools?.[0]?.function.parameters).toMatchObject({ type: 'object', ...sent })
    const [{ toolCallId, fingerprint }] = run.pending
    const done = await json(post(`/v1/runs/${run.id}/decisions`, { decisions: [{ toolCallId, fingerprint, result: 'yes' }] }))
    expect(done).toMatchObject({ status: 'ended', output: 'thanks' })
  })

  it('two tools of a client with one name are refused, and take no place', async () => {
    const { file } = await configFile('service: { concurrentRuns: 1 }\n')
    const { post } = await startService({ configFile: file, model: scriptedModel(['ok']) })
    const mine = { type: 'function', function: { name: 'mine' } }
    const refused = await post('/v1/runs', { input: 'x', tools: [mine, mine] })
    expect([refused.status, (await json(refused)).error.code]).toEqual([400, 'invalid_tool'])
    expect((await post('/v1/runs', { input: 'x', messages: [{ role: 'nobody' }] })).status).toBe(400)
    expect((await json(post('/v1/runs', { input: 'x' }))).output).toBe('ok')
  })

  it('a request’s limits can only be tighter than the service’s', async () => {
    const model = scriptedModel(() => ({ toolCalls: [{ name: 'look', arguments: { n: Math.random() } }] }))
    const { post } = await startService({ model, tools: [countingTool('look').tool] })
    expect(await json(post('/v1/runs', { input: 'x', maxIterations: 2 }))).toMatchObject({
      stopReason: 'max_iterations',
      iterations: 2,
    })
    expect(await json(post('/v1/runs', { input: 'x', limits: { toolCalls: 1 } }))).toMatchObject({ stopReason: 'budget' })
    // The program's bounds are no looser than those of the configuration.
    const bounded = await startService({ model, tools: [countingTool('look').tool], agent: { maxIterations: 3, limits: { toolCalls: 2 } } })
    const most = { maxIterations: 50, limits: { toolCalls: 1_000 } }
    const { result } = await json(bounded.post('/v1/runs', { input: 'x', ...most }))
    expect(result.toolCalls.map(({ outcome }) => outcome)).toEqual(['ok', 'ok', 'denied'])
    const bad = await post('/v1/runs', { input: 'x', limits: { wishes: 3 }, what: 1 })
    expect(bad.status).toBe(400)
    expect((await json(bad)).error.problems.map(({ path }) => path)).toEqual(['/what', '/limits/wishes'])
  })

  it('secrets of tools are in no event, no result and no list', async () => {
    const tool = defineTool({
      name: 'login',
      description: 'Logs in.',
      secrets: ['pin'],
      parameters: { type: 'object', properties: { pin: { type: 'string' } } },
      execute: ({ pin }) => `with ${pin}`,
    })
    const model = scriptedModel([{ toolCalls: [{ name: 'login', arguments: { pin: 'hunter22' } }] }, 'hunter22 it was'])
    const { post, ask } = await startService({ model, tools: [tool] })
    const frames = await allFrames(await post('/v1/runs', { input: 'x', stream: true }))
    expect(frames.map(({ event }) => event)).toContain('TOOL_CALL_END')
    expect(JSON.stringify(frames)).not.toContain('hunter22')
    expect(await (await ask('/v1/runs')).text()).not.toContain('hunter22')
  })
})
