import { HttpProblem } from './problem.ts'

export interface RateLimits {
  /** Requests a caller may send in a minute, on average; as many at once. */
  requestsPerMinute: number
  /** Runs of one caller at once. */
  concurrentRuns: number
  /** Open event streams of one caller. */
  openStreams: number
}

interface Usage {
  /** Requests that may be sent now. */
  tokens: number
  since: number
  runs: number
  streams: number
  /** Characters of large responses that have not been taken. */
  characters: number
}

/** Of one caller, in responses under way: a few of the largest there are. */
const mostCharacters = 32_000_000

/** Callers are forgotten only where there are many: with tokens there is one for each, but a program may know any number of users. */
const fewCallers = 1_000

/** What every caller uses now, and whether it may use more. */
export class RateLimiter {
  limits: RateLimits
  readonly #used = new Map<string, Usage>()
  readonly #now: () => number
  #forgetAt = fewCallers

  constructor(limits: RateLimits, now: () => number = () => performance.now()) {
    this.limits = limits
    this.#now = now
  }

  /** How many callers are known. */
  get size(): number {
    return this.#used.size
  }

  /** Throws an `HttpProblem` 429, with the seconds to wait. `requests`: how many are sent as one. */
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

  /** Takes a place for a run; the function returned gives it back. Throws an `HttpProblem` 429. */
  admitRun(caller: string): () => void {
    return this.#take(caller, 'runs', this.limits.concurrentRuns, 'runs at once')
  }

  /** The same for a run that has its place already: it was started before. */
  countRun(caller: string): () => void {
    return this.#take(caller, 'runs', Number.POSITIVE_INFINITY, '')
  }

  admitStream(caller: string): () => void {
    return this.#take(caller, 'streams', this.limits.openStreams, 'open event streams')
  }

  /** Throws an `HttpProblem` 429 for a caller without room for any response: asked before something is done whose answer has to be given. */
  checkCharacters(caller: string): void {
    if (this.#of(caller).characters >= mostCharacters) throw tooManyCharacters()
  }

  /** Takes room for a response under way; the function returned gives it back. Throws an `HttpProblem` 429. A single one may be of any size. */
  admitCharacters(caller: string, characters: number): () => void {
    const usage = this.#of(caller)
    if (usage.characters > 0 && usage.characters + characters > mostCharacters) throw tooManyCharacters()
    return this.countCharacters(caller, characters)
  }

  /** The same for a response that has to be given, whatever its size. */
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

  /** Forgets those who have nothing running and all their requests again: they are as good as new. */
  #forgetIdle(): void {
    const before = this.#now() - 60_000
    for (const [caller, { since, runs, streams, characters }] of this.#used) {
      if (runs === 0 && streams === 0 && characters === 0 && since <= before) this.#used.delete(caller)
    }
    // Not at each new one, where all are busy.
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
