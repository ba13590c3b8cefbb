import { isJsonObject, type JsonObject } from '../../core/messages.ts'

/** The headers of a response. */
export interface HeaderReader {
  get(name: string): string | null
}

/**
 * Adds headers that a gateway repeats in the body, as OpenRouter does in `error.metadata.headers`:
 * https://openrouter.ai/docs/api-reference/limits
 */
export function headersIn(quoted: unknown, headers?: HeaderReader): HeaderReader {
  const entries = isJsonObject(quoted) ? Object.entries(quoted) : []
  const byName = new Map(entries.map(([name, value]) => [name.toLowerCase(), String(value)]))
  return { get: (name) => headers?.get(name) ?? byName.get(name) ?? null }
}

/**
 * Reads `retry-after-ms`, or `retry-after` in seconds or as a date. Returns the wait in milliseconds.
 * https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
 */
export function readRetryAfter(headers: HeaderReader): number | undefined {
  const ms = Number.parseFloat(headers.get('retry-after-ms') ?? '')
  return ms >= 0 ? ms : readMoment(headers.get('retry-after'), clockOf(headers))
}

/** The limits that providers report, each with a `…reset` and a `…remaining` header. */
const limits: readonly string[] = [
  // OpenAI, Azure, Groq, Mistral, xAI: https://platform.openai.com/docs/guides/rate-limits · https://console.groq.com/docs/rate-limits
  'x-ratelimit-*-requests',
  'x-ratelimit-*-tokens',
  // Cerebras: https://inference-docs.cerebras.ai/support/rate-limits
  'x-ratelimit-*-requests-minute',
  'x-ratelimit-*-requests-day',
  'x-ratelimit-*-tokens-minute',
  'x-ratelimit-*-tokens-day',
  // OpenRouter, Together, GitHub: https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers
  'x-ratelimit-*',
  'ratelimit-*',
  'ratelimitbysize-*',
  // https://docs.claude.com/en/api/rate-limits#response-headers
  'anthropic-ratelimit-requests-*',
  'anthropic-ratelimit-tokens-*',
  'anthropic-ratelimit-input-tokens-*',
  'anthropic-ratelimit-output-tokens-*',
  'anthropic-ratelimit-unified-*',
]

/**
 * Returns the milliseconds until the exceeded limit resets. Call this only for an exceeded limit: providers send these headers with every
 * response.
 */
export function readLimitReset(headers: HeaderReader): number | undefined {
  const now = clockOf(headers)
  const found: { wait: number; remaining: number }[] = []
  for (const limit of limits) {
    const wait = readMoment(headers.get(limit.replace('*', 'reset')), now)
    const remaining = Number.parseFloat(headers.get(limit.replace('*', 'remaining')) ?? '')
    // A limit on requests was not exceeded if requests remain. A limit on tokens may be exceeded even if tokens remain.
    const isOther = remaining >= 1 && !limit.includes('token')
    if (wait !== undefined && !isOther) found.push({ wait, remaining })
  }
  const spent = found.filter(({ remaining }) => remaining <= 0)
  const waits = (spent.length > 0 ? spent : found).map(({ wait }) => wait)
  return waits.length === 0 ? undefined : Math.max(...waits)
}

/** Returns how long an error's body says to wait, in milliseconds. The time is in a field of one of `parts`, or in the message. */
export function readWaitIn(headers: HeaderReader, parts: readonly JsonObject[], message: string): number | undefined {
  const now = clockOf(headers)
  for (const part of parts) {
    const ms = Number(part.retry_after_ms ?? Number.NaN)
    if (ms >= 0) return ms
    for (const field of waitFields) {
      const value = part[field]
      const wait = typeof value === 'string' || typeof value === 'number' ? readMoment(String(value), now) : undefined
      if (wait !== undefined) return wait
    }
  }
  return readWords(message, now)
}

/**
 * Fields that say how long to wait. `retryDelay` is in Google's `RetryInfo`: https://cloud.google.com/apis/design/errors#error_details.
 * ChatGPT plans use the two `resets_…` fields. `resets_in_seconds` is preferred to `resets_at`, because it does not depend on the clock.
 */
const waitFields = ['retryDelay', 'retry_after', 'retryAfter', 'retry_after_seconds', 'resets_in_seconds', 'resets_at'] as const

/**
 * Reads a time in words: "Please try again in 7m12s", "Please retry after 26 seconds", "Resets in 3hr 20min", "You will regain access on
 * 2026-01-01 at 00:00 UTC".
 */
function readWords(message: string, now: number): number | undefined {
  for (const { index, 0: words } of message.matchAll(
    /(try again|retry|wait|resets?|replenished|available|regain access)\b[^.\n\d]{0,30}(?=\d)/gi,
  )) {
    const rest = message.slice(index + words.length)
    const wait = readDuration(rest)?.ms ?? readDate(rest, now)
    if (wait !== undefined) return wait
  }
  const chinese = /(?<!\d)\d+(\.\d+)? *(毫秒|秒|分钟|小时|天)(?=[之以]?后)/.exec(message)?.[0]
  return chinese === undefined ? undefined : readDuration(chinese)?.ms
}

/**
 * Reads seconds, a time since 1970 in seconds or milliseconds, a duration such as `1m30s`, or a date. Returns the milliseconds from `now`,
 * never a negative number.
 */
function readMoment(text: string | null, now: number): number | undefined {
  const value = text?.trim() ?? ''
  if (value === '') return undefined
  const number = Number(value)
  if (number >= 1e12) return Math.max(0, number - now)
  if (number >= 1e9) return Math.max(0, number * 1000 - now)
  if (!Number.isNaN(number)) return Math.max(0, number * 1000)
  const duration = readDuration(value)
  if (duration?.end === value.length) return duration.ms
  // The year is required, because `Date.parse` accepts nearly any text with a number in it.
  const date = /\d{4}/.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

/** Reads a date at the start of a text. Ignores a date without a time zone, because it is ambiguous. */
function readDate(text: string, now: number): number | undefined {
  const [, day, time, zone = ''] =
    /^(\d{4}-\d\d-\d\d)(?:T| (?:at )?)(\d\d:\d\d(?::\d\d)?(?:\.\d+)?) ?(Z|UTC|[+-]\d\d:\d\d)/i.exec(text) ?? []
  if (day === undefined) return undefined
  return Math.max(0, Date.parse(`${day}T${time}${/^[+-]/.test(zone) ? zone : 'Z'}`) - now)
}

const units: readonly (readonly [name: RegExp, ms: number])[] = [
  [/^(ms|msecs?|milliseconds?|毫秒)$/i, 1],
  [/^(us|µs|μs)$/i, 1e-3],
  [/^ns$/i, 1e-6],
  [/^(s|secs?|seconds?|秒)$/i, 1000],
  [/^(m|mins?|minutes?|分钟)$/i, 60_000],
  [/^(h|hrs?|hours?|小时)$/i, 3_600_000],
  [/^(d|days?|天)$/i, 86_400_000],
]

/**
 * Reads a duration at the start of a text, such as `1m30s` or `1 minute and 30 seconds`. Returns the milliseconds and the position after
 * the duration.
 */
function readDuration(text: string): { ms: number; end: number } | undefined {
  const part = /[\s,]*(?:and )?(\d+(?:\.\d+)?) ?(\p{L}+)/uy
  let ms: number | undefined
  let end = 0
  for (let found = part.exec(text); found !== null; found = part.exec(text)) {
    const [, amount = '', unit = ''] = found
    const unitMs = units.find(([name]) => name.test(unit))?.[1]
    if (unitMs === undefined) break
    ms = (ms ?? 0) + Number(amount) * unitMs
    end = part.lastIndex
  }
  return ms === undefined ? undefined : { ms, end }
}

/**
 * Returns the current time, to compare it with dates in headers. Uses the server's clock if the client's clock differs from the server's.
 */
function clockOf(headers: HeaderReader): number {
  const own = Date.now()
  const server = Date.parse(headers.get('date') ?? '')
  // Small differences are ignored: a `date` header has no milliseconds, and takes time to arrive.
  return Math.abs(server - own) > 5000 ? server : own
}
