import { InvalidOptionError, ModelError } from '../core/errors.ts'
import { isJsonObject } from '../core/messages.ts'
import { checkOptionNames, type OptionNames } from '../core/option-names.ts'
import { abortedError } from './chat-model.ts'

/** How much a provider may be asked for at once, and in a minute, by everything in this process. What is absent has no limit. */
export interface RateLimits {
  /** Requests under way at once; a streamed one until its end. */
  concurrency?: number
  /** Requests begun within any 60 seconds, at even distances: 3,000 a minute are one every 20 ms, 60 and fewer one a second. */
  requestsPerMinute?: number
  /** Tokens of requests and responses within any 60 seconds: estimated before a request, corrected by its usage after it. */
  tokensPerMinute?: number
  /** Requests that may wait for their turn; one more fails with `queue_full`. Default 10 000. */
  maxQueued?: number
}

const rateLimitNames: OptionNames<RateLimits> = { concurrency: true, requestsPerMinute: true, tokensPerMinute: true, maxQueued: true }

/** Throws `invalid_option`. */
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

/** A request that wants to begin. */
export interface Applicant {
  provider: string
  model: string
  /** What it keeps to, whatever others do. */
  limits: RateLimits
  signal: AbortSignal | undefined
  /** How many tokens it will use, roughly. */
  tokens: number
  /** It was refused by the provider before, and goes first. */
  isRefused: boolean
  /** Called when it has to wait, with how many wait before it. */
  onWait(ahead: number): void
}

/** A request's place among those under way. To be released exactly once. */
export interface Slot {
  /** `tokens`: what the request has used, where that is known. */
  release(tokens: number | undefined): void
}

interface Waiting extends Pick<Applicant, 'limits' | 'tokens'> {
  begin(slot: Slot): void
}

const minuteMs = 60_000
const longestTimerMs = 2 ** 31 - 1
/** Distance between two requests at most: where few are allowed a minute, a run need not crawl from the start. */
const longestDistanceMs = 1_000
/** How much of the time that a late timer has lost is made up for. More would be a burst. */
const madeUpMs = 100

/**
 * Lets requests begin in the order in which they came, as their limits allow; the first that has to wait holds back all behind it, so that a
 * large one is not passed for ever by small ones. Those that the provider has refused come before the others.
 */
export class RateLimiter {
  #underWay = 0
  /** No request begins before, by `performance.now()`. */
  #heldUntil = 0
  /** When the next request may begin, by its distance to those before. */
  #nextAt = 0
  readonly #requests = new LastMinute()
  readonly #tokens = new LastMinute()
  readonly #refused = new Set<Waiting>()
  readonly #waiting = new Set<Waiting>()
  #timer: NodeJS.Timeout | undefined

  /** How many amounts are remembered. */
  get remembered(): number {
    return this.#requests.size + this.#tokens.size
  }

  /** Whether nothing is under way, waits, or is remembered of the last minute. */
  get isIdle(): boolean {
    const now = performance.now()
    return this.#underWay + this.#queued === 0 && this.#heldUntil <= now && this.#requests.isEmpty(now) && this.#tokens.isEmpty(now)
  }

  /** Resolves when the request may begin. Rejects with `aborted`, and with `queue_full` where too many wait. */
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

  /** Lets nothing begin for so long: the provider has said so to one of them. */
  hold(ms: number): void {
    this.#heldUntil = Math.max(this.#heldUntil, performance.now() + ms)
  }

  get #queued(): number {
    return this.#refused.size + this.#waiting.size
  }

  /** Lets begin what may, and wakes up when the next one may. */
  #admit(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (;;) {
      const queue = this.#refused.size > 0 ? this.#refused : this.#waiting
      const [next] = queue
      if (next === undefined) return
      const waitMs = this.#waitMs(next)
      // One that waits for the end of another is let in by that.
      if (waitMs === Number.POSITIVE_INFINITY) return
      if (waitMs > 0) {
        // Not unref'd: a run that waits keeps its process alive, as one that is answered does.
        this.#timer = setTimeout(() => this.#admit(), Math.min(Math.ceil(waitMs), longestTimerMs))
        return
      }
      queue.delete(next)
      next.begin(this.#begin(next, madeUpMs))
    }
  }

  /** How long until the request may begin, in milliseconds. */
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

/** Amounts of the last 60 seconds. */
class LastMinute {
  /** The oldest first. */
  readonly #amounts: Amount[] = []
  #sum = 0

  get size(): number {
    return this.#amounts.length
  }

  isEmpty(now: number): boolean {
    this.#forget(now)
    return this.#amounts.length === 0
  }

  /** How long until so much more is within the limit. What is more than the limit alone may come when there is nothing else. */
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

  /** What was more than estimated counts from now on: much of it may have come since. */
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
