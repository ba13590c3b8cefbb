import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { HttpProblem } from './problem.ts'

const windowMs = 60_000
/** Maximum number of wrong tokens. Only different tokens count, because a client that repeats an expired token isn't guessing. */
const mostWrongTokens = 30
const mostAddresses = 10_000

/**
 * Slows down clients that guess tokens. After 30 different wrong tokens within a minute, further requests from the address get a 429 until
 * the minute is over.
 */
export class Guesses {
  readonly #now: () => number
  /** The wrong tokens that each address has sent. The address that was added first comes first. */
  readonly #wrong = new Map<string, { since: number; tokens: Set<string> }>()

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Throws an `HttpProblem` 429 if the address has sent too many wrong tokens. */
  admit(address: string | undefined): void {
    const known = address === undefined ? undefined : this.#wrong.get(networkOf(address))
    if (known === undefined || known.tokens.size < mostWrongTokens) return
    const waitMs = known.since + windowMs - this.#now()
    if (waitMs <= 0) return
    throw new HttpProblem(429, 'too_many_guesses', 'Too many wrong tokens came from this address', {
      headers: { 'retry-after': String(Math.ceil(waitMs / 1_000)) },
    })
  }

  /** Counts an unknown token that was sent from an address. */
  miss(address: string | undefined, digest: Buffer): void {
    if (address === undefined) return
    const network = networkOf(address)
    const known = this.#wrong.get(network)
    const isCurrent = known !== undefined && this.#now() - known.since < windowMs
    const { tokens, since } = isCurrent ? known : { tokens: new Set<string>(), since: this.#now() }
    tokens.add(digest.toString('base64'))
    if (isCurrent) return
    this.#wrong.delete(network)
    this.#wrong.set(network, { tokens, since })
    const [oldest] = this.#wrong.keys()
    if (oldest !== undefined && this.#wrong.size > mostAddresses) this.#wrong.delete(oldest)
  }
}

/** Returns the network of an address. For IPv6, it is the prefix that a provider assigns to one customer. */
function networkOf(address: string): string {
  return isIP(address) === 6 ? ipaddr.parse(address).toByteArray().slice(0, 8).join('.') : address
}
