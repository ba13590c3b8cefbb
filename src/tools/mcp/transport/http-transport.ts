import { AsyncLocalStorage } from 'node:async_hooks'
import type { AuthProvider, Transport } from '@modelcontextprotocol/client'
import { ValueCount } from '../../../core/json/value-count.ts'
import { nextTurn } from '../../../core/time/give-way.ts'
import type { SignIn } from '../auth/sign-in.ts'
import type { McpClientSdk } from '../sdk/load-sdk.ts'
import type { McpUrl } from '../server-config.ts'

/** One call on its way, as far as its HTTP request is concerned. */
interface CallStream {
  /** Whose it is. */
  owner: unknown
  /** Aborted when the call is over, however: its response is not read any further. */
  signal: AbortSignal
  /** The server has ended the response. Unless the answer was in it, it will never come. */
  onEnd(): void
}

const currentCall = new AsyncLocalStorage<CallStream>()

/** How often a broken stream of notifications is opened again before the connection counts as lost. */
const mostReopenings = 3

interface MessageBounds {
  maxBytes: number
  maxValues: number
}

export interface HttpTransportOptions {
  /** How much one message may be. */
  messageBounds: MessageBounds
  /** Gets tokens, if the server is to be signed in to. */
  signIn?: SignIn | undefined
  /** The stream of the server's own messages broke, and could not be opened again. */
  onLost(problem: string): void
}

/** A connection over streamable HTTP (https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http). */
export function httpTransport(
  sdk: McpClientSdk,
  server: McpUrl,
  { messageBounds, signIn, onLost }: HttpTransportOptions,
): Transport & HttpSession {
  /** As the SDK has it, but the request of a call ends with the call: else its response would stay open until the server ends it. */
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
      // What it gives rise to (a list that is asked for again, a new connection) goes on when it is over.
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

/** The requests that calls are made of. */
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

/** How often a request is made again with a token that may do more: a server may want more each time. */
const mostWidenings = 2

function authProvider(signIn: SignIn, sentTokens: WeakMap<Response, string>): AuthProvider {
  return {
    token: () => signIn.token(),
    onUnauthorized: ({ response }) => signIn.unauthorized(response, sentTokens.get(response)),
  }
}

interface HttpSession {
  /** Tells the server that its session may be forgotten. */
  terminateSession(): Promise<void>
}

/** To whose call the message belongs that is just being read; undefined if nothing says that. */
export function callOfStream(): unknown {
  return currentCall.getStore()?.owner
}

/**
 * Makes a call whose HTTP request, if it is one of its own, ends with it. Rejects with `ended()` when the server ended the response without an
 * answer in it.
 */
export async function withCallStream<T>(ended: () => Error, owner: unknown, call: () => Promise<T>): Promise<T> {
  const over = new AbortController()
  const broken = Promise.withResolvers<never>()
  // An answer at the very end of the stream is still on its way through the promises of the SDK.
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

/** Of what a server says to a status that is none of success: it is read to its end before anything is said of it. */
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
 * Lets bytes through until there are too many of them, or of values: in all, or of events in one. Of very many events it lets some through in each
 * turn of the event loop: all that are there at once are read in one. A line of an event goes through as a whole: its reader looks through all of
 * it again with each piece.
 *
 * A stream that is resumed begins with the id of the last event, without data: the SDK forgets it with each new stream, and if this one breaks
 * before its first event, it would have no place to resume at.
 */
function bounded({ maxBytes, maxValues }: MessageBounds, isEvents: boolean, resumedAt: string | undefined): ByteStream {
  let bytes = 0
  let values = new ValueCount()
  /** The end of the piece before: an empty line may lie between two. */
  let before = Buffer.alloc(0)
  let line: Uint8Array<ArrayBuffer>[] = []
  let isFirst = true
  return new TransformStream({
    start(controller) {
      if (isEvents && resumedAt !== undefined) controller.enqueue(Buffer.from(`id: ${resumedAt}\ndata:\n\n`))
    },
    async transform(chunk, controller) {
      // Nothing is asked for in lists, and one may have very many answers.
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
        if (piece.length < chunk.length) await nextTurn()
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

/** Where the last empty line is. */
function lastEventEnd(bytes: Buffer): number {
  return Math.max(bytes.lastIndexOf('\n\n'), bytes.lastIndexOf('\r\n\r\n'), bytes.lastIndexOf('\r\r'))
}
