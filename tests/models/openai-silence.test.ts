import { getEventListeners } from 'node:events'
import type { ServerResponse } from 'node:http'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { ModelRequest, ModelSink } from '../../src/models/chat-model.ts'
import { createModel } from '../../src/models/create-model.ts'
import type { ModelSettings } from '../../src/models/settings.ts'
import { timersLeft } from '../hazards/waiting.ts'
import { chunk, eventStream, events, startServer, textEvents } from './local-server.ts'
import { failure, hello } from './one-request.ts'

afterEach(() => {
  vi.useRealTimers()
})

/** Lets everything in this process arrive. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

describe('silence and abort', () => {
  it('S3-21 H41 silence before the answer, before its first piece and in the middle ends the request, which may be retried', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const answers: [(response: ServerResponse) => unknown, object | undefined][] = [
      [() => {}, undefined],
      [(response) => eventStream(response).flushHeaders(), undefined],
      [(response) => eventStream(response).write(events(chunk({ content: 'The wea' }))), { text: 'The wea' }],
    ]
    for (const [answer, partial] of answers) {
      const arrived = Promise.withResolvers<void>()
      await using server = await startServer((response) => {
        answer(response)
        if (partial === undefined) arrived.resolve()
      })
      const found = failure(server.baseURL, {}, {}, { text: () => arrived.resolve() })
      await arrived.promise
      let isSettled = false
      void found.finally(() => {
        isSettled = true
      })
      vi.advanceTimersByTime(59_000)
      await turns(20)
      expect(isSettled).toBe(false)
      // Bytes that were in transit when the clock was moved restart the wait.
      while (!isSettled) {
        vi.advanceTimersByTime(60_000)
        await turns(20)
      }
      expect(await found).toMatchObject({ code: 'stream_idle', retryable: true, message: expect.stringContaining('nothing for 60000 ms') })
      expect((await found).partial).toEqual(partial)
      await server.firstClosed
    }
  })

  it('S3-21 H41 the request’s limit applies, or the settings’; a response without a stream has ten minutes', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const limits: [Partial<ModelRequest>, Partial<ModelSettings>, number][] = [
      [{ streamIdleTimeoutMs: 500 }, { streamIdleTimeoutMs: 900 }, 500],
      [{}, { streamIdleTimeoutMs: 900 }, 900],
      [{ stream: false }, { streamIdleTimeoutMs: 900 }, 900],
      [{ stream: false }, {}, 600_000],
      // Such a server is asked for a stream in any case.
      [{ stream: false }, { quirks: { wholeResponses: false } }, 60_000],
    ]
    for (const [request, settings, limit] of limits) {
      const arrived = Promise.withResolvers<void>()
      await using server = await startServer(() => arrived.resolve())
      const found = failure(server.baseURL, request, settings)
      await arrived.promise
      vi.advanceTimersByTime(limit - 1)
      expect(vi.getTimerCount()).toBeGreaterThan(0)
      vi.advanceTimersByTime(1)
      expect(await found).toMatchObject({ code: 'stream_idle', message: expect.stringContaining(`nothing for ${limit} ms`) })
      expect(await timersLeft()).toBe(0)
    }
  })

  it('S3-21 every piece, even a comment, restarts the wait, and Infinity waits forever', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    let push: (text: string) => void = () => {}
    const own: typeof fetch = async () =>
      new Response(
        new ReadableStream({
          start(stream) {
            push = (text) => stream.enqueue(Buffer.from(text))
          },
        }),
      )
    const pieces = [': still here\n\n', events(chunk({ content: 'a' })), ': still here\n\n', ': still here\n\n', textEvents('b')]
    for (const [streamIdleTimeoutMs, pause, stall] of [
      [60_000, 59_000, {}],
      [Number.POSITIVE_INFINITY, 2 ** 40, { streamStallTimeoutMs: Number.POSITIVE_INFINITY }],
    ] as const) {
      const model = createModel({
        provider: 'openai',
        model: 'gpt-4o',
        apiKey: 'k',
        fetch: own,
        streamIdleTimeoutMs,
        ...stall,
        maxRetries: 0,
      })
      const answer = model.generate({ messages: hello })
      for (const piece of pieces) {
        await turns(20)
        vi.advanceTimersByTime(pause)
        push(piece)
      }
      await turns(20)
      vi.advanceTimersByTime(1000)
      expect((await answer).text).toBe('ab')
    }
  })

  it('H30 H32 an abort before, while waiting or while streaming takes effect at once, closes the socket and leaves no listener', async () => {
    const controller = new AbortController()
    const { signal } = controller
    await using server = await startServer((response, _request, index) =>
      index === 0 ? controller.abort() : eventStream(response).write(events(chunk({ content: 'x' }))),
    )
    const found = await failure(server.baseURL, { signal })
    expect(found).toMatchObject({ code: 'aborted', retryable: false })
    await server.firstClosed
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
    expect(await failure(server.baseURL, { signal })).toMatchObject({ code: 'aborted' })
    expect(server.requests).toHaveLength(1)

    const during = new AbortController()
    const sink: ModelSink = { text: () => during.abort(new Error('enough')) }
    expect(await failure(server.baseURL, { signal: during.signal }, {}, sink)).toMatchObject({
      code: 'aborted',
      cause: { message: 'enough' },
    })
    expect(getEventListeners(during.signal, 'abort')).toHaveLength(0)
  })

  it('H32 leaves no listener on a signal that many requests share', async () => {
    await using server = await startServer((response) => eventStream(response).end(textEvents('ok')))
    const { signal } = new AbortController()
    const model = createModel({ provider: 'openai', model: 'gpt-4o', apiKey: 'k', baseURL: server.baseURL })
    for (let i = 0; i < 20; i++) await model.generate({ messages: hello, signal })
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
    expect(server.sockets.size).toBe(1)
  })

  it('H40 a custom fetch whose stream just ends when aborted is not an answer', async () => {
    const quiet: typeof fetch = async (_input, init) =>
      new Response(
        new ReadableStream({
          start(stream) {
            stream.enqueue(Buffer.from(events(chunk({ content: 'x' }))))
            init?.signal?.addEventListener('abort', () => stream.close())
          },
        }),
      )
    const controller = new AbortController()
    const sink: ModelSink = { text: () => controller.abort() }
    expect(await failure('http://nowhere.invalid/v1', { signal: controller.signal }, { fetch: quiet }, sink)).toMatchObject({
      code: 'aborted',
    })
    expect(await failure('http://nowhere.invalid/v1', { streamIdleTimeoutMs: 100 }, { fetch: quiet })).toMatchObject({
      code: 'stream_idle',
      partial: { text: 'x' },
    })
  })
})
