import { HttpProblem } from './problem.ts'

export interface RateLimits {
  /** The average number of requests that a caller may send per minute. It is also the maximum number of requests in a burst. */
  requestsPerMinute: number
  /** Maximum number of concurrent runs of one caller. */
  concurrentRuns: number
  /** Maximum number of open event streams of one caller. */
  openStreams: number
}

interface Usage {
  /** The number of requests that the caller may send now. */
  tokens: number
  since: number
  runs: number
  streams: number
  /** The number of characters in large responses that the caller hasn't read yet. */
  characters: number
}

/** Maximum number of characters in one caller's unread responses. */
const mostCharacters = 32_000_000

/** Idle callers are forgotten if there are more callers than this. */
const fewCallers = 1_000

/** Keeps track of the resources that every caller uses, and enforces the limits. */
export class RateLimiter {
  limits: RateLimits
  readonly #used = new Map<string, Usage>()
  readonly #now: () => number
  #forgetAt = fewCallers

  constructor(limits: RateLimits, now: () => number = () => performance.now()) {
    this.limits = limits
    this.#now = now
  }

  get size(): number {
    return this.#used.size
  }

  /**
   * Counts a request. Throws an `HttpProblem` 429, with the seconds to wait, if the limit is exceeded. `requests` is the number of calls in
   * a batch.
   */
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

  /**
   * Reserves a run. The returned function releases the reservation. Throws an `HttpProblem` 429 if the caller has too many concurrent runs.
   */
  admitRun(caller: string): () => void {
    return this.#take(caller, 'runs', this.limits.concurrentRuns, 'runs at once')
  }

  /** Like `admitRun`, for a run that was admitted before. Never throws. */
  countRun(caller: string): () => void {
    return this.#take(caller, 'runs', Number.POSITIVE_INFINITY, '')
  }

  admitStream(caller: string): () => void {
    return this.#take(caller, 'streams', this.limits.openStreams, 'open event streams')
  }

  /**
   * Throws an `HttpProblem` 429 if the caller's unread responses have reached the limit. Called before a run is started or changed, because
   * the response can't be refused after that.
   */
  checkCharacters(caller: string): void {
    if (this.#of(caller).characters >= mostCharacters) throw tooManyCharacters()
  }

  /**
   * Reserves room for a response. The returned function releases the room. Throws an `HttpProblem` 429 if there is no room. A single
   * response always has room, however large it is.
   */
  admitCharacters(caller: string, characters: number): () => void {
    const usage = this.#of(caller)
    if (usage.characters > 0 && usage.characters + characters > mostCharacters) throw tooManyCharacters()
    return this.countCharacters(caller, characters)
  }

  /** Like `admitCharacters`, for a response that can't be refused. Never throws. */
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

  /** Forgets callers that have been idle for a minute. They have their full allowance again, like new callers. */
  #forgetIdle(): void {
    const before = this.#now() - 60_000
    for (const [caller, { since, runs, streams, characters }] of this.#used) {
      if (runs === 0 && streams === 0 && characters === 0 && since <= before) this.#used.delete(caller)
    }
    // The threshold doubles, so that a busy service doesn't run this method for every new caller.
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
