import { isIP } from 'node:net'
import { ToolloopError } from '../../../core/errors.ts'
import { redactText } from '../../../core/redaction/redact.ts'
import { requestOnce } from '../../builtin/web/http-get.ts'
import { AddressRule, isPublicAddress } from '../../builtin/web/public-address.ts'

/** Maximum size of a response, in bytes. */
const maxBytes = 256 * 1024
/** Time limit of one request, in milliseconds. Short, because other processes wait while a token is renewed. */
const timeoutMs = 20_000

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

/**
 * Creates the `fetch` for metadata and tokens, whose addresses a server chooses. Refuses addresses in private networks with `tool_denied`,
 * does not send secrets unencrypted, and does not follow redirects.
 */
export function guardedFetch(server: URL, allowPrivateAddresses: boolean | readonly string[] | undefined, signal: AbortSignal): Fetch {
  const isNear = isPrivateHost(server)
  const rule = new AddressRule(allowPrivateAddresses ?? isNear)
  return async (address, init = {}) => {
    const url = new URL(address)
    if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isNear && isPrivateHost(url))) {
      throw new ToolloopError(
        'tool_denied',
        `Expected the server to name an https address to sign in at, got one at ${url.protocol}//${url.host}`,
      )
    }
    const { method = 'GET', headers, body } = init
    const answer = await requestOnce({
      url: url.href,
      method,
      headers: { accept: 'application/json', ...Object.fromEntries(new Headers(headers)) },
      ...(body === undefined || body === null ? {} : { body: String(body) }),
      maxBytes,
      wants: () => true,
      rule,
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs), ...(init.signal ? [init.signal] : [])]),
    })
    const { status, contentType, body: bytes = Buffer.alloc(0) } = answer
    const hasBody = ![204, 205, 304].includes(status)
    // The text of an error response may quote the request, including its secrets.
    const shown = status < 400 ? bytes.toString() : redactText(bytes.toString(), secretsIn(init))
    return new Response(hasBody ? shown : null, { status, headers: { 'content-type': contentType } })
  }
}

/** Returns the tokens, codes and passwords in a request: all values of its form body, and its `Authorization` header. */
function secretsIn({ headers, body }: RequestInit): string[] {
  const form = body === undefined || body === null ? [] : [...new URLSearchParams(String(body)).values()]
  const [, access = ''] = new Headers(headers).get('authorization')?.split(' ') ?? []
  return [...form, access].filter((text) => text.length >= 8)
}

function isPrivateHost({ hostname }: URL): boolean {
  const host = hostname.replace(/^\[|\]$/g, '')
  return host === 'localhost' || host.endsWith('.localhost') || (isIP(host) !== 0 && !isPublicAddress(host))
}
