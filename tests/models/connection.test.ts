import { once } from 'node:events'
import { createRequire } from 'node:module'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { Agent, setGlobalDispatcher } from 'undici'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createModel } from '../../src/models/create-model.ts'
import type { ModelSettings } from '../../src/models/settings.ts'
import { resetGlobalDispatcher } from './global-dispatcher.ts'
import { eventStream, startServer, textEvents } from './local-server.ts'
import { hello, secret } from './one-request.ts'

const modelAt = (baseURL: string, settings: Partial<ModelSettings> = {}) =>
  createModel({ provider: 'custom', model: 'm', apiKey: secret, baseURL, maxRetries: 0, ...settings })

afterEach(() => {
  vi.useRealTimers()
  resetGlobalDispatcher()
})

describe('a request over a connection that was used before', () => {
  it('is not sent again if the server had it for more than a second', async () => {
    await using server = await startServer((response, _request, index) => {
      if (index === 0) eventStream(response).end(textEvents('0'))
      else {
        vi.advanceTimersByTime(1001)
        response.destroy()
      }
    })
    const model = modelAt(server.baseURL)
    await model.generate({ messages: hello })
    vi.useFakeTimers({ toFake: ['performance'] })
    await expect(model.generate({ messages: hello })).rejects.toMatchObject({ code: 'connection_failed', providerCode: 'ECONNRESET' })
    expect(server.requests).toHaveLength(2)
  })

  it('is not sent again after an interim response', async () => {
    await using server = await startServer((response, _request, index) => {
      if (index === 0) eventStream(response).end(textEvents('0'))
      else response.socket?.write('HTTP/1.1 103 Early Hints\r\n\r\n', () => response.destroy())
    })
    const model = modelAt(server.baseURL)
    await model.generate({ messages: hello })
    await expect(model.generate({ messages: hello })).rejects.toMatchObject({ code: 'connection_failed' })
    expect(server.requests).toHaveLength(2)
  })
})

describe('a connection that is never established', () => {
  /** Accepts connections and sends nothing. */
  async function startSilentServer() {
    const sockets = new Set<Socket>()
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => sockets.delete(socket))
      socket.resume()
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return {
      baseURL: `https://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
      sockets,
      connected: once(server, 'connection'),
      [Symbol.asyncDispose]: async () => {
        for (const socket of sockets) socket.destroy()
        server.close()
        await once(server, 'close')
      },
    }
  }

  /** The clock of undici's own timers. */
  const timers: { tick(ms: number): void } = createRequire(import.meta.url)('undici/lib/util/timers.js')

  it('is given up after 10 seconds', async () => {
    await using server = await startSilentServer()
    const answer = modelAt(server.baseURL).generate({ messages: hello })
    await server.connected
    timers.tick(1000)
    timers.tick(10_001)
    await expect(answer).rejects.toMatchObject({ code: 'connection_failed', providerCode: 'ETIMEDOUT', retryable: true })
    await expect.poll(() => server.sockets.size).toBe(0)
  })

  it('does not delay an abort; its socket is closed by then', async () => {
    await using server = await startSilentServer()
    const controller = new AbortController()
    const answer = modelAt(server.baseURL).generate({ messages: hello, signal: controller.signal })
    await server.connected
    controller.abort()
    await expect(answer).rejects.toMatchObject({ code: 'aborted' })
    timers.tick(1000)
    timers.tick(10_001)
    await expect.poll(() => server.sockets.size).toBe(0)
  })
})

describe('a redirect', () => {
  it('to another server keeps only headers that describe the request', async () => {
    await using other = await startServer((response) => eventStream(response).end(textEvents('there')))
    await using server = await startServer((response) => response.writeHead(307, { location: `${other.baseURL}/x` }).end())
    const headers = { 'x-password': 'p', 'x-jwt': 'p', 'x-session-id': 'p', 'anthropic-version': '1', 'user-agent': 'me' }
    expect((await modelAt(server.baseURL, { headers }).generate({ messages: hello })).text).toBe('there')
    expect(server.requests[0]?.headers).toMatchObject(headers)
    const sent = Object.entries(other.requests[0]?.headers ?? {}).filter(([name]) => !name.startsWith('x-stainless-'))
    expect(Object.fromEntries(sent)).toEqual({
      accept: expect.any(String),
      'anthropic-version': '1',
      connection: 'keep-alive',
      'content-length': expect.any(String),
      'content-type': 'application/json',
      host: new URL(other.baseURL).host,
      'user-agent': 'me',
    })
  })

  it('from https to http is not followed', async () => {
    await using server = await startServer((response) => response.writeHead(307, { location: 'http://provider.test/v1' }).end())
    const plain = new Agent()
    const { origin } = new URL(server.baseURL)
    setGlobalDispatcher(plain.compose((dispatch) => (options, handler) => dispatch({ ...options, origin }, handler)))
    await expect(modelAt('https://provider.test/v1').generate({ messages: hello })).rejects.toMatchObject({
      code: 'invalid_option',
      message: expect.stringContaining('http://provider.test'),
    })
    expect(server.requests).toHaveLength(1)
    await plain.close()
  })
})

describe('a body', () => {
  it('of an error that drips endlessly is read for only a few seconds', async () => {
    const begun = Promise.withResolvers<() => void>()
    await using server = await startServer((response) => {
      response.writeHead(503).write('full')
      begun.resolve(() => response.write('.'))
    })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    let isOver = false
    const answer = modelAt(server.baseURL)
      .generate({ messages: hello, stream: false })
      .catch((error: unknown) => error)
      .finally(() => {
        isOver = true
      })
    const drip = await begun.promise
    for (let turns = 0; turns < 500 && !isOver; turns++) {
      drip()
      await setImmediate()
      vi.advanceTimersByTime(1000)
    }
    expect(isOver).toBe(true)
    expect(await answer).toMatchObject({ code: 'provider_error', status: 503, message: expect.stringContaining('full') })
  })
})

describe('a header that can’t be sent', () => {
  it.each([
    ['expect', '100-continue', 'expect header'],
    ['keep-alive', '5', 'keep-alive header'],
    ['x-a', 'a\r\nb: c', 'invalid header value'],
  ])('%s: %j is an error of the settings, and nothing is sent', async (name, value, named) => {
    await using server = await startServer((response) => eventStream(response).end(textEvents('ok')))
    const model = modelAt(server.baseURL, { headers: { [name]: value }, maxRetries: 5 })
    const error: unknown = await model.generate({ messages: hello }).catch((error: unknown) => error)
    expect(error).toMatchObject({ code: 'invalid_option', message: expect.stringContaining(named) })
    expect(String(error)).not.toContain(value)
    expect(server.requests).toHaveLength(0)
  })
})
