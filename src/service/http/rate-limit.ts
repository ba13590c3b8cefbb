import { HttpProblem } from './problem.ts'

export interface RateLimits {
  /** The average number of requests that a caller may send per minute. Also the maximum size of a burst. */
  requestsPerMinute: number
  /** The largest number of concurrent runs of one caller. */
  concurrentRuns: number
  /** The largest number of open event streams of one caller. */
  openStreams: number
}

interface Usage {
  /** The number of requests that may be sent now. */
  tokens: number
  since: number
  runs: number
  streams: number
  /** The number of characters in large responses that haven't been read yet. */
  characters: number
}

/** The limit per caller, for responses in progress: enough for a few of the largest ones. */
const mostCharacters = 32_000_000

/**
 * Idle callers are forgotten only if there are more callers than this. With tokens there are few callers, but a program with its own
 * authentication may have any number.
 */
const fewCallers = 1_000

/** Tracks what every caller uses, and enforces the limits. */
export class RateLimiter {
  limits: RateLimits
  readonly #used = new Map<string, Usage>()
  readonly #now: () => number
  #forgetAt = fewCallers

  constructor(limits: RateLimits, now: () => number = () => performance.now()) {
    this.limits = limits
    this.#now = now
  }

  /** The number of known callers. */
  get size(): number {
    return this.#used.size
  }

  /** Throws an `HttpProblem` 429, with the seconds to wait. `requests`: the number of requests sent as one. */
  admitRequest(caller: string, requests = 1): void {
    const { requestsPerMinute } = this.limits
    const usage = this.#of(caller)
    const now = this.#now()
    usage.tokens = Math.min(requestsPerMinute, usage.tokens + ((now - usage.since) / 60_000) * requestsPerMinute)
    usage.since = now
    const missing = requests - usage.tokens
    if (missing > 0) throw tooMany('requests a minute', requestsPerMinute, Math.ceil((missing / requestsPerMinute) * 60))
    usage.tokens -= requests
  }

  /** Reserves a run; the returned function releases it. Throws an `HttpProblem` 429. */
  admitRun(caller: string): () => void {
    return this.#take(caller, 'runs', this.limits.concurrentRuns, 'runs at once')
  }

  /** Like `admitRun`, for a run that was already admitted: never throws. */
  countRun(caller: string): () => void {
    return this.#take(caller, 'runs', Number.POSITIVE_INFINITY, '')
  }

  admitStream(caller: string): () => void {
    return this.#take(caller, 'streams', this.limits.openStreams, 'open event streams')
  }

  /** Throws an `HttpProblem` 429 if a caller has no room for another response. Called before work whose response must be sent. */
  checkCharacters(caller: string): void {
    if (this.#of(caller).characters >= mostCharacters) throw tooManyCharacters()
  }

  /** Reserves room for a response; the returned function releases it. Throws an `HttpProblem` 429. A single response may have any size. */
  admitCharacters(caller: string, characters: number): () => void {
    const usage = this.#of(caller)
    if (usage.characters > 0 && usage.characters + characters > mostCharacters) throw tooManyCharacters()
    return this.countCharacters(caller, characters)
  }

  /** Like `admitCharacters`, for a response that must be sent: never throws. */
  countCharacters(caller: string, characters: number): () => void {
    const usage = this.#of(caller)
    usage.characters += characters
    let taken = true
    return () => {
      if (taken) usage.characters -= characters
      taken = false
    }
  }

  #take(caller: string, what: 'runs' | 'streams', most: number, words: string): () => void {
    const usage = this.#of(caller)
    if (usage[what] >= most) throw tooMany(words, most, 1)
    usage[what]++
    let taken = true
    return () => {
      if (taken) usage[what]--
      taken = false
    }
  }

  #of(caller: string): Usage {
    const known = this.#used.get(caller)
    if (known !== undefined) return known
    if (this.#used.size >= this.#forgetAt) this.#forgetIdle()
    const usage = { tokens: this.limits.requestsPerMinute, since: this.#now(), runs: 0, streams: 0, characters: 0 }
    this.#used.set(caller, usage)
    return usage
  }

  /** Forgets idle callers that have their full allowance, because they are treated the same as new callers. */
  #forgetIdle(): void {
    const before = this.#now() - 60_000
    for (const [caller, { since, runs, streams, characters }] of this.#used) {
      if (runs === 0 && streams === 0 && characters === 0 && since <= before) this.#used.delete(caller)
    }
    // Doubles, so that it doesn't run for each new caller if all are busy.
    this.#forgetAt = Math.max(fewCallers, this.#used.size * 2)
  }
}

function tooManyCharacters(): HttpProblem {
  return tooMany('characters of unread responses', mostCharacters, 1)
}

function tooMany(what: string, most: number, waitSeconds: number): HttpProblem {
  return new HttpProblem(429, 'too_many_requests', `This token may have at most ${most} ${what}`, {
    headers: { 'retry-after': String(waitSeconds) },
  })
}
