import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { InvalidOptionError, ToolloopError } from '../../../core/errors.ts'
import { defaultRedirectUrl, type McpAuth, type McpAuthorization } from '../auth-options.ts'

/** Options of `openLoopbackSignIn`. */
export interface LoopbackSignInOptions {
  /**
   * Shows the address to the user, or opens the user's browser there.
   *
   * Contract: awaited until the browser returns. If the function rejects, the sign-in fails.
   */
  show: (authorization: McpAuthorization) => void | Promise<void>
  /**
   * The address on this machine to which the browser returns. If the address has no port, or port 0, any free port is used. Default
   * `http://127.0.0.1/callback`.
   */
  redirectUrl?: string | URL
  /** How long the user has to sign in, in milliseconds. Default 300,000. */
  timeoutMs?: number
}

/** A sign-in through a browser on this machine, for the `auth` of a server. */
export interface LoopbackSignIn extends Required<Pick<McpAuth, 'redirectUrl' | 'authorize'>>, AsyncDisposable {}

/**
 * Waits on 127.0.0.1 for the browser to return (https://www.rfc-editor.org/rfc/rfc8252#section-7.3). Refuses requests from other pages,
 * which don't know the `state` of the sign-in. Rejects with `invalid_option` if the address is not on this machine.
 */
export async function openLoopbackSignIn({ show, redirectUrl, timeoutMs = 300_000 }: LoopbackSignInOptions): Promise<LoopbackSignIn> {
  const wanted = new URL(redirectUrl ?? defaultRedirectUrl)
  const isHere = wanted.protocol === 'http:' && ['127.0.0.1', 'localhost'].includes(wanted.hostname)
  if (!isHere) throw new InvalidOptionError('redirectUrl', 'an http address at 127.0.0.1 or localhost', wanted.origin)
  /** Sign-ins in progress, by the `state` that the browser sends back. */
  const waiting = new Map<string, (back: URL) => void>()
  const own = new URL(wanted)
  const server = createServer((request, response) => {
    const back = URL.parse(`${own.origin}${request.url ?? '/'}`)
    const state = back?.searchParams.get('state') ?? ''
    const found = back?.pathname === own.pathname && request.method === 'GET' ? waiting.get(state) : undefined
    if (back === null || found === undefined) return say(response, 404, 'Nobody waits for this page.')
    waiting.delete(state)
    const text = back.searchParams.has('code')
      ? 'You are signed in. You can close this page.'
      : 'The sign-in was refused. You can close this page.'
    say(response, 200, text)
    found(back)
  })
  server.listen(Number(wanted.port || 0), '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  own.port = typeof address === 'object' && address !== null ? String(address.port) : ''
  const authorize = async (authorization: McpAuthorization) => {
    const { url, signal } = authorization
    const state = url.searchParams.get('state') ?? ''
    const came = Promise.withResolvers<URL>()
    const late = () => came.reject(new ToolloopError('mcp_sign_in_needed', `Nobody signed in within ${timeoutMs} ms.`))
    const timer = setTimeout(late, timeoutMs)
    const abort = () => came.reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    waiting.set(state, came.resolve)
    try {
      // The user may sign in before `show` settles, and `show` may never settle.
      await Promise.race([show(authorization), came.promise])
      return await came.promise
    } finally {
      clearTimeout(timer)
      waiting.delete(state)
      signal.removeEventListener('abort', abort)
    }
  }
  const close = async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }
  return { redirectUrl: own.href, authorize, [Symbol.asyncDispose]: close }
}

function say(response: ServerResponse, status: number, text: string): void {
  // The address of this page contains the authorization code, so the page must not leak its address.
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    connection: 'close',
  })
  response.end(`<!doctype html><meta charset="utf-8"><title>toolloop</title><p>${text}</p>`)
}
