import { clip, messageOf, ToolloopError } from '../../../core/errors.ts'
import { redactText, secretTexts } from '../../../core/redaction/redact.ts'
import { withoutPage } from '../../../core/text/html-page.ts'
import { describeNetworkError } from '../../describe-network-error.ts'
import type { SignIn } from '../auth/sign-in.ts'
import type { McpClientSdk } from '../sdk/load-sdk.ts'
import type { McpServer } from '../server-config.ts'

/** Creates the error messages about a server, without its secrets. */
export class ServerWords {
  readonly #sdk: McpClientSdk
  readonly #name: string
  readonly #signIn: SignIn | undefined
  readonly #secrets: readonly string[]

  constructor(sdk: McpClientSdk, name: string, server: McpServer, signIn: SignIn | undefined) {
    this.#sdk = sdk
    this.#name = name
    this.#signIn = signIn
    this.#secrets = secretsOf(server)
  }

  clean(text: string): string {
    return redactText(withoutPage(text), [...this.#secrets, ...(this.#signIn?.secrets ?? [])])
  }

  failed(what: string, cause?: unknown, code: 'tool_failed' | 'mcp_server_failed' = 'tool_failed'): ToolloopError {
    return new ToolloopError(code, `The MCP server \`${this.#name}\` ${what}`, cause === undefined ? {} : { cause })
  }

  /** Describes the HTML page in an error response. `''` if there is no page. Gateways and proxies send such pages. */
  pageOf(error: unknown): string {
    const text = error instanceof this.#sdk.SdkHttpError ? error.data.text : undefined
    if (typeof text !== 'string') return ''
    const told = withoutPage(text)
    return told === text ? '' : ` and ${this.clean(told.trim())}`
  }

  of(error: unknown): string {
    if (error instanceof this.#sdk.SdkHttpError && error.status === 401) {
      const why = this.#signIn === undefined ? 'it requires a sign-in: give it `auth`' : 'it does not accept the token it was given'
      const { text } = error.data
      return this.clean(typeof text === 'string' && text !== '' ? `${why} (it says: ${clip(withoutPage(text))})` : why)
    }
    const page = this.pageOf(error)
    if (error instanceof this.#sdk.SdkHttpError && page !== '') return `it answered with HTTP status ${error.status ?? 'unknown'}${page}`
    // An error of `fetch` says only that the request failed. The reason is in the error's cause.
    const cause = error instanceof TypeError && error.message === 'fetch failed' ? error.cause : undefined
    const isNetwork = cause instanceof Error && 'code' in cause
    return this.clean(isNetwork ? describeNetworkError(cause) : messageOf(cause ?? error))
  }
}

/** Returns the secrets in a server's configuration. */
function secretsOf(server: McpServer): string[] {
  if (!('url' in server)) return secretTexts(server.env ?? {}, new Set())
  const headers = typeof server.headers === 'object' ? Object.values(server.headers) : []
  const { username, password, searchParams, pathname } = new URL(server.url)
  // The path's longer segments are included, because some services expect a key in the path.
  const keys = pathname.split('/').filter((segment) => segment.length >= 16)
  // In `Bearer x`, `x` alone is also a secret.
  const texts = [...headers.flatMap((value) => [value, ...value.split(' ')]), username, password, ...searchParams.values(), ...keys]
  return texts.filter((text) => text.length >= 8)
}
