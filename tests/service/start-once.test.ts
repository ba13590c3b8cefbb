import { DefaultChatTransport, type UIMessage } from 'ai'
import { describe, expect, it } from 'vitest'
import { scriptedModel } from '../../src/testing/index.ts'
import { readChunks, userMessage } from '../ui/chat.ts'
import { configFile, json, startService, token } from './start-service.ts'

const key = (value: string) => ({ 'idempotency-key': value })

describe('Idempotency-Key', () => {
  it('E1.6 starts one run, however it is requested, one by one and all at once', async () => {
    const model = scriptedModel(({ messages }) => `heard ${messages.length}`)
    const { post } = await startService({ model })
    const ways = [
      () => post('/v1/runs', { input: 'hi' }, key('a')),
      () => post('/v1/runs', { input: 'hi' }, { ...key('a'), accept: 'text/event-stream' }),
    ]
    const answers = [...(await Promise.all([...ways, ...ways].map((ask) => ask()))), await ways[0]?.(), await ways[1]?.()]
    const texts = await Promise.all(answers.map((answer) => answer?.text()))
    const ids = texts.map((text) => /run_[\w-]+/.exec(text ?? '')?.[0])
    expect([new Set(ids).size, model.requests.length]).toEqual([1, 1])
    for (const text of texts) expect(text).toContain('heard 1')
    // Another key, and none, are other runs.
    await (await post('/v1/runs', { input: 'hi' }, key('b'))).text()
    await (await post('/v1/runs', { input: 'hi' })).text()
    expect(model.requests).toHaveLength(3)
  })

  it('E1.6 is refused for another request, and separate for each token', async () => {
    const model = scriptedModel(() => 'hi')
    const authenticate = (request: Request) => ({ name: request.headers.get('authorization') ?? '', roles: ['run'] as const })
    const { post, url } = await startService({ model, token: undefined, authenticate })
    await (await post('/v1/runs', { input: 'hi' }, key('a'))).text()
    const other = await post('/v1/runs', { input: 'something else' }, key('a'))
    expect([other.status, (await json(other)).error]).toMatchObject([422, { code: 'idempotency_key_reused', param: 'idempotency-key' }])
    const headers = { authorization: 'Bearer bob', 'content-type': 'application/json', ...key('a') }
    const bobs = await fetch(`${url}/v1/runs`, { method: 'POST', headers, body: JSON.stringify({ input: 'something else' }) })
    expect(bobs.status).toBe(200)
    for (const given of ['', 'x'.repeat(256)]) {
      const response = await post('/v1/runs', { input: 'hi' }, key(given))
      expect([response.status, (await json(response)).error]).toMatchObject([400, { param: 'idempotency-key' }])
    }
    expect(model.requests).toHaveLength(2)
  })

  it('E1.6 is free again after a request that started nothing', async () => {
    const { post } = await startService({ model: scriptedModel(['hi']) })
    expect((await post('/v1/runs', { input: 'hi', model: 'not-there' }, key('a'))).status).toBe(404)
    expect(await json(await post('/v1/runs', { input: 'hi' }, key('a')))).toMatchObject({ output: 'hi' })
  })

  it('E1.6 outlives the process with the run', async () => {
    const { folder, file } = await configFile('service: { keepRuns: { folder: runs } }\n')
    const first = await startService({ model: scriptedModel(['hi']), cwd: folder, configFile: file })
    const run = await json(await first.post('/v1/runs', { input: 'hi' }, key('a')))
    await first.listening.close(0)
    const model = scriptedModel(['again'])
    const second = await startService({ model, cwd: folder, configFile: file })
    expect(await json(await second.post('/v1/runs', { input: 'hi' }, key('a')))).toMatchObject({ id: run.id, output: 'hi' })
    expect(model.requests).toEqual([])
  })

  it.each([
    ['/ui/chat', { id: 'c1', messages: [userMessage('hi')] }],
    ['/agui', { threadId: 't1', runId: 'r1', messages: [{ id: 'm1', role: 'user', content: 'hi' }] }],
  ])('E1.6 starts one run of a thread at %s', async (path, body) => {
    const model = scriptedModel(() => 'hello')
    const { post } = await startService({ model })
    const texts = await Promise.all([1, 2, 3].map(async () => (await post(path, body, key('a'))).text()))
    texts.push(await (await post(path, body, key('a'))).text())
    // A later reader may get adjacent pieces of the text as one.
    const said = texts.map((text) => [...text.matchAll(/"delta":"([^"]*)"/g)].map(([, piece]) => piece).join(''))
    expect([said, model.requests.length]).toEqual([texts.map(() => 'hello'), 1])
    await (await post(path, body, key('b'))).text()
    expect(model.requests).toHaveLength(2)
  })

  it('E1.6 lets a page of the AI SDK send its message again', async () => {
    const model = scriptedModel(() => 'hello')
    const { url } = await startService({ model })
    const transport = new DefaultChatTransport<UIMessage>({
      api: `${url}/ui/chat`,
      headers: { authorization: `Bearer ${token}`, ...key('m1') },
    })
    const send = async () => {
      const asked = { trigger: 'submit-message' as const, chatId: 'c1', messageId: undefined, messages: [userMessage('hi')] }
      return (await readChunks(await transport.sendMessages({ ...asked, abortSignal: undefined }))).message
    }
    const answer = await send()
    expect(await send()).toEqual(answer)
    expect(model.requests).toHaveLength(1)
  })
})
