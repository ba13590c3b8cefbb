import { setImmediate } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createModel } from '../../src/models/create-model.ts'
import type { ModelSettings } from '../../src/models/settings.ts'
import { eventStream, startServer, textEvents } from './local-server.ts'
import { hello, secret } from './one-request.ts'

const modelAt = (baseURL: string, settings: Partial<ModelSettings> = {}) =>
  createModel({ provider: 'custom', model: 'm', apiKey: secret, baseURL, maxRetries: 0, ...settings })

afterEach(() => {
  vi.useRealTimers()
})

describe('a body', () => {
  it('of an error that drips without end is waited for no longer than a few seconds', async () => {
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

  it('that grows beyond 256 MiB when it is decompressed is no response', async () => {
    const piece = gzipSync(`: ${'x'.repeat(8189)}\n`.repeat(2 ** 11))
    await using server = await startServer((response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' })
      for (let i = 0; i < 17; i++) response.write(piece)
      response.end(gzipSync(textEvents('ok')))
    })
    await expect(modelAt(server.baseURL).generate({ messages: hello })).rejects.toMatchObject({ code: 'bad_response', retryable: false })
  })
})

describe('a header that can’t be sent', () => {
  it.each([
    ['expect', '100-continue', 'expect header'],
    ['keep-alive', '5', 'keep-alive header'],
    ['x-a', 'a\r\nb: c', 'invalid header value'],
  ])('%s: %j is an error of the settings, and asked for once', async (name, value, named) => {
    await using server = await startServer((response) => eventStream(response).end(textEvents('ok')))
    const model = modelAt(server.baseURL, { headers: { [name]: value }, maxRetries: 5 })
    const error: unknown = await model.generate({ messages: hello }).catch((error: unknown) => error)
    expect(error).toMatchObject({ code: 'invalid_option', message: expect.stringContaining(named) })
    expect(String(error)).not.toContain(value)
    expect(server.requests).toHaveLength(0)
  })
})
