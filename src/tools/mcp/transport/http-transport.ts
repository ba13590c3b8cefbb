import { AsyncLocalStorage } from 'node:async_hooks'
import type { AuthProvider, Transport } from '@modelcontextprotocol/client'
import { ValueCount } from '../../../core/json.ts'
import { yieldNow } from '../../../core/time/give-way.ts'
import type { SignIn } from '../auth/sign-in.ts'
import type { McpClientSdk } from '../sdk/load-sdk.ts'
import type { McpUrl } from '../server-config.ts'

/** The state of a call's HTTP request. */
interface CallStream {
  owner: unknown
  /** Aborted when the call has ended, to stop reading its response. */
  signal: AbortSignal
  /** Called when the server has ended the HTTP response. */
  onEnd(): void
}

const currentCall = new AsyncLocalStorage<CallStream>()

/** Maximum number of times that a broken stream of notifications is reopened. After that, the connection counts as lost. */
const mostReopenings = 3

interface MessageBounds {
  maxBytes: number
  maxValues: number
}

export interface HttpTransportOptions {
  /** Limits for one message. */
  messageBounds: MessageBounds
  /** Gets tokens, if the server requires a sign-in. */
  signIn?: SignIn | undefined
  /** Called if the stream of server messages broke and could not be reopened. */
  onLost(problem: string): void
}

/**
 * Creates a connection over streamable HTTP (https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http).
 */
export function httpTransport(
  sdk: McpClientSdk,
  server: McpUrl,
  { messageBounds, signIn, onLost }: HttpTransportOptions,
): Transport & HttpSession {
  /** Ends the HTTP request of a call when the call ends. The SDK would keep it open until the server ends it. */
  class CallTransport extends sdk.StreamableHTTPClientTransport {
    override async send(...args: SendArguments): Promise<void> {
      for (let widened = 0; ; widened++) {
        const sent = await signIn?.token()
        try {
          return await this.#sendOnce(...args)
        } catch (error) {
          if (signIn === undefined || widened === mostWidenings || !(error instanceof sdk.InsufficientScopeError)) throw error
          await signIn.stepUp(error, sent)
        }
      }
    }

    #sendOnce(...[message, options]: SendArguments): Promise<void> {
      const call = currentCall.getStore()
      const isCall = !Array.isArray(message) && 'method' in message && callMethods.has(message.method)
      if (call === undefined || !isCall) return super.send(message, options)
      return super.send(message, {
        ...options,
        requestSignal: options?.requestSignal === undefined ? call.signal : AbortSignal.any([options.requestSignal, call.signal]),
        onRequestStreamEnd: () => {
          options?.onRequestStreamEnd?.()
          call.onEnd()
        },
      })
    }
  }
  const sentTokens = new WeakMap<Response, string>()
  return new CallTransport(new URL(server.url), {
    fetch: boundedFetch(server, messageBounds, sentTokens),
    onInsufficientScope: 'throw',
    authProvider: signIn && authProvider(signIn, sentTokens),
    reconnectionScheduler: (reopen, delay, attempt) => {
      if (attempt >= mostReopenings) {
        onLost('its event stream broke')
        return
      }
      const timer = setTimeout(reopen, delay)
      return () => clearTimeout(timer)
    },
  })
}

/** Requests that are aborted when their call has settled. Other requests may outlive the call. */
const callMethods: ReadonlySet<string> = new Set([
  'tasks/get',
  'tasks/result',
  'tasks/update',

  'tools/call',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
])

type SendArguments = Parameters<InstanceType<McpClientSdk['StreamableHTTPClientTransport']>['send']>

/** Maximum number of retries with a token for more scopes. */
const mostWidenings = 2

function authProvider(signIn: SignIn, sentTokens: WeakMap<Response, string>): AuthProvider {
  return {
    token: () => signIn.token(),
    onUnauthorized: ({ response }) => signIn.unauthorized(response, sentTokens.get(response)),
  }
}

interface HttpSession {
  /** Ends the server's session. */
  terminateSession(): Promise<void>
}

/** Returns the owner of the call in which this code runs. Undefined outside a call. */
export function callOfStream(): unknown {
  return currentCall.getStore()?.owner
}

/**
 * Runs a call, and aborts its HTTP request when the call has settled. Rejects with `ended()` if the HTTP response ends without an answer.
 */
export async function withCallStream<T>(ended: () => Error, owner: unknown, call: () => Promise<T>): Promise<T> {
  const over = new AbortController()
  const broken = Promise.withResolvers<never>()
  // The answer may still be on its way through the SDK when the stream ends.
  const onEnd = () => void setImmediate(() => broken.reject(ended()))
  broken.promise.catch(() => {})
  try {
    return await Promise.race([currentCall.run({ owner, signal: over.signal, onEnd }, call), broken.promise])
  } finally {
    over.abort()
  }
}

function boundedFetch({ headers, fetch: own = fetch }: McpUrl, bounds: MessageBounds, sentTokens: WeakMap<Response, string>): typeof own {
  return async (url, init) => {
    const sent = new Headers(init?.headers)
    const given = typeof headers === 'function' ? await headers() : (headers ?? {})
    for (const [name, value] of Object.entries(given)) sent.set(name, value)
    const token = sent.get('authorization')?.replace(/^Bearer /, '')
    const answer = (response: Response) => {
      if (token !== undefined) sentTokens.set(response, token)
      return response
    }
    const response = await own(url, { ...init, headers: sent })
    if (response.body === null) return answer(response)
    const isEvents = /^\s*text\/event-stream/i.test(response.headers.get('content-type') ?? '')
    const bound = response.ok ? bounded(bounds, isEvents, sent.get('last-event-id') ?? undefined) : cutAt(mostProblemBytes)
    const { status, statusText } = response
    return answer(new Response(response.body.pipeThrough(bound), { status, statusText, headers: response.headers }))
  }
}

/** Maximum number of bytes to read of an error response. */
const mostProblemBytes = 64 * 1024

type ByteStream = TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>

function cutAt(maxBytes: number): ByteStream {
  let left = maxBytes
  return new TransformStream({
    transform(chunk, controller) {
      controller.enqueue(chunk.subarray(0, left))
      left -= chunk.length
      if (left <= 0) controller.terminate()
    },
  })
}

/**
 * Fails if a message has too many bytes or values. Passes on only whole lines, because the SDK scans an incomplete line again for each
 * chunk. Passes on a limited number of lines at a time, because the SDK handles all available events at once.
 *
 * Starts a resumed stream with an empty event that repeats the last event id. The SDK would otherwise forget the id if the stream broke
 * again.
 */
function bounded({ maxBytes, maxValues }: MessageBounds, isEvents: boolean, resumedAt: string | undefined): ByteStream {
  let bytes = 0
  let values = new ValueCount()
  /** The end of the previous chunk, because an empty line may be split between chunks. */
  let before = Buffer.alloc(0)
  let line: Uint8Array<ArrayBuffer>[] = []
  let isFirst = true
  return new TransformStream({
    start(controller) {
      if (isEvents && resumedAt !== undefined) controller.enqueue(Buffer.from(`id: ${resumedAt}\ndata:\n\n`))
    },
    async transform(chunk, controller) {
      // The client never sends a batch, and a batch of answers may be very long.
      if (isFirst && !isEvents && chunk[0] === bracket) return controller.error(new Error('the server sent a list of messages'))
      isFirst = false
      for (const piece of isEvents ? piecesOf(chunk) : [chunk]) {
        const seen = isEvents ? Buffer.concat([before, piece]) : before
        const end = isEvents ? lastEventEnd(seen) : -1
        bytes = end === -1 ? bytes + piece.length : seen.length - end
        before = seen.subarray(-longestLineEnd)
        if (bytes > maxBytes) return controller.error(tooMuch(`${maxBytes} bytes`))
        if (end !== -1) values = new ValueCount()
        if (values.add(piece) > maxValues) return controller.error(tooMuch(`${maxValues} values`))
        line.push(piece)
        if (isEvents && !piece.includes(lineFeed) && !piece.includes(carriageReturn)) continue
        controller.enqueue(line.length === 1 ? piece : Buffer.concat(line))
        line = []
        if (piece.length < chunk.length) await yieldNow()
      }
    },
    flush(controller) {
      if (line.length > 0) controller.enqueue(Buffer.concat(line))
    },
  })
}

function tooMuch(bound: string): Error {
  return new Error(`the server sent a message of more than ${bound}`)
}

const linesInPiece = 100

function* piecesOf(chunk: Uint8Array<ArrayBuffer>): Iterable<Uint8Array<ArrayBuffer>> {
  let [start, lines] = [0, 0]
  for (let at = 0; at < chunk.length; at++) {
    if (chunk[at] !== lineFeed && chunk[at] !== carriageReturn) continue
    if (++lines < linesInPiece) continue
    yield chunk.subarray(start, at + 1)
    start = at + 1
    lines = 0
  }
  if (start < chunk.length) yield chunk.subarray(start)
}

const lineFeed = 0x0a
const carriageReturn = 0x0d
const bracket = 0x5b

const longestLineEnd = 3

function lastEventEnd(bytes: Buffer): number {
  return Math.max(bytes.lastIndexOf('\n\n'), bytes.lastIndexOf('\r\n\r\n'), bytes.lastIndexOf('\r\r'))
}
