import { getEventListeners } from 'node:events'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ModelError, ToolloopError } from '../../src/core/errors.ts'
import type { ChatModel, ModelRequest, ModelResponse, ModelSink } from '../../src/models/chat-model.ts'
import { createModel } from '../../src/models/create-model.ts'
import { type RetryOptions, withRetry } from '../../src/models/middleware/retry.ts'
import { chunk, eventStream, events, sendJson, startServer, textEvents } from './local-server.ts'

const request: ModelRequest = { messages: [{ role: 'user', content: 'Hello' }] }
const answer: ModelResponse = { text: 'ok', toolCalls: [], finishReason: 'stop' }

type Step = (sink?: ModelSink) => ModelResponse
const fail =
  (fields: Partial<ConstructorParameters<typeof ModelError>[2]> = {}): Step =>
  () => {
    throw new ModelError('provider_error', 'Expected a response, got HTTP 500', { provider: 'p', retryable: true, ...fields })
  }

/** A model that does one step per request, retried without a wait. */
function model(steps: Step[], options: RetryOptions = { firstDelayMs: 0 }): { model: ChatModel; asked: () => number } {
  let asked = 0
  const inner: ChatModel = {
    provider: 'p',
    model: 'm',
    capabilities: { nativeTools: true },
    async generate(_request, sink) {
      const step = steps[asked++]
      if (step === undefined) throw new Error('asked too often')
      return step(sink)
    },
  }
  return { model: withRetry(inner, options), asked: () => asked }
}

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

describe('withRetry', () => {
  it('H39 retries after failures that may pass, and counts them in the response', async () => {
    expect(await model([() => answer]).model.generate(request)).toBe(answer)
    expect(await model([fail(), fail(), () => answer]).model.generate(request)).toEqual({ ...answer, retries: 2 })
    expect(await model([fail(), () => ({ ...answer, retries: 1 })]).model.generate(request)).toEqual({ ...answer, retries: 2 })
  })

  it('H39 gives up after two retries, or the given number, with the last error unchanged', async () => {
    for (const [options, tries] of [
      [{ firstDelayMs: 0 }, 3],
      [{ firstDelayMs: 0, maxRetries: 0 }, 1],
      [{ firstDelayMs: 0, maxRetries: 4 }, 5],
    ] as const) {
      const last = new ModelError('rate_limited', 'last', { provider: 'p', retryable: true })
      const throwLast = () => {
        throw last
      }
      const { model: tried, asked } = model([...Array.from({ length: tries - 1 }, () => fail()), throwLast], options)
      await expect(tried.generate(request)).rejects.toBe(last)
      expect(asked()).toBe(tries)
    }
  })

  it('H39 does not retry if it would not help', async () => {
    const others: Step[] = [
      fail({ retryable: false }),
      () => {
        throw new ToolloopError('invalid_option', 'x')
      },
      () => {
        throw new Error('x')
      },
    ]
    for (const step of others) {
      const { model: tried, asked } = model([step])
      await expect(tried.generate(request)).rejects.toThrow()
      expect(asked()).toBe(1)
    }
  })

  it('H40 never retries once a piece of the response was shown', async () => {
    const shows: ((sink?: ModelSink) => void)[] = [
      (sink) => sink?.text?.('x'),
      (sink) => sink?.reasoning?.('x'),
      (sink) => sink?.toolCallStart?.(0, 'a', 'f'),
      (sink) => sink?.toolCallDelta?.(0, '{'),
    ]
    for (const show of shows) {
      const failShowing: Step = (sink) => {
        show(sink)
        return fail()(sink)
      }
      const { model: shown, asked } = model([failShowing])
      const log: unknown[] = []
      const note = (...args: unknown[]) => void log.push(args)
      await expect(shown.generate(request, { text: note, reasoning: note, toolCallStart: note, toolCallDelta: note })).rejects.toThrow(
        'HTTP 500',
      )
      expect([asked(), log.length]).toEqual([1, 1])

      // There was no listener, so nothing was shown.
      expect(await model([failShowing, () => answer]).model.generate(request)).toMatchObject({ retries: 1 })
      expect(await model([failShowing, () => answer]).model.generate(request, {})).toMatchObject({ retries: 1 })
    }
  })

  it('H39 waits longer each time, minus up to a quarter, and no longer than the limit', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    for (const [random, waits] of [
      [0, [500, 1000, 1500, 1500]],
      [1 - 2 ** -32, [375, 750, 1125, 1125]],
    ] as const) {
      vi.spyOn(Math, 'random').mockReturnValue(random)
      const { model: tried, asked } = model([fail(), fail(), fail(), fail(), () => answer], { maxRetries: 4, maxRetryDelayMs: 1500 })
      const done = tried.generate(request)
      for (const [tries, ms] of waits.entries()) {
        await vi.advanceTimersByTimeAsync(ms - 1)
        expect(asked()).toBe(tries + 1)
        await vi.advanceTimersByTimeAsync(1)
        expect(asked()).toBe(tries + 2)
      }
      expect(await done).toMatchObject({ retries: 4 })
    }
  })

  it('H39 waits as long as the provider asks for', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { model: tried, asked } = model([fail({ retryAfterMs: 20_000 }), () => answer])
    const done = tried.generate(request)
    await vi.advanceTimersByTimeAsync(19_999)
    expect(asked()).toBe(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(await done).toMatchObject({ retries: 1 })
  })

  it('H39 gives up at once, with a message, if the provider asks for too long a wait', async () => {
    const { model: tried, asked } = model([fail({ retryAfterMs: 60_000, status: 429, requestId: 'req_1' })], { maxRetryDelayMs: 5000 })
    await expect(tried.generate(request)).rejects.toMatchObject({
      code: 'provider_error',
      status: 429,
      requestId: 'req_1',
      retryAfterMs: 60_000,
      message: expect.stringMatching(/HTTP 500\. Not retried: it asks to wait 60000 ms, longer than `maxRetryDelayMs` \(5000\)/),
    })
    expect(asked()).toBe(1)
  })

  it('counts the usage of failed attempts, in the response and in the final error', async () => {
    const usage = { inputTokens: 100, outputTokens: 10, totalTokens: 110 }
    const cut = fail({ partial: { text: 'The', usage: { ...usage, reasoningTokens: 3 } } })
    const whole = () => ({ ...answer, usage })
    const twice = { inputTokens: 200, outputTokens: 20, totalTokens: 220, reasoningTokens: 3 }
    expect(await model([cut, fail(), whole]).model.generate(request)).toEqual({ ...answer, usage: twice, retries: 2 })

    await expect(model([cut, whole], { maxRetries: 0 }).model.generate(request)).rejects.toMatchObject({ partial: { usage } })
    for (const last of [fail(), fail({ retryable: false }), fail({ retryAfterMs: 60_000 })]) {
      await expect(model([cut, cut, last]).model.generate(request)).rejects.toMatchObject({
        code: 'provider_error',
        message: expect.stringContaining('HTTP 500'),
        partial: { usage: { ...twice, reasoningTokens: 6 } },
      })
    }
    const three = model([cut, cut, cut]).model.generate(request)
    await expect(three).rejects.toMatchObject({ partial: { text: 'The', usage: { totalTokens: 330 } } })

    // Only the failed one reported it: the other's usage is estimated.
    const told = await model([cut, () => answer]).model.generate(request)
    expect(told.usage?.totalTokens).toBeGreaterThan(110)
    expect(told.warnings).toEqual([expect.stringContaining('estimated')])
  })

  it('reports the usage of failed attempts after an abort while waiting', async () => {
    const controller = new AbortController()
    const usage = { inputTokens: 100, outputTokens: 10, totalTokens: 110 }
    const failing = vi.fn(fail({ retryAfterMs: 29_000, partial: { text: 'The', usage } }))
    const done = model([failing]).model.generate({ ...request, signal: controller.signal })
    await new Promise((resolve) => setImmediate(resolve))
    controller.abort(new Error('enough'))
    await expect(done).rejects.toMatchObject({ code: 'aborted', partial: { usage } })
  })

  it('H39 ends the wait at once when aborted', async () => {
    const controller = new AbortController()
    const failing = vi.fn(fail({ retryAfterMs: 29_000 }))
    const { model: tried, asked } = model([failing])
    const done = tried.generate({ ...request, signal: controller.signal })
    await new Promise((resolve) => setImmediate(resolve))
    expect(failing).toHaveBeenCalledOnce()
    controller.abort(new Error('enough'))
    await expect(done).rejects.toMatchObject({ code: 'aborted', retryable: false, cause: { message: 'enough' } })
    expect(asked()).toBe(1)
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
  })

  it('H32 leaves no listener on the signal after a wait', async () => {
    const { signal } = new AbortController()
    await model([fail(), () => answer]).model.generate({ ...request, signal })
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })

  it('refuses options out of range and exposes the model’s properties', () => {
    const { model: inner } = model([])
    for (const options of [
      { maxRetries: -1 },
      { maxRetries: 1.5 },
      { maxRetries: Number.NaN },
      { maxRetryDelayMs: -1 },
      { firstDelayMs: Number.NaN },
    ]) {
      expect(() => withRetry(inner, options)).toThrow(expect.objectContaining({ code: 'invalid_option' }))
    }
    expect(withRetry(inner)).toMatchObject({ provider: 'p', model: 'm', capabilities: { nativeTools: true } })
  })
})

describe('a created model', () => {
  const settings = { provider: 'custom', model: 'm', apiKey: 'k' }

  it('H39 retries a failed request after the wait that the provider asks for', async () => {
    await using server = await startServer((response, _request, index) => {
      if (index === 0) sendJson(response, { error: { message: 'busy' } }, 503, { 'retry-after': '0' })
      else if (index === 1) sendJson(response, { error: { message: 'slow down' } }, 429, { 'retry-after-ms': '0' })
      else eventStream(response).end(textEvents('ok'))
    })
    expect(await createModel({ ...settings, baseURL: server.baseURL }).generate(request)).toMatchObject({ text: 'ok', retries: 2 })
    expect(new Set(server.requests.map(({ text }) => text)).size).toBe(1)
  })

  it('counts the tokens of a stream that broke off before the retry', async () => {
    await using server = await startServer((response, _request, index) => {
      const usage = { prompt_tokens: 50, completion_tokens: 5, total_tokens: 55 }
      eventStream(response).write(events({ ...chunk({ content: 'The wea' }), usage }))
      if (index === 1) response.end(events({ ...chunk({ content: 'ther.' }, 'stop'), usage }))
      else setImmediate(() => response.destroy())
    })
    const created = createModel({ ...settings, baseURL: server.baseURL, maxRetryDelayMs: 0 })
    expect(await created.generate(request)).toMatchObject({ text: 'The weather.', retries: 1, usage: { totalTokens: 110 } })
  })

  it('H40 H41 retries a cut stream only if nothing of it was shown', async () => {
    await using server = await startServer((response, _request, index) => {
      eventStream(response).write(events(chunk({ content: 'The wea' })))
      if (index % 2 === 1) response.end(events(chunk({ content: 'ther.' }), chunk({}, 'stop')))
      else setImmediate(() => response.destroy())
    })
    const created = createModel({ ...settings, baseURL: server.baseURL, maxRetryDelayMs: 0 })
    expect(await created.generate(request)).toMatchObject({ text: 'The weather.', retries: 1 })
    let shown = ''
    const sink: ModelSink = {
      text: (delta) => {
        shown += delta
      },
    }
    await expect(created.generate(request, sink)).rejects.toMatchObject({ code: 'stream_cut', partial: { text: 'The wea' } })
    expect([shown, server.requests.length]).toEqual(['The wea', 3])
  })

  it('S2-47 makes exactly one request for an answer that arrives', async () => {
    await using server = await startServer((response) => eventStream(response).end(textEvents('ok')))
    const response = await createModel({ ...settings, baseURL: server.baseURL }).generate(request)
    expect([server.requests.length, response.retries]).toEqual([1, undefined])
  })
})
