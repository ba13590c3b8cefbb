import { checkOptionNames, type OptionNames } from '../core/check-options.ts'
import { InvalidOptionError, ModelError } from '../core/errors.ts'
import { isJsonObject } from '../core/messages.ts'
import { abortedError } from './chat-model.ts'

/** Limits on the requests that this process sends to a provider. A field that is absent sets no limit. */
export interface RateLimits {
  /** Maximum number of requests in progress at the same time. A streamed request is in progress until its stream ends. */
  concurrency?: number
  /**
   * Maximum number of requests started within any 60 seconds. Requests start at even intervals of at most 1 second. With 3,000 per minute,
   * one request starts every 20 ms. With 60 or fewer, one request starts per second until the limit is reached.
   */
  requestsPerMinute?: number
  /**
   * Maximum number of tokens in requests and responses within any 60 seconds. Tokens are estimated before a request is sent, and corrected
   * afterwards by the reported usage.
   */
  tokensPerMinute?: number
  /** Maximum number of waiting requests. Further requests fail with `queue_full`. Default 10,000. */
  maxQueued?: number
}

const rateLimitNames: OptionNames<RateLimits> = { concurrency: true, requestsPerMinute: true, tokensPerMinute: true, maxQueued: true }

/** Throws `invalid_option` for invalid limits. */
export function checkRateLimits(limits: unknown, where: string): void {
  if (limits === undefined) return
  if (!isJsonObject(limits)) throw new InvalidOptionError(where, 'a map of limits', limits)
  checkOptionNames(limits, rateLimitNames, 'rate limits', where)
  for (const [name, limit] of Object.entries(limits)) {
    const least = name === 'maxQueued' ? 0 : 1
    if (limit !== undefined && !(Number.isSafeInteger(limit) && Number(limit) >= least))
      throw new InvalidOptionError(`${where}.${name}`, `an integer ≥ ${least}`, limit)
  }
}

/** A request that waits to start. */
export interface Applicant {
  provider: string
  model: string
  limits: RateLimits
  signal: AbortSignal | undefined
  /** The estimated number of tokens that the request will use. */
  tokens: number
  /** Whether the provider has refused this request before. Such requests start before all others. */
  isRefused: boolean
  /** Called if the request has to wait. `ahead` is the number of requests that are ahead of it in the queue. */
  onWait(ahead: number): void
}

/** The slot of a request in progress. A slot must be released exactly once. */
export interface Slot {
  /** `tokens`: the number of tokens that the request used, if known. */
  release(tokens: number | undefined): void
}

interface Waiting extends Pick<Applicant, 'limits' | 'tokens'> {
  begin(slot: Slot): void
}

const minuteMs = 60_000
const longestTimerMs = 2 ** 31 - 1
/**
 * The longest interval between the starts of two requests, in milliseconds. With a low limit, even intervals would delay the first requests
 * of a run.
 */
const longestDistanceMs = 1_000
/**
 * If a timer fires late, the next requests start earlier, by at most this number of milliseconds. A higher value would cause a burst of
 * requests.
 */
const madeUpMs = 100

/**
 * Starts requests in order, as their limits allow. A waiting request blocks all later requests, because small requests could otherwise keep
 * overtaking a large request. Requests that the provider has refused come first.
 */
export class RateLimiter {
  #underWay = 0
  /** The time before which no request starts, on the clock of `performance.now()`. */
  #heldUntil = 0
  /** The earliest start of the next request, which keeps the interval to the previous request. */
  #nextAt = 0
  readonly #requests = new LastMinute()
  readonly #tokens = new LastMinute()
  readonly #refused = new Set<Waiting>()
  readonly #waiting = new Set<Waiting>()
  #timer: NodeJS.Timeout | undefined

  /** The number of stored entries about the last minute. */
  get remembered(): number {
    return this.#requests.size + this.#tokens.size
  }

  /** Whether nothing is in progress, waiting, or remembered from the last minute. */
  get isIdle(): boolean {
    const now = performance.now()
    return this.#underWay + this.#queued === 0 && this.#heldUntil <= now && this.#requests.isEmpty(now) && this.#tokens.isEmpty(now)
  }

  /** Resolves when the request may start. Rejects with `aborted`, or with `queue_full` if too many requests wait. */
  async enter(applicant: Applicant): Promise<Slot> {
    const { provider, model, limits, signal, tokens, isRefused, onWait } = applicant
    if (signal?.aborted) throw abortedError(provider, signal.reason)
    if (this.#queued === 0 && this.#waitMs(applicant) <= 0) return this.#begin(applicant, 0)
    const { maxQueued = 10_000 } = limits
    if (this.#queued >= maxQueued) {
      const message = `Expected at most ${maxQueued} requests to wait for \`${provider}/${model}\` (\`rateLimits.maxQueued\`), got one more`
      throw new ModelError('queue_full', message, { provider, model, retryable: false })
    }
    return new Promise((resolve, reject) => {
      const queue = isRefused ? this.#refused : this.#waiting
      const onAbort = () => {
        queue.delete(waiting)
        reject(abortedError(provider, signal?.reason))
        this.#admit()
      }
      const begin = (slot: Slot) => {
        signal?.removeEventListener('abort', onAbort)
        resolve(slot)
      }
      const waiting: Waiting = { limits, tokens, begin }
      signal?.addEventListener('abort', onAbort, { once: true })
      onWait(isRefused ? this.#refused.size : this.#queued)
      queue.add(waiting)
      this.#admit()
    })
  }

  /** Starts no requests for `ms` milliseconds. Called when the provider has refused a request and said how long to wait. */
  hold(ms: number): void {
    this.#heldUntil = Math.max(this.#heldUntil, performance.now() + ms)
  }

  get #queued(): number {
    return this.#refused.size + this.#waiting.size
  }

  /** Starts all requests that may start, and sets a timer for the next request. */
  #admit(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (;;) {
      const queue = this.#refused.size > 0 ? this.#refused : this.#waiting
      const [next] = queue
      if (next === undefined) return
      const waitMs = this.#waitMs(next)
      // No timer is needed: when a running request ends, this request is checked again.
      if (waitMs === Number.POSITIVE_INFINITY) return
      if (waitMs > 0) {
        // The timer is not unref'd, because a waiting run keeps its process alive, like any other run.
        this.#timer = setTimeout(() => this.#admit(), Math.min(Math.ceil(waitMs), longestTimerMs))
        return
      }
      queue.delete(next)
      next.begin(this.#begin(next, madeUpMs))
    }
  }

  /** Returns the time until the request may start, in milliseconds. */
  #waitMs({ limits, tokens }: Pick<Applicant, 'limits' | 'tokens'>): number {
    const { concurrency, requestsPerMinute, tokensPerMinute } = limits
    if (concurrency !== undefined && this.#underWay >= concurrency) return Number.POSITIVE_INFINITY
    const now = performance.now()
    return Math.max(
      this.#heldUntil - now,
      requestsPerMinute === undefined ? 0 : this.#nextAt - now,
      requestsPerMinute === undefined ? 0 : this.#requests.waitMs(1, requestsPerMinute, now),
      tokensPerMinute === undefined ? 0 : this.#tokens.waitMs(tokens, tokensPerMinute, now),
    )
  }

  #begin({ limits, tokens }: Pick<Applicant, 'limits' | 'tokens'>, mostLateMs: number): Slot {
    const { requestsPerMinute = Number.POSITIVE_INFINITY } = limits
    const now = performance.now()
    this.#underWay++
    this.#nextAt = Math.max(this.#nextAt, now - mostLateMs) + Math.min(longestDistanceMs, minuteMs / requestsPerMinute)
    this.#requests.add(1, now)
    const estimate = this.#tokens.add(tokens, now)
    return {
      release: (used) => {
        this.#underWay--
        if (used !== undefined) this.#tokens.correct(estimate, used, performance.now())
        this.#admit()
      },
    }
  }
}

interface Amount {
  amount: number
  at: number
}

/** The amounts of the last 60 seconds. */
class LastMinute {
  /** Oldest first. */
  readonly #amounts: Amount[] = []
  #sum = 0

  get size(): number {
    return this.#amounts.length
  }

  isEmpty(now: number): boolean {
    this.#forget(now)
    return this.#amounts.length === 0
  }

  /**
   * The time in milliseconds until `amount` can be added without exceeding the limit. An amount that alone exceeds the limit waits until
   * all other amounts have expired.
   */
  waitMs(amount: number, limit: number, now: number): number {
    this.#forget(now)
    let excess = this.#sum + amount - limit
    let waitMs = 0
    for (const { amount: gone, at } of this.#amounts) {
      if (excess <= 0) break
      excess -= gone
      waitMs = at + minuteMs - now
    }
    return waitMs
  }

  add(amount: number, now: number): Amount {
    this.#forget(now)
    const added = { amount, at: now }
    this.#amounts.push(added)
    this.#sum += amount
    return added
  }

  /**
   * Replaces an estimate by the actual amount. If the actual amount is higher, the difference counts as used now, because many of these
   * tokens may have arrived recently.
   */
  correct(estimate: Amount, amount: number, now: number): void {
    const more = amount - estimate.amount
    if (more > 0) this.add(more, now)
    else if (now - estimate.at < minuteMs) {
      estimate.amount += more
      this.#sum += more
    }
  }

  #forget(now: number): void {
    for (let oldest = this.#amounts[0]; oldest !== undefined && now - oldest.at >= minuteMs; oldest = this.#amounts[0]) {
      this.#amounts.shift()
      this.#sum -= oldest.amount
    }
  }
}
