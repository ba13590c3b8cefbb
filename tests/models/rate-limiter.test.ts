import { getEventListeners } from 'node:events'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Applicant, RateLimiter, type RateLimits, type Slot } from '../../src/models/rate-limiter.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** Requests by name, and the millisecond at which each started. */
function queueOf(limits: RateLimits) {
  const limiter = new RateLimiter()
  const begun: [name: string, at: number][] = []
  const slots = new Map<string, Slot>()
  const start = performance.now()
  const ask = (name: string, more: Partial<Applicant> = {}): Promise<void> =>
    limiter
      .enter({ provider: 'p', model: 'm', limits, signal: undefined, tokens: 0, isRefused: false, onWait: () => {}, ...more })
      .then((slot) => {
        begun.push([name, performance.now() - start])
        slots.set(name, slot)
      })
  const names = () => begun.map(([name]) => name)
  const end = async (name: string, tokens?: number) => {
    slots.get(name)?.release(tokens)
    await vi.advanceTimersByTimeAsync(0)
  }
  return { limiter, ask, begun, names, end }
}

describe('RateLimiter', () => {
  it('limits concurrent requests and admits others, in order, as these end', async () => {
    const { ask, names, end } = queueOf({ concurrency: 2 })
    for (const name of ['a', 'b', 'c', 'd', 'e']) void ask(name)
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(names()).toEqual(['a', 'b'])
    await end('b')
    expect(names()).toEqual(['a', 'b', 'c'])
    await end('a')
    await end('c')
    expect(names()).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('spreads the requests of a minute evenly, even after a pause', async () => {
    const { ask, begun } = queueOf({ requestsPerMinute: 600 })
    for (let at = 0; at < 5; at++) void ask(String(at))
    await vi.advanceTimersByTimeAsync(10_000)
    for (let at = 5; at < 8; at++) void ask(String(at))
    await vi.advanceTimersByTimeAsync(10_000)
    expect(begun.map(([, at]) => at)).toEqual([0, 100, 200, 300, 400, 10_000, 10_100, 10_200])
  })

  it('makes up for late timers, but for at most a tenth of a second at once', async () => {
    let now = 0
    vi.spyOn(performance, 'now').mockImplementation(() => now)
    const { ask, begun } = queueOf({ requestsPerMinute: 3_000 })
    for (let at = 0; at < 20; at++) void ask(String(at))
    now = 520
    await vi.advanceTimersByTimeAsync(20)
    expect(begun).toHaveLength(7)
    now = 540
    await vi.advanceTimersByTimeAsync(20)
    expect(begun).toHaveLength(8)
  })

  it('with a low limit, starts requests a second apart, and never more in any minute', async () => {
    const { ask, begun } = queueOf({ requestsPerMinute: 3 })
    for (let at = 0; at < 7; at++) void ask(String(at))
    await vi.advanceTimersByTimeAsync(300_000)
    expect(begun.map(([, at]) => at)).toEqual([0, 1_000, 2_000, 60_000, 61_000, 62_000, 120_000])
  })

  it('never starts more in any minute than the limit, however they arrive', async () => {
    const arrivals = fc.array(fc.nat({ max: 40_000 }), { minLength: 1, maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 200 }), arrivals, async (requestsPerMinute, gaps) => {
        const { ask, begun } = queueOf({ requestsPerMinute })
        for (const [at, gap] of gaps.entries()) {
          await vi.advanceTimersByTimeAsync(gap % 3 === 0 ? 0 : gap)
          void ask(String(at))
        }
        await vi.advanceTimersByTimeAsync(3_700_000)
        expect(begun.map(([name]) => Number(name))).toEqual(gaps.map((_, at) => at))
        for (const [at, [, first]] of begun.entries()) {
          const oneTooMany = begun[at + requestsPerMinute]
          if (oneTooMany !== undefined) expect(oneTooMany[1] - first).toBeGreaterThanOrEqual(60_000)
        }
        expect(vi.getTimerCount()).toBe(0)
      }),
      { numRuns: 15 },
    )
  })

  it('counts tokens as estimated, then as used', async () => {
    const { ask, names, end } = queueOf({ tokensPerMinute: 1_000 })
    void ask('a', { tokens: 400 })
    void ask('b', { tokens: 400 })
    void ask('c', { tokens: 400 })
    await vi.advanceTimersByTimeAsync(30_000)
    expect(names()).toEqual(['a', 'b'])
    // Fewer than estimated: there is room at once.
    await end('a', 100)
    expect(names()).toEqual(['a', 'b', 'c'])
    // More than estimated. That is known at 0:30 and counts from then on: 1,100 together.
    await end('b', 600)
    void ask('d', { tokens: 500 })
    await vi.advanceTimersByTimeAsync(29_999)
    expect(names()).toHaveLength(3)
    await vi.advanceTimersByTimeAsync(1)
    // The 100 and the first 400 are a minute old; 200 and the 400 of `c` are not.
    expect(names()).toHaveLength(3)
    await vi.advanceTimersByTimeAsync(30_000)
    expect(names()).toEqual(['a', 'b', 'c', 'd'])
  })

  it('does not overtake a large request with smaller ones, and admits one above the limit if nothing else counts', async () => {
    const { ask, names, end } = queueOf({ tokensPerMinute: 1_000 })
    void ask('small', { tokens: 300 })
    void ask('huge', { tokens: 5_000 })
    void ask('small too', { tokens: 1 })
    await vi.advanceTimersByTimeAsync(59_999)
    expect(names()).toEqual(['small'])
    await vi.advanceTimersByTimeAsync(1)
    expect(names()).toEqual(['small', 'huge'])
    await end('huge', 5_000)
    await vi.advanceTimersByTimeAsync(59_999)
    expect(names()).toHaveLength(2)
    await vi.advanceTimersByTimeAsync(1)
    expect(names()).toHaveLength(3)
  })

  it('holds all requests as long as the provider says, then starts the refused ones first', async () => {
    const { limiter, ask, begun, end } = queueOf({ requestsPerMinute: 60_000 })
    await ask('a')
    limiter.hold(5_000)
    void ask('b')
    void ask('c')
    await end('a')
    limiter.hold(1_000)
    await vi.advanceTimersByTimeAsync(1_000)
    void ask('a again', { isRefused: true })
    await vi.advanceTimersByTimeAsync(10_000)
    expect(begun.slice(1).map(([name]) => name)).toEqual(['a again', 'b', 'c'])
    expect(begun[1]?.[1]).toBe(5_000)
  })

  it('drops a request whose signal is aborted, with its timer and listener', async () => {
    const { limiter, ask, names } = queueOf({ requestsPerMinute: 600 })
    const { signal } = new AbortController()
    const leaving = new AbortController()
    await ask('a')
    const reason = new Error('gone')
    const left = ask('b', { signal: leaving.signal })
    const stays = ask('c', { signal })
    leaving.abort(reason)
    await expect(left).rejects.toMatchObject({ code: 'aborted', cause: reason })
    await vi.advanceTimersByTimeAsync(100)
    await stays
    expect(names()).toEqual(['a', 'c'])
    for (const one of [signal, leaving.signal]) expect(getEventListeners(one, 'abort')).toEqual([])

    const last = ask('d', { signal: AbortSignal.abort() })
    await expect(last).rejects.toMatchObject({ code: 'aborted' })
    const alone = new AbortController()
    const waiting = ask('e', { signal: alone.signal })
    expect(vi.getTimerCount()).toBe(1)
    alone.abort()
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' })
    expect(vi.getTimerCount()).toBe(0)
    expect(limiter.isIdle).toBe(false)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(limiter.isIdle).toBe(false)
  })

  it('remembers at most a minute of requests, whatever is limited', async () => {
    const { limiter, ask, end } = queueOf({ concurrency: 1 })
    for (let at = 0; at < 100; at++) {
      await ask(String(at), { tokens: 5 })
      await end(String(at), 7)
      await vi.advanceTimersByTimeAsync(10_000)
    }
    expect(limiter.remembered).toBeLessThanOrEqual(3 * 7)
  })

  it('reports how many requests are ahead of one, and refuses one that exceeds the queue', async () => {
    const { limiter, ask, names, end } = queueOf({ concurrency: 1, maxQueued: 2 })
    const ahead: number[] = []
    const onWait = (count: number) => void ahead.push(count)
    await ask('a', { onWait })
    void ask('b', { onWait })
    void ask('c', { onWait })
    await expect(ask('d', { onWait })).rejects.toMatchObject({
      code: 'queue_full',
      retryable: false,
      message: 'Expected at most 2 requests to wait for `p/m` (`rateLimits.maxQueued`), got one more',
    })
    expect(ahead).toEqual([0, 1])
    for (const name of ['a', 'b', 'c']) await end(name)
    expect(names()).toEqual(['a', 'b', 'c'])
    await vi.advanceTimersByTimeAsync(60_000)
    expect(limiter.isIdle).toBe(true)
  })
})
