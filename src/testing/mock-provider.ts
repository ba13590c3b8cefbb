import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { InvalidOptionError } from '../core/errors.ts'
import { isJsonObject, type JsonObject } from '../core/messages.ts'
import { checkOptionNames, type OptionNames } from '../core/option-names.ts'
import { type MockScriptRequest, ScriptedAnswers } from './mock/answers.ts'
import type { MockFaults } from './mock/fault.ts'
import { type MockRequest, Watch } from './mock/recorder.ts'
import { type MockReply, prepareError } from './mock/reply.ts'
import { breakOff, type Exchange, transmit } from './mock/transfer.ts'
import { chooseWire } from './mock/wires.ts'
import type { Script } from './script.ts'
import { settlesBeforeAbort, untilSocketsAreRead } from './wait.ts'

/** What a mock provider answers, and how it fails. */
export interface MockProviderOptions {
  /** Replies, one for each request in the order they arrive; or one function that answers them all. May be asynchronous. */
  script?: Script<MockScriptRequest, MockReply>
  /** Instead of `script`: recorded responses, one for each request; each the payloads of a stream, as an array or as a `.jsonl` text. */
  recordings?: readonly (string | readonly string[])[]
  /** What goes wrong, with all requests or with some. A fault that answers in the script's place leaves the turn for the next request. */
  faults?: MockFaults
  /** Ids listed by `GET /v1/models`, and by Ollama's `GET /api/tags`. Any model may be asked for. Default `['mock-model']`. */
  models?: readonly string[]
  /**
   * Says what the provider refuses about a request, which is then answered with status 400 and these words as its error; undefined: nothing.
   * Asked before any fault and the script, which keeps its turn. Default: every request is answered whose body is a JSON object.
   */
  refuse?: (request: MockScriptRequest) => string | undefined
  /** Length of the streamed pieces of texts and arguments, in UTF-16 units. Default 4. */
  pieceLength?: number
  /** Default `'127.0.0.1'`. */
  host?: string
  /** Default 0: one that is free. */
  port?: number
}

const optionNames: OptionNames<MockProviderOptions> = {
  script: true,
  recordings: true,
  faults: true,
  models: true,
  refuse: true,
  pieceLength: true,
  host: true,
  port: true,
}

/** A provider to test against: a real HTTP server in this process. */
export interface MockProvider extends AsyncDisposable {
  /** Such as `http://127.0.0.1:40123`, without a path. */
  readonly url: string
  /** The base URL for the `openai` SDK and everything compatible with it: `url` + `/v1`. Anthropic's and Google's SDKs take `url` itself. */
  readonly baseURL: string
  /** Every request so far, in the order they arrived whole. Those for a list of models are among them. */
  readonly requests: readonly MockRequest[]
  /** Connections that are open now, idle ones included. */
  readonly openConnections: number
  /** Resolves with the `n`th request, counted from 1 (the default), as soon as it has arrived. Rejects when aborted or closed. */
  waitForRequest(n?: number, options?: { signal?: AbortSignal }): Promise<MockRequest>
  /** The same for its end: answered whole, broken off, or given up by the client. */
  waitForEnd(n?: number, options?: { signal?: AbortSignal }): Promise<MockRequest>
  /** Resolves when at most `n` connections are open. */
  waitForConnections(n: number, options?: { signal?: AbortSignal }): Promise<void>
  /** Ends every exchange, connection and timer. May be called again. */
  close(): Promise<void>
}

/**
 * Starts a provider to test against: a real HTTP server on the loopback interface that answers from a script, in the wire format each
 * request comes in, and that can misbehave as real providers do. It speaks OpenAI's Chat Completions (`POST …/chat/completions` under any
 * prefix, and `GET …/models`) and Responses (`POST …/responses`), Anthropic's Messages (`POST …/messages`) and Gemini's generateContent
 * (`POST …/models/NAME:generateContent` and `:streamGenerateContent`, also under a project of Vertex AI), streaming or not.
 *
 * ```ts
 * await using provider = await startMockProvider({
 *   script: [{ toolCalls: [{ name: 'add', arguments: { a: 2, b: 3 } }] }, 'The result is 5.'],
 *   faults: [{ status: 429, headers: { 'retry-after': '0' } }],
 * })
 * const model = createModel({ provider: 'custom', model: 'any', apiKey: 'none', baseURL: provider.baseURL })
 * ```
 */
export async function startMockProvider(options: MockProviderOptions = {}): Promise<MockProvider> {
  checkOptionNames(options, optionNames, '`startMockProvider`')
  const provider = new LoopbackProvider(options)
  await provider.listen(options.host ?? '127.0.0.1', options.port ?? 0)
  return provider
}

class LoopbackProvider implements MockProvider {
  readonly requests: MockRequest[] = []
  readonly #answers: ScriptedAnswers
  readonly #watch = new Watch()
  /** Open connections, each with the number of its requests that are still being answered. */
  readonly #sockets = new Map<Socket, number>()
  readonly #server: Server
  #url = ''
  #isClosing = false
  #closed: Promise<void> | undefined

  constructor({ script, recordings, faults, models = ['mock-model'], refuse, pieceLength = 4 }: MockProviderOptions) {
    if (script !== undefined && recordings !== undefined)
      throw new InvalidOptionError('recordings', 'absent when there is a `script`', recordings)
    const replies = script ?? recordings?.map((recording) => ({ recording })) ?? []
    this.#answers = new ScriptedAnswers({ script: replies, faults, models, refuse, pieceLength })
    this.#server = createServer({ keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 }, (req, res) => {
      void this.#serve(req, { res, signal: this.#signalOf(req, res), brokenOff: false })
    })
    this.#server.on('connection', (socket) => this.#follow(socket))
  }

  get url(): string {
    return this.#url
  }

  get baseURL(): string {
    return `${this.#url}/v1`
  }

  get openConnections(): number {
    return this.#sockets.size
  }

  async listen(host: string, port: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      // The default backlog is too short for a thousand connections at once: some would wait a second to be tried again.
      this.#server.listen({ host, port, backlog: 4096 }, resolve)
    })
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error(`Expected a TCP address to listen on, got ${String(address)}`)
    this.#url = `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`
  }

  waitForRequest(n = 1, { signal }: { signal?: AbortSignal } = {}): Promise<MockRequest> {
    return this.#watch.until(() => this.requests[n - 1], `request ${n}, of which ${this.requests.length} had come`, signal)
  }

  waitForEnd(n = 1, { signal }: { signal?: AbortSignal } = {}): Promise<MockRequest> {
    const ended = (): MockRequest | undefined => (this.requests[n - 1]?.ended === true ? this.requests[n - 1] : undefined)
    return this.#watch.until(ended, `the end of request ${n}`, signal)
  }

  async waitForConnections(n: number, { signal }: { signal?: AbortSignal } = {}): Promise<void> {
    await this.#watch.until(() => (this.#sockets.size <= n ? true : undefined), `at most ${n} open connections`, signal)
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.#isClosing = true
    for (const [socket, exchanges] of this.#sockets) {
      // An idle connection that is closed in the usual way keeps its port for another minute. Where thousands of tests have each had a
      // server, there are soon so few free ports left that the system takes milliseconds to find one for the next.
      if (exchanges === 0) socket.resetAndDestroy()
      else socket.destroy()
    }
    this.#watch.close()
    // The next server may be given this port. A client that had not seen by then that its connection is closed would use it for that one.
    await untilSocketsAreRead()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #follow(socket: Socket): void {
    if (this.#isClosing) {
      socket.resetAndDestroy()
      return
    }
    this.#sockets.set(socket, 0)
    socket.setNoDelay(true)
    socket.once('close', () => {
      this.#sockets.delete(socket)
      this.#watch.changed()
    })
  }

  /** Aborted when the client goes away, the response is over, or the server closes, which all close the response. */
  #signalOf({ socket }: IncomingMessage, res: ServerResponse): AbortSignal {
    const gone = new AbortController()
    this.#count(socket, 1)
    res.once('close', () => {
      this.#count(socket, -1)
      // Nobody asks for the reason, and making the usual one costs more than the rest.
      gone.abort('the response is closed')
    })
    return gone.signal
  }

  #count(socket: Socket, more: number): void {
    const exchanges = this.#sockets.get(socket)
    if (exchanges !== undefined) this.#sockets.set(socket, exchanges + more)
  }

  /** Answers one request; never rejects. */
  async #serve(req: IncomingMessage, exchange: Exchange): Promise<void> {
    // A client may go away between any check and any write; that it did is recorded when the response closes.
    exchange.res.on('error', () => {})
    const rawBody = await readBody(req)
    if (rawBody === undefined) return
    const request = this.#record(req, exchange, rawBody)
    try {
      const answer = await this.#answers.prepare(request, exchange.signal)
      if (answer === undefined) return
      for (const promise of answer.response.before) if (!(await settlesBeforeAbort(promise, exchange.signal))) return
      await transmit(exchange, answer.response, answer.fault)
    } catch (error) {
      // The script, a gate or a fault has thrown. A client that is told so as a bad request fails with the reason and does not try again.
      if (exchange.res.headersSent) breakOff(exchange)
      else await transmit(exchange, prepareError(error, chooseWire(request.method, request.path).wire, 400), {})
    }
  }

  #record(req: IncomingMessage, exchange: Exchange, rawBody: string): MockRequest {
    const request: MockRequest = {
      method: req.method ?? 'GET',
      path: req.url ?? '/',
      headers: Object.fromEntries(Object.entries(req.headersDistinct).map(([name, values]) => [name, (values ?? []).join(', ')])),
      body: parseObject(rawBody),
      rawBody,
      receivedAt: performance.now(),
      ended: false,
      aborted: false,
    }
    this.requests.push(request)
    exchange.res.once('close', () => {
      request.ended = true
      request.aborted = !exchange.res.writableFinished && !exchange.brokenOff && !this.#isClosing
      this.#watch.changed()
    })
    this.#watch.changed()
    return request
  }
}

/** The body as text; undefined when the client went away before it was whole. */
async function readBody(req: IncomingMessage): Promise<string | undefined> {
  const chunks: Uint8Array[] = []
  try {
    for await (const chunk of req) chunks.push(chunk as Uint8Array)
  } catch {
    // There is nobody left to answer, and half a request is not one.
    return undefined
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parseObject(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : {}
  } catch {
    // Refused when it is answered, with the text that was sent.
    return {}
  }
}
