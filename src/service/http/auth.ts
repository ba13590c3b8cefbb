import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { InvalidOptionError } from '../../core/errors.ts'
import { Guesses } from './guesses.ts'
import { HttpProblem, type Problem } from './problem.ts'

/**
 * The access that a token grants. `run`: the API under `/v1`, limited to the caller's own runs. `metrics`: only `/metrics`. `admin`:
 * everything, including the configuration and the runs of all callers.
 */
export type Role = 'run' | 'metrics' | 'admin'

/** The `metadata` values that every run of a tenant has. */
export type Tenant = Readonly<Record<string, string>>

/** An accepted token, as its SHA-256 hash or as the name of an environment variable that contains it. */
export type TokenEntry = Caller & ({ hash: string } | { env: string })

/** The sender of a request. Callers with the same `name` share their runs. */
export interface Caller {
  name: string
  roles: readonly Role[]
  /**
   * Restricts the caller to runs whose `metadata` has these values, such as `{ org: 'acme' }`. New runs of the caller get these values.
   * Requests with other values, or to routes that concern the whole service, are refused. Default: no tenant.
   */
  tenant?: Tenant | undefined
}

/**
 * Returns the `context` of a run, which tools, approvals and instructions receive. `request` starts or resumes the run. It is undefined if
 * the run resumes automatically.
 */
export type ContextOf = (request: Request | undefined, caller: Caller) => Promise<unknown>

/** Identifies the sender of a request. Returns undefined or null if the sender is unknown. */
export type Authenticate = (request: Request) => Caller | undefined | null | Promise<Caller | undefined | null>

/** Returns the form in which a token is stored: `sha256:` and 64 hexadecimal digits. */
export function hashToken(token: string): string {
  return `sha256:${digest(token).toString('hex')}`
}

/** Returns a token that can't be guessed: 256 random bits. */
export function newToken(): string {
  return `tl_${randomBytes(32).toString('base64url')}`
}

const unguessable = 'at least 16 characters without a pattern'

/** Whether a token is short or has a pattern, such as few different characters, `0123…` or a repeated sequence. */
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

  /** `always` contains tokens that are valid with any configuration. Throws `invalid_option` for a token that can be guessed. */
  constructor(always: readonly { caller: Caller; token: string }[]) {
    for (const { token } of always) {
      if (canBeGuessed(token)) throw new InvalidOptionError('token', unguessable, `${token.length} characters that can be guessed`)
    }
    this.#always = always.map(({ caller, token }) => ({ caller, hash: digest(token) }))
  }

  /** Finds tokens that can be guessed, and tenants with the role `metrics`. */
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

  /** Replaces the accepted tokens. Ignores entries whose environment variable is not set. Throws `invalid_option` for an invalid hash. */
  accept(entries: readonly TokenEntry[], env: Readonly<Record<string, string | undefined>>): void {
    this.#known = entries.flatMap((entry) => {
      const hash = 'hash' in entry ? readHash(entry.hash) : env[entry.env] ? digest(String(env[entry.env])) : undefined
      const { name, roles, tenant } = entry
      return hash === undefined ? [] : [{ caller: { name, roles, tenant }, hash }]
    })
  }

  /**
   * Returns the caller of a request. `address` is the client's address, if known. Throws an `HttpProblem`: 401 if the token is missing or
   * unknown, or 429 after too many wrong tokens. A request with a valid token is always accepted, even while other clients guess tokens.
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

  /**
   * Finds the caller of a token. Compares the token with every known token, so that the response time reveals nothing about the known
   * tokens.
   */
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
 * Throws an `HttpProblem` 403 unless the caller has the role. An admin has all roles. Also throws if the caller has a tenant, but the route
 * does not serve tenants (`forTenants`).
 */
export function checkRole({ roles, tenant }: Caller, role: Role, forTenants: boolean): void {
  if (!roles.includes(role) && !roles.includes('admin'))
    throw new HttpProblem(403, 'forbidden', `This needs a token with the role \`${role}\``)
  if (tenant !== undefined && !forTenants)
    throw new HttpProblem(403, 'forbidden', 'This concerns the whole service: it needs a token without a `tenant`')
}
