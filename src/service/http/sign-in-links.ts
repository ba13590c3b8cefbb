import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Caller } from './auth.ts'
import { Guesses } from './guesses.ts'
import { HttpProblem } from './problem.ts'

const linkMs = 10 * 60_000
const sessionMs = 12 * 3_600_000
/** Of each kind; of more, the oldest give way. */
const mostKept = 1_000

interface Kept {
  hash: Buffer
  caller: Caller
  until: number
}

/** What a browser is given for the code of a link: a token of its own, which holds for this process alone. */
export interface Session {
  token: string
  caller: Caller
  /** Milliseconds since 1970. */
  until: number
}

/**
 * Links that sign a browser in, once, within ten minutes. What stands in a link is a code, never a token: the page exchanges it for a session of
 * twelve hours. Neither codes nor sessions are kept in clear, or beyond the end of the process.
 */
export class SignInLinks {
  #codes: Kept[] = []
  #sessions: Kept[] = []
  readonly #guesses: Guesses
  readonly #now: () => number

  constructor(now: () => number = Date.now) {
    this.#now = now
    this.#guesses = new Guesses(now)
  }

  /** A code that signs in as `caller`. */
  issue(caller: Caller): string {
    const code = randomBytes(32).toString('base64url')
    this.#codes = [...this.#current(this.#codes), { hash: digest(code), caller, until: this.#now() + linkMs }].slice(-mostKept)
    return code
  }

  /**
   * Exchanges a code, which is used up by that. Throws an `HttpProblem`: 403 for one that is unknown, used or too old, 429 for an address that has
   * sent many of them; one that is right never has to wait for those who guess.
   */
  redeem(code: string, address: string | undefined): Session {
    const presented = digest(code)
    this.#codes = this.#current(this.#codes)
    const found = find(this.#codes, presented)
    if (found === undefined) {
      // Where addresses are not known, all who guess wait together. Nothing sends a code by itself: each try counts, and each is logged.
      this.#guesses.admit(address ?? '')
      this.#guesses.miss(address ?? '', randomBytes(8))
      throw new HttpProblem(403, 'sign_in_link_refused', 'This link is not valid: a link signs in once, within 10 minutes', {
        param: 'code',
      })
    }
    this.#codes = this.#codes.filter((one) => one !== found)
    const token = `tls_${randomBytes(32).toString('base64url')}`
    const { caller } = found
    const until = this.#now() + sessionMs
    this.#sessions = [...this.#current(this.#sessions), { hash: digest(token), caller, until }].slice(-mostKept)
    return { token, caller, until }
  }

  /** Whose session a request is of; undefined: of none. */
  callerOf(request: Request): Caller | undefined {
    const token = tokenOf(request)
    return token === undefined ? undefined : find(this.#current(this.#sessions), digest(token))?.caller
  }

  /** Ends the session that a request is of, if it is of one. */
  end(request: Request): void {
    const token = tokenOf(request)
    const ended = token === undefined ? undefined : find(this.#sessions, digest(token))
    this.#sessions = this.#sessions.filter((one) => one !== ended)
  }

  #current(all: readonly Kept[]): Kept[] {
    const now = this.#now()
    return all.filter(({ until }) => until > now)
  }
}

/** Sessions are told from other tokens by how they begin: those are not looked for here. */
function tokenOf({ headers }: Request): string | undefined {
  return /^bearer +(tls_\S+) *$/i.exec(headers.get('authorization') ?? '')?.[1]
}

/** Compares with every one, whichever it is, so that the time it takes tells nothing. */
function find(all: readonly Kept[], presented: Buffer): Kept | undefined {
  let found: Kept | undefined
  for (const one of all) if (timingSafeEqual(one.hash, presented)) found ??= one
  return found
}

function digest(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}
