import { AsyncLocalStorage } from 'node:async_hooks'
import { execFile } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { Agent, type Dispatcher, MockAgent, Pool, ProxyAgent, setGlobalDispatcher } from 'undici'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createModel } from '../../src/models/create-model.ts'
import type { ModelSettings } from '../../src/models/settings.ts'
import { type Dispatch, original, resetGlobalDispatcher } from './global-dispatcher.ts'
import { chunk, eventStream, events, startServer, textEvents } from './local-server.ts'
import { hello, secret } from './one-request.ts'
import { startProxy } from './proxy.ts'

const modelAt = (baseURL: string, settings: Partial<ModelSettings> = {}) =>
  createModel({ provider: 'custom', model: 'm', apiKey: secret, baseURL, maxRetries: 0, ...settings })

afterEach(() => {
  vi.useRealTimers()
})

describe('a custom fetch', () => {
  const answering = (body: unknown) => async () => {
    const response = Response.json({})
    Object.defineProperty(response, 'body', { value: body })
    return response
  }
  const generate = (fetch: typeof globalThis.fetch) => modelAt('http://127.0.0.1:1/v1', { fetch }).generate({ messages: hello })

  it('whose response has an unreadable body is an error of the request, not of the process', async () => {
    const locked = new Response(textEvents('ok'))
    locked.body?.getReader()
    for (const body of [undefined, {}, 'text', 3, locked.body]) {
      await expect(generate(answering(body))).rejects.toMatchObject({
        code: 'invalid_option',
        message: expect.stringContaining('Expected `fetch` to be a function whose response has a `body` that is null or an unread stream'),
      })
    }
    await expect(generate(answering(null))).rejects.toMatchObject({ code: 'stream_cut' })
  })

  it('may return any kind of stream as the body', async () => {
    const text = textEvents('ok')
    async function* pieces() {
      yield Buffer.from(text.slice(0, 20))
      yield Buffer.from(text.slice(20))
    }
    for (const body of [Readable.from([Buffer.from(text)]), pieces(), new Response(text).body]) {
      expect(await generate(answering(body))).toMatchObject({ text: 'ok' })
    }
  })
})

it('a sink is called in the async context of its request, also over a connection of an earlier one', async () => {
  const context = new AsyncLocalStorage<string>()
  const heard: [string, string | undefined][] = []
  let end = () => {}
  await using server = await startServer((response, _request, index) => {
    eventStream(response).write(events(chunk({ content: `${index}a` })))
    end = () => response.end(events(chunk({ content: `${index}b` }, 'stop'), '[DONE]'))
  })
  const model = modelAt(server.baseURL)
  const sink = {
    text(delta: string) {
      heard.push([delta, context.getStore()])
      if (delta.endsWith('a')) end()
    },
  }
  for (const name of ['first', 'second']) await context.run(name, () => model.generate({ messages: hello }, sink))
  expect(heard).toEqual([
    ['0a', 'first'],
    ['0b', 'first'],
    ['1a', 'second'],
    ['1b', 'second'],
  ])
  expect(server.sockets.size).toBe(1)
})

it('a compressed body that can’t be read is an error with its cause', async () => {
  await using server = await startServer((response) => {
    response.setHeader('content-encoding', 'gzip')
    eventStream(response).write('not compressed')
  })
  await expect(modelAt(server.baseURL).generate({ messages: hello })).rejects.toMatchObject({
    code: 'stream_cut',
    cause: { code: 'Z_DATA_ERROR' },
  })
})

describe('a redirect', () => {
  it('is followed in the async context of its request, also over a connection of an earlier one', async () => {
    const context = new AsyncLocalStorage<string>()
    const heard: (string | undefined)[] = []
    await using server = await startServer((response, { url }) => {
      if (url.startsWith('/v1/')) response.writeHead(307, { location: url.replace('/v1/', '/v2/') }).end()
      else eventStream(response).end(textEvents('moved'))
    })
    const model = modelAt(server.baseURL)
    const sent: (string | undefined)[] = []
    const noteSent = () => sent.push(context.getStore())
    subscribe('undici:request:create', noteSent)
    for (const name of ['first', 'second']) {
      await context.run(name, () => model.generate({ messages: hello }, { text: () => heard.push(context.getStore()) }))
    }
    unsubscribe('undici:request:create', noteSent)
    expect(heard).toEqual(['first', 'second'])
    expect(sent).toEqual(['first', 'first', 'second', 'second'])
  })

  it.each([307, 308])('%d sends the same request to the new address, with its key if that is the same server', async (status) => {
    await using server = await startServer((response, { url }) => {
      if (url.startsWith('/v1/')) response.writeHead(status, { location: url.replace('/v1/', '/v2/') }).end()
      else eventStream(response).end(textEvents('moved'))
    })
    expect(await modelAt(server.baseURL).generate({ messages: hello })).toMatchObject({ text: 'moved' })
    const [first, second] = server.requests
    expect(second).toMatchObject({ method: 'POST', url: '/v2/chat/completions', text: first?.text })
    expect(second?.headers.authorization).toBe(`Bearer ${secret}`)
  })

  it.each(['custom', 'anthropic', 'google'])('to another server does not send it the key of %s', async (provider) => {
    await using other = await startServer((response) => response.writeHead(401).end())
    await using server = await startServer((response, { url }) =>
      response.writeHead(308, { location: new URL(url, other.baseURL).href }).end(),
    )
    const headers = { 'x-api-key': secret, 'api-key': secret, cookie: secret, host: 'first.test' }
    await expect(modelAt(server.baseURL, { provider, headers }).generate({ messages: hello })).rejects.toMatchObject({ status: 401 })
    expect(other.requests).toHaveLength(1)
    expect([server, other].map(({ requests }) => requests[0]?.headers.host)).toEqual(['first.test', new URL(other.baseURL).host])
    expect(other.requests[0]?.text).toBe(server.requests[0]?.text)
    expect(JSON.stringify(other.requests[0]?.headers)).not.toContain(secret)
    expect(JSON.stringify(server.requests[0]?.headers)).toContain(secret)
  })

  it('in a circle, to nowhere, or one that would drop the request’s body is an error', async () => {
    const answers: Record<string, [number, Record<string, string>]> = {
      circle: [308, { location: '/circle/chat/completions' }],
      nowhere: [308, { location: 'http://' }],
      untold: [308, {}],
      found: [302, { location: '/v2/chat/completions' }],
    }
    await using server = await startServer((response, { url }) =>
      response.writeHead(...(answers[url.split('/')[1] ?? ''] ?? [500, {}])).end(),
    )
    for (const path of Object.keys(answers)) {
      const model = modelAt(server.baseURL.replace('/v1', `/${path}`))
      await expect(model.generate({ messages: hello })).rejects.toMatchObject({ code: 'provider_error', retryable: false })
    }
    expect(server.requests.length).toBeLessThan(40)
  })
})

describe('a body that does not end after its end mark', () => {
  it('does not keep the process alive', async () => {
    await using server = await startServer((response) => eventStream(response).write(textEvents('ok')))
    const script = `
      const { createModel } = await import(${JSON.stringify(new URL('../../src/models/create-model.ts', import.meta.url).href)})
      const model = createModel({ provider: 'custom', model: 'm', apiKey: 'k', baseURL: ${JSON.stringify(server.baseURL)}, maxRetries: 0 })
      const { text } = await model.generate({ messages: [{ role: 'user', content: 'go' }] })
      console.log(text)`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { timeout: 50_000 })
    expect(stdout).toBe('ok\n')
  })

  it('is not waited for; its connection is closed a little later', async () => {
    await using server = await startServer((response) => eventStream(response).write(textEvents('ok')))
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    expect(await modelAt(server.baseURL).generate({ messages: hello })).toEqual({
      text: 'ok',
      toolCalls: [],
      finishReason: 'stop',
      rawFinishReason: 'stop',
      responseId: 'chatcmpl-1',
      model: 'model-x',
    })
    expect(server.sockets.size).toBe(1)
    vi.advanceTimersByTime(250)
    await server.firstClosed
  })

  it('releases its connection for the next request if it ends soon', async () => {
    const ended = Promise.withResolvers<void>()
    let end = () => {}
    await using server = await startServer((response, _request, index) => {
      eventStream(response).write(textEvents(`${index}`))
      end = () => response.end(() => ended.resolve())
      if (index > 0) end()
    })
    const model = modelAt(server.baseURL)
    expect(await model.generate({ messages: hello })).toMatchObject({ text: '0' })
    end()
    await ended.promise
    // The last bytes of the first body must arrive before the connection is free.
    await vi.waitFor(async () => {
      const before = new Set(server.sockets)
      await model.generate({ messages: hello })
      expect(server.sockets).toEqual(before)
    })
  })
})

describe('the global dispatcher', () => {
  afterEach(resetGlobalDispatcher)

  it.each(['custom', 'responses-compatible', 'anthropic', 'google'])(
    'takes the requests of %s, whichever the caller has set',
    async (provider) => {
      await using server = await startServer((response) => response.writeHead(429).end('slow down'))
      await using proxy = await startProxy()
      const model = modelAt(server.baseURL, { provider })
      let dispatched = 0
      const counting =
        (dispatch: Dispatch): Dispatch =>
        (options, handler) => {
          dispatched++
          return dispatch(options, handler)
        }
      const own = { dispatch: counting((options, handler) => original.dispatch(options, handler)) } as Dispatcher
      const factory = (origin: string | URL) => {
        dispatched++
        return new Pool(origin)
      }
      const pooled = new Agent({ factory })
      const proxied = new ProxyAgent({ uri: proxy.url, proxyTunnel: true })
      for (const [dispatcher, count, tunnels] of [
        [original, 0, 0],
        [original.compose(counting), 1, 0],
        [pooled, 2, 0],
        [own, 3, 0],
        [proxied, 3, 1],
      ] as const) {
        setGlobalDispatcher(dispatcher)
        await expect(model.generate({ messages: hello })).rejects.toMatchObject({ status: 429 })
        expect([dispatched, proxy.tunnels.length]).toEqual([count, tunnels])
      }
      await proxied.close()
    },
  )

  it('may be a MockAgent', async () => {
    const mock = new MockAgent()
    mock.disableNetConnect()
    mock.get('http://provider.test').intercept({ path: '/v1/chat/completions', method: 'POST' }).reply(200, textEvents('mocked'))
    setGlobalDispatcher(mock)
    expect(await modelAt('http://provider.test/v1').generate({ messages: hello })).toMatchObject({ text: 'mocked' })
    mock.assertNoPendingInterceptors()
    await mock.close()
  })
})
