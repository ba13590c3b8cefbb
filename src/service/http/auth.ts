import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { InvalidOptionError } from '../../core/errors.ts'
import { Guesses } from './guesses.ts'
import { HttpProblem, type Problem } from './problem.ts'

/**
 * The roles of a token. `run`: the API under `/v1`, for its own runs. `metrics`: only `/metrics`. `admin`: everything, including the runs
 * of all callers and the configuration.
 */
export type Role = 'run' | 'metrics' | 'admin'

/** The `metadata` values that every run of a tenant has. */
export type Tenant = Readonly<Record<string, string>>

/** An accepted token: its SHA-256, or the name of the environment variable that holds it. */
export type TokenEntry = Caller & ({ hash: string } | { env: string })

/** The sender of a request. Runs belong to the caller with that name. */
export interface Caller {
  name: string
  roles: readonly Role[]
  /**
   * Narrows the roles to the runs whose `metadata` has these values, such as `{ org: 'acme' }`. The caller's own runs get the values, and a
   * request with other values is refused. Every route that concerns the whole service is refused as well. Default: no tenant.
   */
  tenant?: Tenant | undefined
}

/**
 * Returns the `context` for tools, approvals and instructions of a caller's run. `request`: the one that starts or continues the run;
 * undefined if the run continues automatically.
 */
export type ContextOf = (request: Request | undefined, caller: Caller) => Promise<unknown>

/** Identifies the sender of a request. Undefined or null if the sender is unknown. */
export type Authenticate = (request: Request) => Caller | undefined | null | Promise<Caller | undefined | null>

/** Returns the stored form of a token: `sha256:` and 64 hexadecimal digits. */
export function hashToken(token: string): string {
  return `sha256:${digest(token).toString('hex')}`
}

/** Returns an unguessable token: 256 random bits. */
export function newToken(): string {
  return `tl_${randomBytes(32).toString('base64url')}`
}

/** Ends an error message about a guessable token. Generated tokens have 46 characters, of which 43 are random. */
const unguessable = 'at least 16 characters without a pattern'

/** Whether a token is guessable: short, of few different characters, consecutive (`0123…`), or repeated. Random tokens never are. */
function canBeGuessed(token: string): boolean {
  const codes = Array.from(token, (character) => character.codePointAt(0) ?? 0)
  const steps = new Set(codes.slice(1).map((code, at) => code - (codes[at] ?? 0)))
  return codes.length < 16 || new Set(codes).size < 4 || steps.size < 5 || (token + token).indexOf(token, 1) < token.length
}

/** Identifies the sender of a request by its bearer token. */
export class TokenAuth {
  readonly #always: readonly { caller: Caller; hash: Buffer }[]
  #known: readonly { caller: Caller; hash: Buffer }[] = []

  readonly #guesses = new Guesses()

  /** `always`: tokens that are valid with any configuration. Throws `invalid_option` for a guessable one. */
  constructor(always: readonly { caller: Caller; token: string }[]) {
    for (const { token } of always) {
      if (canBeGuessed(token)) throw new InvalidOptionError('token', unguessable, `${token.length} characters that can be guessed`)
    }
    this.#always = always.map(({ caller, token }) => ({ caller, hash: digest(token) }))
  }

  /** Returns the problems of the tokens these entries name. */
  problemsOf(entries: readonly TokenEntry[], env: Readonly<Record<string, string | undefined>>): Problem[] {
    return entries.flatMap((entry, at) => {
      const token = 'env' in entry ? env[entry.env] : undefined
      const path = `/service/auth/tokens/${at}`
      const ofRoles = { path: `${path}/tenant`, message: 'must be absent for the role `metrics`: metrics are those of the whole service' }
      return [
        ...(token && canBeGuessed(token) ? [{ path: `${path}/env`, message: `must name a variable with ${unguessable}` }] : []),
        ...(entry.tenant !== undefined && entry.roles.includes('metrics') ? [ofRoles] : []),
      ]
    })
  }

  /** Replaces the accepted tokens. An entry whose variable is not set accepts nothing. Throws `invalid_option`. */
  accept(entries: readonly TokenEntry[], env: Readonly<Record<string, string | undefined>>): void {
    this.#known = entries.flatMap((entry) => {
      const hash = 'hash' in entry ? readHash(entry.hash) : env[entry.env] ? digest(String(env[entry.env])) : undefined
      const { name, roles, tenant } = entry
      return hash === undefined ? [] : [{ caller: { name, roles, tenant }, hash }]
    })
  }

  /**
   * Returns the caller. `address`: the address of the client, if known. Throws an `HttpProblem`: 401, or 429 after too many wrong tokens. A
   * valid token is never delayed because of others who guess.
   */
  authenticate(request: Request, address: string | undefined): Caller {
    const header = request.headers.get('authorization') ?? ''
    const token = /^bearer +(\S+) *$/i.exec(header)?.[1]
    const presented = token === undefined ? undefined : digest(token)
    const caller = presented === undefined ? undefined : this.#find(presented)
    if (caller !== undefined) return caller
    if (presented !== undefined) {
      this.#guesses.admit(address)
      this.#guesses.miss(address, presented)
    }
    throw new HttpProblem(401, 'unauthorized', token === undefined ? 'Expected `authorization: Bearer TOKEN`' : 'Unknown token', {
      headers: { 'www-authenticate': 'Bearer' },
    })
  }

  /** Compares with every token, so that the duration reveals nothing. */
  #find(presented: Buffer): Caller | undefined {
    let found: Caller | undefined
    for (const { caller, hash } of [...this.#always, ...this.#known]) if (timingSafeEqual(hash, presented)) found ??= caller
    return found
  }
}

function digest(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}

function readHash(text: string): Buffer {
  const hex = /^sha256:([0-9a-f]{64})$/i.exec(text)?.[1]
  if (hex === undefined) throw new InvalidOptionError('hash', '`sha256:` and 64 hexadecimal digits', `${text.slice(0, 7)}…`)
  return Buffer.from(hex, 'hex')
}

/**
 * Throws an `HttpProblem` 403 unless the caller has the role; an admin has all. A caller with a tenant is refused unless the route serves
 * each tenant separately (`forTenants`).
 */
export function checkRole({ roles, tenant }: Caller, role: Role, forTenants: boolean): void {
  if (!roles.includes(role) && !roles.includes('admin'))
    throw new HttpProblem(403, 'forbidden', `This needs a token with the role \`${role}\``)
  if (tenant !== undefined && !forTenants)
    throw new HttpProblem(403, 'forbidden', 'This concerns the whole service: it needs a token without a `tenant`')
}
