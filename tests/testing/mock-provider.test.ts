import { execFile } from 'node:child_process'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterEach, describe, expect, it } from 'vitest'
import { ModelError } from '../../src/core/errors.ts'
import { type MockProvider, type MockProviderOptions, startMockProvider } from '../../src/testing/index.ts'

const open: MockProvider[] = []
async function start(options?: MockProviderOptions): Promise<MockProvider> {
  const provider = await startMockProvider(options)
  open.push(provider)
  return provider
}
afterEach(async () => {
  await Promise.all(open.splice(0).map((provider) => provider.close()))
})

const messages = [{ role: 'user', content: 'Hello' }]

function post(provider: MockProvider, body: object = {}, init: RequestInit = {}): Promise<Response> {
  return fetch(`${provider.baseURL}/chat/completions`, { method: 'POST', body: JSON.stringify({ model: 'm', messages, ...body }), ...init })
}

/** Like `post`, for many concurrent requests, for which `fetch` is slow. Resolves with the text of the answer. */
function postLightly(provider: MockProvider, body: object): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(`${provider.baseURL}/chat/completions`, { method: 'POST' }, (response) => text(response).then(resolve, reject))
    sent.on('error', reject).end(JSON.stringify({ model: 'm', messages, ...body }))
  })
}

/** The payloads of a streamed reply's `data:` lines. */
async function payloads(response: Response): Promise<unknown[]> {
  const text = await response.text()
  return text.split('\n\n').flatMap((event) => (event.startsWith('data: {') ? [JSON.parse(event.slice(6))] : []))
}

describe('startMockProvider', () => {
  it('streams Chat Completions: role first, text, calls in pieces, finish reason, usage, end mark', async () => {
    const provider = await start({
      script: [
        { text: 'Hello', reasoning: 'Hm', toolCalls: [{ name: 'add', arguments: '{"a":1}' }], usage: { inputTokens: 1, outputTokens: 2 } },
      ],
    })
    const response = await post(provider, { stream: true, stream_options: { include_usage: true } })
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const text = await response.text()
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true)
    const events = text
      .split('\n\n')
      .slice(0, -2)
      .map((event) => JSON.parse(event.slice(6)))
    expect(events.map((event) => event.choices[0]?.delta)).toEqual([
      { role: 'assistant', content: '' },
      { reasoning_content: 'Hm' },
      { content: 'Hell' },
      { content: 'o' },
      { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'add', arguments: '' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '{"a"' } }] },
      { tool_calls: [{ index: 0, function: { arguments: ':1}' } }] },
      {},
      undefined,
    ])
    expect(events.at(-2)).toMatchObject({
      object: 'chat.completion.chunk',
      model: 'm',
      choices: [{ finish_reason: 'tool_calls' }],
      usage: null,
    })
    expect(events.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } })
  })

  it('sends no usage unless asked for it', async () => {
    const provider = await start({ script: [{ text: 'Hi', usage: { inputTokens: 1, outputTokens: 2 } }] })
    expect(JSON.stringify(await payloads(await post(provider, { stream: true })))).not.toContain('usage')
  })

  it('answers without a stream if none is requested', async () => {
    const provider = await start({ script: [{ toolCalls: [{ name: 'add' }] }, { text: '' }] })
    expect(await (await post(provider)).json()).toMatchObject({
      object: 'chat.completion',
      choices: [
        {
          message: { role: 'assistant', content: null, tool_calls: [{ id: 'call_1', function: { name: 'add', arguments: '{}' } }] },
          finish_reason: 'tool_calls',
        },
      ],
    })
    expect(await (await post(provider)).json()).toMatchObject({ choices: [{ message: { content: '' }, finish_reason: 'stop' }] })
  })

  it('also lists models as Ollama does, with their capabilities', async () => {
    const provider = await start({ models: ['llama', 'nomic-embed-text'] })
    expect(await (await fetch(`${provider.url}/api/tags`)).json()).toMatchObject({
      models: [
        { name: 'llama', model: 'llama', details: { family: 'llama' }, capabilities: ['completion', 'tools'] },
        { name: 'nomic-embed-text', capabilities: ['embedding'] },
      ],
    })
  })

  it('serves any prefix and lists models', async () => {
    const provider = await start({ script: () => 'ok', models: ['a', 'b'] })
    for (const path of ['/chat/completions', '/openai/deployments/x/chat/completions?api-version=1', '/v1/chat/completions']) {
      const response = await fetch(provider.url + path, { method: 'POST', body: JSON.stringify({ model: 'm', messages }) })
      expect(response.status).toBe(200)
    }
    expect(await (await fetch(`${provider.baseURL}/models`)).json()).toMatchObject({
      object: 'list',
      data: [{ id: 'a', object: 'model' }, { id: 'b' }],
    })
    const wrong = await fetch(`${provider.baseURL}/nowhere`)
    expect([wrong.status, await wrong.json()]).toMatchObject([
      404,
      { error: { message: 'Expected a path the mock provider serves, got GET /v1/nowhere' } },
    ])
  })

  it('records requests as they arrive', async () => {
    const provider = await start({ script: () => 'ok' })
    await (await post(provider, { temperature: 0.5 }, { headers: { Authorization: 'Bearer k' } })).text()
    const request = await provider.waitForEnd(1)
    expect(request).toMatchObject({
      method: 'POST',
      path: '/v1/chat/completions',
      body: { model: 'm', messages, temperature: 0.5 },
      ended: true,
      aborted: false,
    })
    expect(request.headers.authorization).toBe('Bearer k')
    expect(JSON.parse(request.rawBody)).toEqual(request.body)
    expect(provider.requests).toEqual([request])
  })

  it('lets a function answer many requests by their content', async () => {
    const provider = await start({
      script: async ({ body, index, path, headers, wire, readRequest }) => {
        expect([path, wire, headers['x-test'], body.model]).toEqual(['/v1/chat/completions', 'chat-completions', 'yes', 'm'])
        return `${index}: ${String(readRequest().messages[0]?.content)}`
      },
    })
    const texts = await Promise.all(
      ['a', 'b', 'c'].map(async (content) =>
        (await post(provider, { messages: [{ role: 'user', content }] }, { headers: { 'x-test': 'yes' } })).text(),
      ),
    )
    for (const [at, content] of ['a', 'b', 'c'].entries()) expect(texts[at]).toMatch(new RegExp(`\\d: ${content}`))
  })

  it('reports an exhausted or throwing script as a bad request that is not retried', async () => {
    const provider = await start({ script: ['one'] })
    await post(provider)
    const late = await post(provider)
    expect([late.status, await late.json()]).toMatchObject([
      400,
      { error: { message: 'Expected the script to have a turn for request 2, got a script of 1 turn' } },
    ])
    const broken = await start({
      script: () => {
        throw new Error('a defect of the test')
      },
    })
    const response = await post(broken)
    expect([response.status, await response.json()]).toMatchObject([400, { error: { message: 'a defect of the test' } }])
  })

  it('answers with raw replies, events and recordings', async () => {
    const provider = await start({
      script: [
        { status: 418, headers: { 'x-tea': 'green' }, body: { short: true } },
        { body: 'plain' },
        { events: [{ choices: [] }, ': a comment\n\n', 'data: {"cut'] },
        { recording: ['{"a":1}', '{"b":2}'] },
        { recording: '{"a":1}\n{"b":2}\n' },
        { recording: '{"whole":true}' },
      ],
    })
    const tea = await post(provider)
    expect([tea.status, tea.headers.get('x-tea'), await tea.json()]).toEqual([418, 'green', { short: true }])
    const plain = await post(provider)
    expect([plain.status, plain.headers.get('content-type'), await plain.text()]).toEqual([200, 'text/plain; charset=utf-8', 'plain'])
    expect(await (await post(provider, { stream: true })).text()).toBe('data: {"choices":[]}\n\n: a comment\n\ndata: {"cut')
    for (const _ of [1, 2])
      expect(await (await post(provider, { stream: true })).text()).toBe('data: {"a":1}\n\ndata: {"b":2}\n\ndata: [DONE]\n\n')
    expect(await (await post(provider)).json()).toEqual({ whole: true })
  })

  it('accepts recordings instead of a script', async () => {
    const provider = await start({ recordings: [['{"a":1}'], '{"b":2}'] })
    expect(await (await post(provider, { stream: true })).text()).toBe('data: {"a":1}\n\ndata: [DONE]\n\n')
    expect(await (await post(provider, { stream: true })).text()).toBe('data: {"b":2}\n\ndata: [DONE]\n\n')
    await expect(startMockProvider({ script: [], recordings: [] })).rejects.toThrow(
      'Expected `recordings` to be absent when there is a `script`',
    )
  })

  it('sends errors of turns: as a status if there is nothing else, otherwise inside the stream', async () => {
    const error = new ModelError('rate_limited', 'slow down', { provider: 'x', status: 429, retryable: true, retryAfterMs: 1500 })
    const provider = await start({
      script: [{ error }, { text: 'Half', error: new Error('broken') }, { text: 'Half', error: new Error('broken') }],
    })
    const refused = await post(provider, { stream: true })
    expect([refused.status, refused.headers.get('retry-after'), await refused.json()]).toMatchObject([
      429,
      '2',
      { error: { message: 'slow down', type: 'rate_limit_error' } },
    ])
    const events = await payloads(await post(provider, { stream: true }))
    expect(events.slice(1)).toMatchObject([{ choices: [{ delta: { content: 'Half' } }] }, { error: { message: 'broken' } }])
    expect((await post(provider)).status).toBe(500)
  })

  it('lets a turn wait before its first byte and within its text', async () => {
    const gate = Promise.withResolvers<void>()
    const middle = Promise.withResolvers<void>()
    const provider = await start({ script: [{ before: gate.promise, chunks: ['one', middle.promise, 'two'] }] })
    const responding = post(provider, { stream: true })
    await provider.waitForRequest()
    gate.resolve()
    const reader = ((await responding).body ?? new ReadableStream()).pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while (!text.includes('one')) text += (await reader.read()).value
    expect(text).not.toContain('two')
    middle.resolve()
    for (let read = await reader.read(); !read.done; read = await reader.read()) text += read.value
    expect(text).toContain('two')
  })

  it('breaks the connection if a promise within the text rejects, and answers with the reason if it is `before`', async () => {
    const provider = await start({
      script: [
        () => ({ chunks: ['one', Promise.reject(new Error('never shown'))] }),
        () => ({ before: Promise.reject(new Error('the gate fell')), text: 'x' }),
      ],
    })
    await expect((await post(provider, { stream: true })).text()).rejects.toThrow()
    expect((await provider.waitForEnd()).aborted).toBe(false)
    expect(await (await post(provider, { stream: true })).json()).toMatchObject({ error: { message: 'the gate fell' } })
  })

  it('sees a client disconnect, before the first byte and during a stream', async () => {
    const provider = await start({ script: [{ hang: true }, { text: 'Half', deaf: true }] })
    const first = new AbortController()
    const pending = post(provider, {}, { signal: first.signal })
    await provider.waitForRequest()
    first.abort()
    await expect(pending).rejects.toThrow()
    expect(await provider.waitForEnd()).toMatchObject({ aborted: true, ended: true })

    const second = new AbortController()
    const response = await post(provider, { stream: true }, { signal: second.signal })
    expect(provider.requests[1]).toMatchObject({ aborted: false, ended: false })
    second.abort()
    await expect(response.text()).rejects.toThrow()
    expect((await provider.waitForEnd(2)).aborted).toBe(true)
    await provider.waitForConnections(0)
    expect(provider.openConnections).toBe(0)
  })

  it('stops waiting when it is aborted or the server closes', async () => {
    const provider = await start()
    await expect(provider.waitForRequest(3, { signal: AbortSignal.abort() })).rejects.toThrow(
      'Gave up waiting for request 3, of which 0 had come: aborted',
    )
    const waiting = expect(provider.waitForEnd(1)).rejects.toThrow('Gave up waiting for the end of request 1: the server was closed')
    await provider.close()
    await waiting
  })

  it('closes everything, even repeatedly', async () => {
    const provider = await start({ script: [{ text: 'Half', hang: true }, 'never'], faults: [undefined, { slowFirstByteMs: 3_600_000 }] })
    const response = await post(provider, { stream: true })
    const slow = expect(post(provider, { stream: true })).rejects.toThrow()
    await provider.waitForRequest(2)
    await Promise.all([provider.close(), provider.close()])
    await expect(response.text()).rejects.toThrow()
    await slow
    await provider.close()
    expect(provider.openConnections).toBe(0)
    await expect(fetch(provider.url)).rejects.toThrow()
  })

  it('keeps no process alive once it is closed', async () => {
    const program = `
      import { startMockProvider } from ${JSON.stringify(new URL('../../src/testing/index.ts', import.meta.url).href)}
      const provider = await startMockProvider({ script: ['x', { text: 'Half', hang: true }], faults: [{ slowFirstByteMs: 3_600_000 }] })
      const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hello' }], stream: true })
      const post = () => fetch(provider.baseURL + '/chat/completions', { method: 'POST', body }).then((response) => response.text())
      const waiting = Promise.allSettled([post(), post()])
      await provider.waitForRequest(2)
      await provider.close()
      await waiting
      console.log('closed')`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], { timeout: 15_000 })
    expect(stdout).toBe('closed\n')
  })

  it('is disposable', async () => {
    let url: string
    {
      await using provider = await startMockProvider()
      url = provider.url
      expect((await fetch(`${url}/v1/models`)).status).toBe(200)
    }
    await expect(fetch(url)).rejects.toThrow()
  })

  it('answers a thousand concurrent requests', async () => {
    const gate = Promise.withResolvers<void>()
    const provider = await start({ script: ({ body }) => ({ before: gate.promise, text: `for ${String(body.user)}` }) })
    const answers = Array.from({ length: 1000 }, async (_, at) => {
      const answer = await postLightly(provider, { user: `u${at}`, stream: at % 2 === 0 })
      return [at, answer.replace(/.*?"content":"([^"]*)"|.+/gs, '$1')] as const
    })
    await provider.waitForRequest(1000)
    gate.resolve()
    for (const [at, text] of await Promise.all(answers)) expect(text).toBe(`for u${at}`)
    expect(provider.requests).toHaveLength(1000)
  })
})

describe('what the provider refuses', () => {
  it('is what `refuse` says, with status 400 and its words; neither a fault nor a turn of the script is used', async () => {
    const provider = await start({
      refuse: ({ wire, index, readRequest }) => (index === 0 ? `${wire}: ${readRequest().messages.length} is one too many` : undefined),
      script: ['Hello'],
      faults: ({ index }) => (index === 0 ? { status: 500 } : undefined),
    })
    const refused = await post(provider)
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { error: { type: 'invalid_request_error', message: 'chat-completions: 1 is one too many' } },
    ])
    expect(await (await post(provider)).json()).toMatchObject({ choices: [{ message: { content: 'Hello' } }] })
  })

  it('is a body that is not a JSON object', async () => {
    const provider = await start({ script: ['ok'] })
    for (const body of ['{"model":', '[]', '']) {
      const response = await fetch(`${provider.baseURL}/chat/completions`, { method: 'POST', body })
      expect([response.status, await response.json()]).toMatchObject([
        400,
        { error: { message: expect.stringContaining('to be a JSON object') } },
      ])
    }
  })
})
