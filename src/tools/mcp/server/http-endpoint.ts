import { randomBytes } from 'node:crypto'
import type { McpHttpHandler, Server } from '@modelcontextprotocol/server'
import { messageOf } from '../../../core/errors.ts'
import type { Logger } from '../../../core/logger.ts'
import { Lanes } from '../../concurrency.ts'
import type { McpServerSdk } from './load-sdk.ts'
import { answerTtlSeconds, type StateCodec } from './questions.ts'
import type { McpServing, SessionBounds } from './serving.ts'
import { McpSessions } from './sessions.ts'
import type { McpTasks } from './tasks.ts'
import { type CallScope, createToolServer, type ServedTools } from './tool-server.ts'
import { watchedResponse } from './watched-body.ts'

/** An authorized request. */
export interface McpExchange {
  request: Request
  /** The body as JSON. Undefined if the request has no body. */
  body: unknown
  caller: string
  /** The tools that this caller sees. */
  tools: ServedTools
  serving: McpServing
  /** Maximum number of parallel calls of the caller. A tool with `parallel: false` runs alone. Default 8. */
  toolConcurrency?: number
  /** Passed to the tools as `ToolContext.context`. */
  context: unknown
  metadata?: CallScope['metadata']
  admit?: CallScope['admit']
  tasks?: McpTasks
}

/**
 * Serves tools over streamable HTTP. Requests of protocol 2026-07-28 are independent; earlier protocols have sessions. The caller of
 * `answer` checks authorization and the size of the body.
 */
export class McpEndpoint {
  readonly #sdk: McpServerSdk
  readonly #logger: Logger
  readonly #codec: StateCodec
  readonly #sessions: McpSessions
  readonly #handler: McpHttpHandler
  readonly #exchanges = new WeakMap<Request, McpExchange & { scope: CallScope }>()
  readonly #lanes = new Map<string, { lanes: Lanes; users: number }>()
  #calls = 0
  #idle: PromiseWithResolvers<void> | undefined

  constructor(sdk: McpServerSdk, bounds: SessionBounds, logger: Logger) {
    this.#sdk = sdk
    this.#logger = logger
    this.#codec = sdk.createRequestStateCodec({ key: randomBytes(32), ttlSeconds: answerTtlSeconds })
    const onerror = (error: Error) => logger.debug({ error: messageOf(error) }, 'an MCP client did something unexpected')
    this.#sessions = new McpSessions(sdk, bounds, onerror)
    const factory = ({ requestInfo }: { requestInfo?: Request }) => this.#serverFor(requestInfo, true)
    this.#handler = sdk.createMcpHandler(factory, { legacy: 'reject', onerror, maxSubscriptions: bounds.maxSessions ?? 10_000 })
  }

  /** The number of open sessions. */
  get sessions(): number {
    return this.#sessions.size
  }

  /** Answers a request. Calls `onEnd` once, when the response has ended. Cancels a call if its client disconnects. */
  async answer(exchange: McpExchange, onEnd: () => void): Promise<Response> {
    const { request, body, caller } = exchange
    const gone = new AbortController()
    const { lanes, leave } = this.#lanesOf(caller, exchange.toolConcurrency)
    const end = once(() => {
      leave()
      onEnd()
    })
    const { context, metadata, tasks } = exchange
    const admit = (tool: string) => this.#admit(exchange, tool)
    const scope = { caller, context, metadata, lanes, signal: gone.signal, admit, tasks }
    this.#exchanges.set(request, { ...exchange, scope })
    try {
      const { response, release } = await this.#respond(request, body, caller)
      return watchedResponse(response, (ending) => {
        if (ending === 'gone') gone.abort(new DOMException('The client has gone', 'AbortError'))
        release()
        end()
      })
    } catch (error) {
      end()
      throw error
    }
  }

  /** Tells the clients that tools, prompts and resources may have changed. */
  listsChanged(): void {
    this.#sessions.listsChanged()
    const { notify } = this.#handler
    notify.toolsChanged()
    notify.promptsChanged()
    notify.resourcesChanged()
  }

  /** Resolves when no call is in flight, or when the signal is aborted. */
  async settled(signal: AbortSignal): Promise<void> {
    if (this.#calls === 0 || signal.aborted) return
    this.#idle ??= Promise.withResolvers()
    const aborted = Promise.withResolvers<void>()
    signal.addEventListener('abort', () => aborted.resolve(), { once: true })
    await Promise.race([this.#idle.promise, aborted.promise])
  }

  /** Ends all sessions and streams. Cancels calls in flight. */
  async close(): Promise<void> {
    await Promise.all([this.#sessions.close(), this.#handler.close()])
  }

  async #respond(request: Request, body: unknown, caller: string): Promise<{ response: Response; release(): void }> {
    const isLegacy = await this.#sdk.isLegacyRequest(request, body)
    if (isLegacy) return this.#sessions.answer(request, body, caller, () => this.#serverFor(request, false))
    return { response: await this.#handler.fetch(request, { parsedBody: body }), release: () => {} }
  }

  #serverFor(request: Request | undefined, isModern: boolean): Server {
    const { tools, serving, tasks } = this.#exchangeOf(request)
    return createToolServer(this.#sdk, tools, serving, {
      codec: this.#codec,
      scopeOf: ({ http }) => this.#exchangeOf(http?.req).scope,
      logger: this.#logger,
      isModern,
      hasTasks: tasks !== undefined,
    })
  }

  #exchangeOf(request: Request | undefined): McpExchange & { scope: CallScope } {
    const exchange = request === undefined ? undefined : this.#exchanges.get(request)
    if (exchange === undefined) throw new Error('Expected a request that is being answered')
    return exchange
  }

  #admit(exchange: McpExchange, tool: string): () => void {
    const giveBack = exchange.admit?.(tool)
    this.#calls++
    return () => {
      giveBack?.()
      this.#calls--
      if (this.#calls > 0) return
      this.#idle?.resolve()
      this.#idle = undefined
    }
  }

  /** Returns the lanes that limit how many calls of a caller run in parallel. Callers don't wait for each other. */
  #lanesOf(caller: string, toolConcurrency = 8): { lanes: Lanes; leave(): void } {
    const found = this.#lanes.get(caller) ?? { lanes: new Lanes(toolConcurrency), users: 0 }
    found.users++
    this.#lanes.set(caller, found)
    const leave = () => {
      found.users--
      if (found.users === 0) this.#lanes.delete(caller)
    }
    return { lanes: found.lanes, leave }
  }
}

function once(work: () => void): () => void {
  let done = false
  return () => {
    if (done) return
    done = true
    work()
  }
}
