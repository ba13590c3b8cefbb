import { afterEach, describe, expect, it, vi } from 'vitest'
import { Event } from '../../src/core/events.ts'
import { isToolResult } from '../../src/core/messages.ts'
import type { MockFault } from '../../src/testing/mock/fault.ts'
import type { MockReply } from '../../src/testing/mock/reply.ts'
import { findWire } from '../../src/testing/mock/wires.ts'
import { type ModeScript, nativeModes, rowsFor } from './modes.ts'
import { type Stage, stage } from './stage.ts'
import { call, countingTool } from './tools.ts'
import { failOnUnhandledRejections } from './unhandled.ts'
import { timersLeft, turnEventLoop, until, within100Ms } from './waiting.ts'

failOnUnhandledRejections()
afterEach(() => {
  vi.useRealTimers()
})

const retries = (maxRetries: number, maxRetryDelayMs = 1) => ({ settings: { maxRetries, maxRetryDelayMs } })
const answer = 'The answer is long enough — 🙂 — to be cut somewhere.'

/** The text as the user sees it while it arrives. */
function shownText({ runner }: Stage): () => string {
  let shown = ''
  runner.on(Event.TEXT_DELTA, ({ text }) => {
    shown += text
  })
  return () => shown
}

describe.each(nativeModes)('provider failures: $name', (mode) => {
  const passing: MockFault[] = [
    ...[408, 409, 429, 500, 502, 503, 504].map((status) => ({ status })),
    { htmlError: 503 },
    { resetAfterBytes: 0 },
  ]
  it.each(rowsFor(mode, passing, ({ status }) => status === undefined))('H39 %j: is retried, and succeeds', async (fault) => {
    await using on = await stage(mode, [{ toolCalls: [call('look')] }, 'done'], {
      tools: [countingTool('look').tool],
      ...retries(2),
      faults: [fault, undefined, fault, fault],
    })
    const result = await on.run()
    expect(result).toMatchObject({ stopReason: 'answered', output: 'done', iterations: 2 })
    // A reused connection that breaks before the first byte is replaced without counting as a retry.
    if (fault.resetAfterBytes !== 0) expect(result.steps.map((step) => step.retries)).toEqual([1, 2])
    expect(on.provider.requests).toHaveLength(5)
    expect(on.requests()[1]).toEqual(on.requests()[0])
  })

  it.each(rowsFor(mode, [400, 401, 403, 404, 422]))('H39 status %i is permanent: one request, and the run says why', async (status) => {
    await using on = await stage(mode, ['never'], { ...retries(2), faults: [{ status }] })
    const result = await on.run()
    expect(result).toMatchObject({ stopReason: 'model_error', error: { status, retryable: false }, output: '' })
    expect(on.provider.requests).toHaveLength(1)
  })

  it('H39 a persistent failure: as many requests as allowed, then model_error; earlier results are kept', async () => {
    const look = countingTool('look')
    await using on = await stage(
      mode,
      [{ text: 'First.', toolCalls: [call('look')], usage: { inputTokens: 5, outputTokens: 1 } }, 'never'],
      {
        tools: [look.tool],
        ...retries(3),
        faults: ({ index }) => (index === 0 ? undefined : { status: 503 }),
      },
    )
    const result = await on.run()
    expect(result).toMatchObject({ stopReason: 'model_error', error: { status: 503, code: 'provider_error' }, usage: { totalTokens: 6 } })
    expect(result.messages.filter(isToolResult)).toHaveLength(1)
    expect(on.provider.requests).toHaveLength(1 + 4)
    expect(look.calls).toHaveLength(1)
    expect(on.log.map(({ level, message }) => `${level} ${message}`)).toEqual(['error model request failed'])
  })

  it('H39 a refused connection is retried', async () => {
    await using on = await stage(mode, ['never'])
    await on.provider.close()
    let tried = 0
    const counting: typeof fetch = (...request) => {
      tried++
      return fetch(...request)
    }
    const settings = { baseURL: on.provider.baseURL, maxRetries: 2, fetch: counting }
    await using again = await stage(mode, ['never'], { settings })
    expect(await again.run()).toMatchObject({
      stopReason: 'model_error',
      error: { code: 'connection_failed' },
      messages: [{ content: 'go' }],
    })
    expect(tried).toBe(3)
  })

  it('H39 retry-after is respected', async () => {
    const faults = [{ status: 429, headers: { 'retry-after-ms': '60' } }]
    await using told = await stage(mode, ['done'], { ...retries(1, 10_000), faults })
    await told.run()
    const [first, second] = told.provider.requests
    // Timers may fire up to a millisecond early.
    expect((second?.receivedAt ?? 0) - (first?.receivedAt ?? 0)).toBeGreaterThanOrEqual(58)
  })

  it('H39 without advice from the provider the delay doubles each time', async () => {
    await using on = await stage(mode, ['done'], {
      // Without an idle timer, the only one is that of the delay.
      settings: { maxRetries: 3, maxRetryDelayMs: 60_000, streamIdleTimeoutMs: Number.POSITIVE_INFINITY },
      faults: Array(3).fill({ status: 503 }),
    })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    let waits = 0
    on.runner.on(Event.MODEL_RETRY, () => waits++)
    const running = on.run()
    for (const [tries, longest] of [
      [1, 500],
      [2, 1_000],
      [3, 2_000],
    ] as const) {
      await on.provider.waitForEnd(tries)
      await until(() => waits === tries && vi.getTimerCount() === 1)
      // Up to a quarter is subtracted, so that many clients don't return at the same time.
      await vi.advanceTimersByTimeAsync(longest * 0.75 - 1)
      expect(on.provider.requests).toHaveLength(tries)
      await vi.advanceTimersByTimeAsync(longest * 0.25 + 1)
    }
    expect(await running).toMatchObject({ stopReason: 'answered', steps: [{ retries: 3 }] })
  })

  it('H39 a provider that asks for a longer delay than allowed is not retried', async () => {
    await using on = await stage(mode, ['never'], { ...retries(2, 5_000), faults: [{ status: 429, headers: { 'retry-after': '3600' } }] })
    const result = await on.run()
    expect(result).toMatchObject({ stopReason: 'model_error', error: { code: 'rate_limited', status: 429, retryAfterMs: 3_600_000 } })
    expect(on.provider.requests).toHaveLength(1)
  })

  it('H39 an abort during the delay ends it', async () => {
    await using on = await stage(mode, ['never'], { ...retries(2, 100_000), faults: [{ status: 429, headers: { 'retry-after': '60' } }] })
    const controller = new AbortController()
    const running = on.runner.run('go', { signal: controller.signal })
    await on.provider.waitForEnd(1)
    await turnEventLoop(1)
    controller.abort()
    const result = await within100Ms(running)
    expect(result.stopReason).toBe('aborted')
    expect(on.provider.requests).toHaveLength(1)
    await on.check(result)
  })

  it('H40 usage reported before the break counts', async () => {
    const usage = { inputTokens: 5, outputTokens: 1 }
    await using on = await stage(
      mode,
      [
        { toolCalls: [call('look')], usage },
        { text: answer, fault: { cutAfterBytes: 'content' } },
      ],
      {
        tools: [countingTool('look').tool],
      },
    )
    const result = await on.run()
    expect(result).toMatchObject({ stopReason: 'model_error', usage: { totalTokens: 6 }, iterations: 2 })
    expect(result.messages.filter(isToolResult)).toHaveLength(1)
  })

  const silences: [what: string, fault: MockFault, turn: MockReply][] = [
    ['before the headers', {}, { before: new Promise(() => {}), text: answer }],
    ['after the headers', { stallAfterBytes: 0 }, answer],
    ['in the middle', { stallAfterBytes: 'content' }, answer],
  ]
  it.each(rowsFor(mode, silences))(
    'H41 silence %s: the request is aborted, and repeated if nothing was shown',
    async (_what, fault, turn) => {
      await using on = await stage(mode, [turn, answer], { ...retries(1), faults: [fault], streamIdleTimeoutMs: 30_000 })
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      const running = on.run()
      await on.provider.waitForRequest(1)
      // The head of the response, if any, has arrived after a turn of the event loop.
      await turnEventLoop(20)
      vi.advanceTimersByTime(29_999)
      expect(on.provider.requests).toMatchObject([{ ended: false }])
      vi.advanceTimersByTime(2)
      await on.provider.waitForEnd(1)
      // The delay before the next attempt.
      await vi.advanceTimersByTimeAsync(2)
      expect(await running).toMatchObject({ stopReason: 'answered', output: answer, steps: [{ retries: 1 }] })
      expect(on.provider.requests).toMatchObject([{ aborted: true }, { aborted: false }])
      expect(await timersLeft()).toBe(0)
    },
  )

  it('H41 endless silence: as many requests as allowed, then model_error', async () => {
    await using on = await stage(mode, () => ({ hang: true }), { ...retries(1), streamIdleTimeoutMs: 30_000 })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const running = on.run()
    for (const tries of [1, 2]) {
      await on.provider.waitForRequest(tries)
      vi.advanceTimersByTime(30_000)
      await on.provider.waitForEnd(tries)
      // The delay before the next attempt.
      await vi.advanceTimersByTimeAsync(2)
    }
    const result = await running
    expect(result).toMatchObject({ stopReason: 'model_error', error: { code: 'stream_idle' }, output: '' })
    await on.provider.waitForEnd(2)
    expect(on.provider.requests).toMatchObject([{ aborted: true }, { aborted: true }])
  })

  it('H41 the limit of the model applies if the run has none', async () => {
    await using on = await stage(mode, [{ hang: true }], { settings: { streamIdleTimeoutMs: 5 } })
    expect(await on.run()).toMatchObject({ stopReason: 'model_error', error: { code: 'stream_idle' } })
  })

  it('H42 HTTP 200 with an error body: reported as that error', async () => {
    await using on = await stage(mode, ['never'], { faults: [{ jsonErrorWith200: true }] })
    const result = await on.run()
    expect(result).toMatchObject({ stopReason: 'model_error', error: { code: 'provider_error' }, output: '', messages: [{ role: 'user' }] })
    expect(result.error?.message).toContain('The server had an error while processing your request')
  })

  it('H42 HTTP 200 with a temporary error in the body: retried', async () => {
    await using on = await stage(mode, ['done'], { ...retries(1), faults: [{ jsonErrorWith200: true }] })
    expect(await on.run()).toMatchObject({ stopReason: 'answered', output: 'done', steps: [{ retries: 1 }] })
  })

  it('H42 an error in place of the end: model_error, and never an answer', async () => {
    await using on = await stage(mode, [{ text: answer, fault: { errorInStream: true } }])
    const shown = shownText(on)
    const result = await on.run()
    expect(result).toMatchObject({ stopReason: 'model_error', error: { code: 'provider_error' } })
    expect(result.output).toBe(mode.streaming ? answer : '')
    expect(shown()).toBe(result.output)
  })

  it('H42 an HTML page in place of an answer', async () => {
    await using on = await stage(mode, [
      { body: '<!doctype html><title>Welcome to nginx</title>', headers: { 'content-type': 'text/html' } },
    ])
    const result = await on.run()
    expect(result).toMatchObject({ stopReason: 'model_error', error: { code: 'bad_response' }, output: '' })
    expect(result.error?.message).toContain('Welcome to nginx')
  })

  it('H42 the content filter: refused, reported as such, with what came before it', async () => {
    for (const text of ['', 'Once upon a']) {
      await using on = await stage(mode, [{ text, finishReason: 'content_filter', usage: { inputTokens: 3, outputTokens: 1 } }])
      const result = await on.run()
      expect(result).toMatchObject({ stopReason: 'refused', error: { code: 'content_filter' }, output: text, usage: { totalTokens: 4 } })
      expect(result.messages).toHaveLength(text === '' ? 1 : 2)
      expect(on.provider.requests).toHaveLength(1)
    }
  })

  it.runIf(findWire(mode.wire).traits.refusals)('H42 a refusal: refused, reported as such, in the words of the model', async () => {
    await using on = await stage(mode, [{ toolCalls: [call('look')] }, { text: "I can't help with that.", finishReason: 'refusal' }], {
      tools: [countingTool('look').tool],
    })
    const result = await on.run()
    expect(result).toMatchObject({ stopReason: 'refused', error: { code: 'refusal' }, output: "I can't help with that." })
    expect(result.error?.message).toContain("I can't help with that.")
    expect(result.steps.map(({ finishReason }) => finishReason)).toEqual(['tool_calls', 'refusal'])
  })
})

describe.each(nativeModes.filter(({ streaming }) => streaming))('provider failures: $name', (mode) => {
  it('H40 a break before anything was shown is repaired, even with listeners', async () => {
    for (const fault of [{ cutAfterBytes: 0 }, { resetAfterBytes: 1 }, { garbageAfterBytes: 10 }]) {
      await using on = await stage(mode, [answer, answer], { ...retries(1), faults: [fault] })
      const shown = shownText(on)
      expect(await on.run()).toMatchObject({ stopReason: 'answered', output: answer })
      expect(shown()).toBe(answer)
      expect(on.provider.requests).toHaveLength(2)
    }
  })

  it('H40 bytes in any pieces, compressed or not, give the same answer', async () => {
    for (const fault of [{ splitBytes: 1 }, { splitBytes: 'random' as const, seed: 40 }, { gzip: true }, { closeKeepAlive: true }]) {
      // By the conversation, not by the number of the request: one on a closing connection arrives twice.
      const reply: ModeScript = ({ readRequest }) =>
        readRequest().messages.length === 1 ? { toolCalls: [call('look', { text: '🙂é' })] } : answer
      await using on = await stage(mode, reply, { tools: [countingTool('look').tool], faults: fault })
      const shown = shownText(on)
      const result = await on.run()
      expect(result).toMatchObject({ stopReason: 'answered', output: answer, toolCalls: [{ args: { text: '🙂é' } }] })
      expect(shown()).toBe(answer)
    }
  })

  it('H41 silence after text was shown that can’t be taken back: not repeated; the text is kept', async () => {
    const options = { ...retries(2), streamIdleTimeoutMs: 60_000, onCut: 'end' as const }
    await using on = await stage(mode, [{ text: answer, hang: true }], options)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const read = Promise.withResolvers<void>()
    const shown = shownText(on)
    on.runner.on(Event.TEXT_DELTA, () => {
      if (shown() === answer) read.resolve()
    })
    const running = on.run()
    await read.promise
    vi.advanceTimersByTime(60_000)
    expect(await running).toMatchObject({ stopReason: 'model_error', error: { code: 'stream_idle' }, output: answer })
    expect(shown()).toBe(answer)
    expect(on.provider.requests).toHaveLength(1)
  })

  it('H41 a slow stream without long silences is not interrupted', async () => {
    const gates = [1, 2, 3].map(() => Promise.withResolvers<void>())
    const chunks = gates.flatMap(({ promise }, n) => [`piece ${n} `, promise])
    await using on = await stage(mode, [{ chunks }], { streamIdleTimeoutMs: 60_000 })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const shown = shownText(on)
    const running = on.run()
    for (const [n, gate] of gates.entries()) {
      await until(() => shown().includes(`piece ${n}`))
      vi.advanceTimersByTime(50_000)
      gate.resolve()
    }
    expect(await running).toMatchObject({ stopReason: 'answered', output: 'piece 0 piece 1 piece 2 ' })
  })
})
