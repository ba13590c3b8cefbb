import { ToolloopError } from '../../core/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/messages.ts'
import { type OpenApiDocument, problem } from './document.ts'
import { encode } from './serialize.ts'

/** The credentials of one request. */
export interface Credentials {
  headers: Record<string, string>
  /** Encoded `name=value` pairs. */
  query: string[]
  cookies: string[]
  /** Texts that responses and errors must not contain. */
  secrets: string[]
}

type Environment = Readonly<Record<string, string | undefined>>

interface Scheme {
  variable: string
  apply(secret: string, to: Credentials): void
}

/**
 * The security schemes for which `auth` names an environment variable. Throws `invalid_option` if the document has no such scheme, or if
 * the scheme's type is not supported.
 */
export class Security {
  readonly #schemes = new Map<string, Scheme>()
  readonly #env: Environment

  constructor(document: OpenApiDocument, auth: Readonly<Record<string, string>>, env: Environment) {
    this.#env = env
    const { components } = document.root
    const schemes = isJsonObject(components) && isJsonObject(components.securitySchemes) ? components.securitySchemes : {}
    for (const [name, variable] of Object.entries(auth)) {
      const given = Object.hasOwn(schemes, name) ? document.resolve(schemes[name]) : undefined
      if (!isJsonObject(given)) {
        const names = Object.keys(schemes).map((known) => `\`${known}\``)
        throw problem(`Expected \`auth\` to name security schemes of the document (${names.join(', ') || 'it has none'}), got \`${name}\``)
      }
      this.#schemes.set(name, { variable, apply: applying(name, given) })
    }
  }

  /** Whether `auth` names all schemes of at least one alternative, or no authentication is needed. */
  covers(alternatives: readonly string[][]): boolean {
    return alternatives.length === 0 || alternatives.some((names) => names.every((name) => this.#schemes.has(name)))
  }

  /**
   * Returns the credentials for the first alternative whose schemes `auth` names. Throws `tool_failed` if an environment variable is
   * missing or empty.
   */
  forRequest(alternatives: readonly string[][]): Credentials {
    const credentials: Credentials = { headers: {}, query: [], cookies: [], secrets: [] }
    // Credentials are sent even if they are optional.
    const able = alternatives.filter((names) => names.every((name) => this.#schemes.has(name)))
    const chosen = able.find((names) => names.length > 0) ?? []
    for (const name of chosen) {
      const scheme = this.#schemes.get(name)
      if (scheme === undefined) continue
      const secret = this.#env[scheme.variable]
      if (secret === undefined || secret === '') {
        throw new ToolloopError(
          'tool_failed',
          `The credentials for this service are not set up: the environment variable ${scheme.variable} is empty.`,
        )
      }
      credentials.secrets.push(secret)
      scheme.apply(secret, credentials)
    }
    return credentials
  }
}

function applying(name: string, scheme: JsonObject): Scheme['apply'] {
  const { type, in: place, name: key, scheme: http } = scheme
  const authorization = (make: (secret: string) => string): Scheme['apply'] => {
    return (secret, { headers, secrets }) => {
      headers.authorization = make(secret)
      secrets.push(headers.authorization.slice(headers.authorization.indexOf(' ') + 1))
    }
  }
  if (type === 'apiKey' && typeof key === 'string') {
    if (place === 'header') return (secret, { headers }) => void Object.assign(headers, { [key.toLowerCase()]: secret })
    if (place === 'query') return (secret, { query }) => void query.push(`${encode(key)}=${encode(secret)}`)
    if (place === 'cookie') return (secret, { cookies }) => void cookies.push(`${key}=${encode(secret)}`)
  }
  if (type === 'http' && /^basic$/i.test(String(http))) {
    return authorization((secret) => `Basic ${Buffer.from(secret).toString('base64')}`)
  }
  // The application itself obtains OAuth and OpenID Connect tokens. They are sent as bearer tokens.
  if ((type === 'http' && /^bearer$/i.test(String(http))) || type === 'oauth2' || type === 'openIdConnect') {
    return authorization((secret) => `Bearer ${secret}`)
  }
  throw problem(
    `Expected the security scheme \`${name}\` to be an API key, http basic or bearer, OAuth 2 or OpenID Connect, got \`${type} ${http ?? place ?? ''}\``,
  )
}
