import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Caller } from './auth.ts'
import { Guesses } from './guesses.ts'
import { HttpProblem } from './problem.ts'

const linkMs = 10 * 60_000
const sessionMs = 12 * 3_600_000
/** Maximum number of codes, and separately of sessions. If there are more, the oldest is dropped. */
const mostKept = 1_000

interface Kept {
  hash: Buffer
  caller: Caller
  until: number
}

/** The session that a browser gets for a code. It has its own token, which is valid only in this process. */
export interface Session {
  token: string
  caller: Caller
  /** When the session ends, in milliseconds since 1970. */
  until: number
}

/**
 * Creates links that sign in a browser. A link works once and expires after ten minutes. It contains a code, never a token. The page
 * exchanges the code for a session of twelve hours. Only hashes of codes and sessions are stored, and only in memory.
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

  /** Returns a code that signs a browser in as `caller`. */
  issue(caller: Caller): string {
    const code = randomBytes(32).toString('base64url')
    this.#codes = [...this.#current(this.#codes), { hash: digest(code), caller, until: this.#now() + linkMs }].slice(-mostKept)
    return code
  }

  /**
   * Exchanges a code for a session, and invalidates the code. Throws an `HttpProblem`: 403 if the code is unknown, used or expired, or 429
   * if the address has sent too many wrong codes. A valid code is always accepted, even while other clients guess codes.
   */
  redeem(code: string, address: string | undefined): Session {
    const presented = digest(code)
    this.#codes = this.#current(this.#codes)
    const found = find(this.#codes, presented)
    if (found === undefined) {
      // Clients with unknown addresses share one limit. Every wrong code counts, even a repeated one, because no client sends codes
      // automatically.
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

  /** Returns the caller of the session whose token a request contains. Returns undefined if there is no such session. */
  callerOf(request: Request): Caller | undefined {
    const token = tokenOf(request)
    return token === undefined ? undefined : find(this.#current(this.#sessions), digest(token))?.caller
  }

  /** Ends the session of a request, if it has one. */
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

/** Returns the session token of a request. Session tokens have their own prefix, so other tokens are not looked up here. */
function tokenOf({ headers }: Request): string | undefined {
  return /^bearer +(tls_\S+) *$/i.exec(headers.get('authorization') ?? '')?.[1]
}

/**
 * Finds the entry of a token or code. Compares the token or code with every entry, so that the response time reveals nothing about the
 * entries.
 */
function find(all: readonly Kept[], presented: Buffer): Kept | undefined {
  let found: Kept | undefined
  for (const one of all) if (timingSafeEqual(one.hash, presented)) found ??= one
  return found
}

function digest(secret: string): Buffer {
  return hash('sha256', secret, 'buffer')
}
