import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { InvalidOptionError } from '../../errors.ts'
import { HttpProblem } from './problem.ts'

/** `run`: the API under `/v1`. `admin`: that of everybody's runs, and the configuration. */
export type Role = 'run' | 'admin'

/** A token that is accepted: the token itself is in no file, only its SHA-256, or the name of the variable that holds it. */
export type TokenEntry = { name: string; roles: readonly Role[] } & ({ hash: string } | { env: string })

/** Who sent a request. Runs belong to the caller of that name. */
export interface Caller {
  name: string
  roles: readonly Role[]
}

/** `sha256:` and 64 hexadecimal digits: how a token is written down. */
export function hashToken(token: string): string {
  return `sha256:${digest(token).toString('hex')}`
}

/** A token nobody can guess: 256 random bits. */
export function newToken(): string {
  return `tl_${randomBytes(32).toString('base64url')}`
}

/** Finds out who sent a request, by its bearer token. */
export class TokenAuth {
  readonly #always: readonly { caller: Caller; hash: Buffer }[]
  #known: readonly { caller: Caller; hash: Buffer }[] = []

  /** `always`: tokens that hold whatever the configuration says. */
  constructor(always: readonly { caller: Caller; token: string }[]) {
    this.#always = always.map(({ caller, token }) => ({ caller, hash: digest(token) }))
  }

  /** Accepts these from now on, and no longer the ones before. An entry whose variable is not set is accepted by nothing. Throws `invalid_option`. */
  accept(entries: readonly TokenEntry[], env: Readonly<Record<string, string | undefined>>): void {
    this.#known = entries.flatMap((entry) => {
      const hash = 'hash' in entry ? readHash(entry.hash) : env[entry.env] ? digest(String(env[entry.env])) : undefined
      return hash === undefined ? [] : [{ caller: { name: entry.name, roles: entry.roles }, hash }]
    })
  }

  /** Throws an `HttpProblem` 401. */
  authenticate(request: Request): Caller {
    const header = request.headers.get('authorization') ?? ''
    const token = /^bearer +(\S+) *$/i.exec(header)?.[1]
    const caller = token === undefined ? undefined : this.#find(digest(token))
    if (caller !== undefined) return caller
    throw new HttpProblem(401, 'unauthorized', token === undefined ? 'Expected `authorization: Bearer TOKEN`' : 'The token is not known', {
      headers: { 'www-authenticate': 'Bearer' },
    })
  }

  /** Compares with every token, whichever it is, so that the time it takes tells nothing. */
  #find(presented: Buffer): Caller | undefined {
    let found: Caller | undefined
    for (const { caller, hash } of [...this.#always, ...this.#known]) if (timingSafeEqual(hash, presented)) found ??= caller
    return found
  }
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

function readHash(text: string): Buffer {
  const hex = /^sha256:([0-9a-f]{64})$/i.exec(text)?.[1]
  if (hex === undefined) throw new InvalidOptionError('hash', '`sha256:` and 64 hexadecimal digits', `${text.slice(0, 7)}…`)
  return Buffer.from(hex, 'hex')
}

/** Throws an `HttpProblem` 403 unless the caller has the role; an admin has both. */
export function checkRole(caller: Caller, role: Role): void {
  if (!caller.roles.includes(role) && !caller.roles.includes('admin'))
    throw new HttpProblem(403, 'forbidden', `This needs a token with the role \`${role}\``)
}
