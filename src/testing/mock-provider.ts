import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { checkOptionNames, type OptionNames } from '../core/check-options.ts'
import { InvalidOptionError } from '../core/errors.ts'
import { isJsonObject, type JsonObject } from '../core/messages.ts'
import { type MockScriptRequest, ScriptedAnswers } from './mock/answers.ts'
import type { MockFaults } from './mock/fault.ts'
import { type MockRequest, Watch } from './mock/recorder.ts'
import { type MockReply, prepareError } from './mock/reply.ts'
import { breakOff, type Exchange, transmit } from './mock/transfer.ts'
import { chooseWire } from './mock/wires.ts'
import type { Script } from './script.ts'
import { settlesBeforeAbort, untilSocketsAreRead } from './wait.ts'

/** Options of `startMockProvider`. */
export interface MockProviderOptions {
  /**
   * The replies, one for each request in order of arrival, or one function that answers all requests.
   *
   * Contract of the function: awaited. If it throws or rejects, the answer has status 400 and the message of the error.
   */
  script?: Script<MockScriptRequest, MockReply>
  /**
   * Recorded responses to use instead of `script`, one for each request. Each recording consists of the payloads of a stream, as an array
   * or as the text of a `.jsonl` file.
   */
  recordings?: readonly (string | readonly string[])[]
  /**
   * Faults for all or some requests. If a fault replaces the script's answer, the script's turn is kept for the next request.
   *
   * Contract of a function: not awaited. Returning nothing means no fault. If it throws, the answer has status 400 and the message of the
   * error.
   */
  faults?: MockFaults
  /** Ids listed by `GET /v1/models`, and by Ollama's `GET /api/tags`. Requests may name any model. Default: `['mock-model']`. */
  models?: readonly string[]
  /**
   * Decides whether a request is refused.
   *
   * Contract: called before faults and script, synchronously. Return undefined to accept the request. Return an error message to refuse it
   * with status 400 and to keep the script's turn for the next request. Default: every request whose body is a JSON object is accepted.
   */
  refuse?: (request: MockScriptRequest) => string | undefined
  /** The length of the streamed pieces of texts and arguments, in UTF-16 units. Default: 4. */
  pieceLength?: number
  /** The address to listen on. Default: `'127.0.0.1'`. */
  host?: string
  /** The port. Default: 0, which selects a free port. */
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

/** A mock provider: a real HTTP server in this process. */
export interface MockProvider extends AsyncDisposable {
  /** The URL without a path, such as `http://127.0.0.1:40123`. */
  readonly url: string
  /** The base URL for the `openai` SDK and compatible clients: `url` + `/v1`. Anthropic's and Google's SDKs take `url`. */
  readonly baseURL: string
  /** All requests so far, in the order in which their bodies were completely received. Includes requests for a list of models. */
  readonly requests: readonly MockRequest[]
  /** The number of open connections, including idle ones. */
  readonly openConnections: number
  /**
   * Resolves with the request number `n` once it has arrived. Requests are counted from 1, which is the default. Rejects if `signal` is
   * aborted or the server closes.
   */
  waitForRequest(n?: number, options?: { signal?: AbortSignal }): Promise<MockRequest>
  /**
   * Resolves with the request number `n` once its exchange has ended: the response is complete, the connection was broken off, or the
   * client has disconnected.
   */
  waitForEnd(n?: number, options?: { signal?: AbortSignal }): Promise<MockRequest>
  /** Resolves when at most `n` connections are open. */
  waitForConnections(n: number, options?: { signal?: AbortSignal }): Promise<void>
  /** Ends all exchanges, connections and timers. Can be called more than once. */
  close(): Promise<void>
}

/**
 * Starts a mock provider: a real HTTP server on the loopback interface that answers from a script, in the wire format of each request, and
 * can misbehave as real providers do. It speaks OpenAI's Chat Completions (`POST …/chat/completions` under any prefix, and `GET …/models`)
 * and Responses (`POST …/responses`), Anthropic's Messages (`POST …/messages`) and Gemini's generateContent (`POST
 * …/models/NAME:generateContent` and `:streamGenerateContent`, also under a project of Vertex AI), with and without streaming.
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
  /** Open connections, each with its number of requests in progress. */
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
      // With the default backlog, some of a thousand simultaneous connections would wait a second for a retry.
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
      // An idle connection is reset, because a normally closed connection occupies its port for another minute. Thousands of tests would
      // use up the free ports.
      if (exchanges === 0) socket.resetAndDestroy()
      else socket.destroy()
    }
    this.#watch.close()
    // The next server may get the same port. Clients must notice before then that their connections are closed.
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

  /** Creates a signal that is aborted when the client disconnects, the response ends, or the server closes. */
  #signalOf({ socket }: IncomingMessage, res: ServerResponse): AbortSignal {
    const gone = new AbortController()
    this.#count(socket, 1)
    res.once('close', () => {
      this.#count(socket, -1)
      // The default reason would be an error, which is expensive to create.
      gone.abort('the response is closed')
    })
    return gone.signal
  }

  #count(socket: Socket, more: number): void {
    const exchanges = this.#sockets.get(socket)
    if (exchanges !== undefined) this.#sockets.set(socket, exchanges + more)
  }

  /** Never rejects. */
  async #serve(req: IncomingMessage, exchange: Exchange): Promise<void> {
    // The client may disconnect at any time. The `close` event of the response records it, so the error is ignored.
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
      // The script or a fault has failed. Clients don't retry a response with status 400.
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

/** Resolves with the body as text, or with undefined if the client disconnects before the body is complete. */
async function readBody(req: IncomingMessage): Promise<string | undefined> {
  const chunks: Uint8Array[] = []
  try {
    for await (const chunk of req) chunks.push(chunk as Uint8Array)
  } catch {
    // The client has disconnected. Its incomplete request is ignored.
    return undefined
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parseObject(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : {}
  } catch {
    // Invalid JSON is refused later, with an error that quotes the text.
    return {}
  }
}
