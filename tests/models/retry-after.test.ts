import { afterEach, describe, expect, it, vi } from 'vitest'
import type { JsonObject } from '../../src/core/messages.ts'
import { isModelError } from '../../src/models/chat-model.ts'
import type { MockFault } from '../../src/testing/mock/fault.ts'
import { type Mode, nativeModes } from '../hazards/modes.ts'
import { until } from '../hazards/waiting.ts'
import { hello } from './one-request.ts'

/** The time of the tests. Times in headers and bodies are relative to it. */
const now = Date.parse('2026-11-26T12:00:00Z')
const date = { date: new Date(now).toUTCString() }
const epoch = (seconds: number) => String(now / 1000 + seconds)
const at = (seconds: number) => new Date(now + seconds * 1000).toISOString()

type Headers = Readonly<Record<string, string>>

const inHeaders: readonly (readonly [waitMs: number | undefined, Headers])[] = [
  [150, { 'retry-after-ms': '150', 'retry-after': '9' }],
  [1500, { 'retry-after': '1.5' }],
  [90_000, { 'retry-after': new Date(now + 90_000).toUTCString() }],
  [0, { 'retry-after': new Date(now - 90_000).toUTCString() }],
  [90_000, { 'x-ratelimit-reset-requests': '1m30s' }],
  [250, { 'x-ratelimit-reset-tokens': '250ms' }],
  [360_000, { 'x-ratelimit-reset-tokens': '6m0s' }],
  [7660, { 'x-ratelimit-reset-tokens': '7.66s' }],
  [3_723_500, { 'x-ratelimit-reset-requests': '1h2m3.5s' }],
  [13_000, { 'x-ratelimit-reset-requests': '13' }],
  [40_000, { 'x-ratelimit-reset': epoch(40) }],
  [40_000, { 'x-ratelimit-reset': String(now + 40_000) }],
  [11_382, { 'x-ratelimit-reset-tokens-minute': '11.382' }],
  [35_000, { 'ratelimit-reset': '35' }],
  [20_000, { 'anthropic-ratelimit-requests-reset': at(20) }],
  [25_000, { 'anthropic-ratelimit-input-tokens-reset': at(25) }],
  [7_200_000, { 'anthropic-ratelimit-unified-reset': epoch(7200) }],
  // The limit that is used up counts, whatever else is reported; otherwise the one that may be.
  [
    1000,
    {
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '1s',
      'x-ratelimit-remaining-tokens': '900',
      'x-ratelimit-reset-tokens': '6m',
    },
  ],
  [
    8000,
    {
      'x-ratelimit-remaining-requests': '14370',
      'x-ratelimit-reset-requests': '2m59s',
      'x-ratelimit-remaining-tokens': '90',
      'x-ratelimit-reset-tokens': '8s',
    },
  ],
  [2000, { 'x-ratelimit-reset-requests': '120ms', 'x-ratelimit-reset-tokens': '2s' }],
  [undefined, { 'x-ratelimit-remaining-requests': '99', 'x-ratelimit-reset-requests': '2m' }],
  [2000, { 'retry-after': '2', 'x-ratelimit-reset-tokens': '6m0s' }],
  [undefined, { 'x-ratelimit-reset-tokens': 'soon', 'retry-after': 'later', 'ratelimit-reset': '' }],
]

const inBodies: readonly (readonly [waitMs: number | undefined, error: JsonObject | string])[] = [
  [2500, 'Rate limit reached. Please try again in 2.5s.'],
  [28, 'Rate limit reached. Please try again in 28ms. Visit https://platform.openai.com/account/rate-limits to learn more.'],
  [432_000, 'Rate limit reached on requests per day (RPD): Limit 200. Please try again in 7m12s.'],
  [36_400, 'Quota exceeded for metric: requests, limit: 10\nPlease retry in 36.4s.'],
  [60_000, 'Too many requests. Try again in 1 minute.'],
  [90_000, 'Too many requests. Try again in 1 minute and 30 seconds.'],
  [26_000, 'Requests have exceeded the token rate limit. Please retry after 26 seconds. Please go here: https://aka.ms/oai/quotaincrease'],
  [1000, 'Your account reached organization max RPM: 3, please try again after 1 seconds'],
  [30_000, 'Too many requests, please wait 30 seconds'],
  [17_000, 'Rate limit is exceeded. Try again in 17 seconds.'],
  [30_000, '请求过于频繁，请在 30 秒后重试'],
  [12_000, { message: 'Slow down', retry_after: 12 }],
  [1500, { message: 'Slow down', retry_after_ms: 1500 }],
  [36_000, { message: 'Slow down', details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '36s' }] }],
  [40_000, { message: 'Slow down', metadata: { headers: { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': String(now + 40_000) } } }],
  [7_200_000, { message: 'Slow down', resets_at: now / 1000 + 7200 }],
  [43_200_000, 'You have reached your specified API usage limits. You will regain access on 2026-11-27 at 00:00 UTC.'],
  [undefined, 'Usage limit reached for 5 hour. Your limit will reset at 2026-11-27 21:31:39'],
  [undefined, 'Too many requests. Please try again in a few minutes.'],
  [undefined, 'Too many requests. Retry 3 times, then wait. Limit 3 / 5 m tokens'],
]

afterEach(() => {
  vi.useRealTimers()
})

describe.each(nativeModes.filter(({ streaming }) => streaming))('how long to wait: $name', (mode) => {
  it('F18 is read from the headers of a rate limit', async () => {
    const faults = inHeaders.map(([, headers]): MockFault => ({ status: 429, headers: { ...date, ...headers } }))
    expect(await waits(mode, faults)).toEqual(inHeaders.map(([waitMs]) => waitMs))
  })

  it('F18 is not read from the limits that other failures report as well', async () => {
    const headers = { 'x-ratelimit-reset-tokens': '6m0s' }
    expect(
      await waits(mode, [
        { status: 503, headers },
        { status: 400, headers },
      ]),
    ).toEqual([undefined, undefined])
  })

  it('F18 is measured by the server’s time if the machine’s clock is wrong', async () => {
    vi.setSystemTime(now + 3 * 86_400_000)
    const headers = { ...date, 'anthropic-ratelimit-requests-reset': at(20) }
    expect(await waits(mode, [{ status: 429, headers }])).toEqual([20_000])
  })

  it('F18 is read from the body: its fields, or its message', async () => {
    const errors = inBodies.map(([, error]) => (typeof error === 'string' ? { message: error } : error))
    const faults = errors.map((error): MockFault => ({ status: 429, headers: date, body: { error } }))
    expect(await waits(mode, faults)).toEqual(inBodies.map(([waitMs]) => waitMs))
  })

  it('F18 is read from an error inside a stream, and waited for before the retry', async () => {
    const error = { code: 'rate_limit_exceeded', message: 'Rate limit reached. Please try again in 11.054s. Visit https://x.y' }
    const faults = [{ errorInStream: inStream(mode, error) }]
    await using open = await mode.open(['', 'Hello'], {
      faults,
      settings: { maxRetries: 1, maxRetryDelayMs: 30_000, streamIdleTimeoutMs: Number.POSITIVE_INFINITY },
    })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    let waits = 0
    const retry = () => {
      waits++
    }
    const asking = open.model.generate({ messages: hello }, { retry })
    await until(() => waits === 1 && vi.getTimerCount() === 1)
    await vi.advanceTimersByTimeAsync(11_053)
    expect(open.provider.requests).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(await asking).toMatchObject({ text: 'Hello', retries: 1 })
  })
})

/** How long each fault asks to wait. */
async function waits(mode: Mode, faults: readonly MockFault[]): Promise<(number | undefined)[]> {
  await using open = await mode.open(() => 'never', { faults })
  const found: (number | undefined)[] = []
  for (const _ of faults) {
    const error: unknown = await open.model.generate({ messages: hello }).catch((thrown: unknown) => thrown)
    if (!isModelError(error)) throw new Error('expected a rejection', { cause: error })
    found.push(error.retryAfterMs === undefined ? undefined : Math.round(error.retryAfterMs))
  }
  return found
}

function inStream({ wire }: Mode, error: JsonObject): JsonObject {
  if (wire === 'responses') return { type: 'response.failed', response: { status: 'failed', error } }
  return { ...(wire === 'anthropic-messages' ? { type: 'error' } : {}), error }
}
