import { randomUUID } from 'node:crypto'
import type { Server, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import type { McpServerSdk } from './load-sdk.ts'
import type { SessionBounds } from './serving.ts'
import { announceLists } from './tool-server.ts'

interface Session {
  caller: string
  server: Server
  transport: WebStandardStreamableHTTPServerTransport
  /** Number of open requests and streams of the session. */
  open: number
  idleSince: number
}

export class McpSessions {
  readonly #sdk: McpServerSdk
  readonly #bounds: Required<SessionBounds>
  readonly #onerror: (error: Error) => void
  /** Sessions by id, the most recently used last. */
  readonly #sessions = new Map<string, Session>()
  /** Sessions that are being opened. */
  readonly #opening = new Set<{ caller: string }>()
  #timer: NodeJS.Timeout | undefined

  constructor(sdk: McpServerSdk, bounds: SessionBounds, onerror: (error: Error) => void) {
    this.#sdk = sdk
    this.#bounds = { maxSessionsOfCaller: 1_000, maxSessions: 10_000, sessionIdleMs: 600_000, ...bounds }
    this.#onerror = onerror
  }

  get size(): number {
    return this.#sessions.size
  }

  /** Answers a request. `create`: creates the server for a new session. `release`: call it when the response has ended. */
  async answer(
    request: Request,
    parsedBody: unknown,
    caller: string,
    create: () => Server,
  ): Promise<{ response: Response; release(): void }> {
    const id = request.headers.get('mcp-session-id')
    if (id === null && this.#sdk.isInitializeRequest(parsedBody)) return this.#open(request, parsedBody, caller, create)
    if (id === null) return refused(400, -32_000, 'Bad Request: Mcp-Session-Id header is required')
    const session = this.#sessions.get(id)
    // A session of another caller is treated as unknown.
    if (session === undefined || session.caller !== caller) return refused(404, -32_001, 'Session not found')
    session.open++
    const release = () => this.#release(id, session)
    try {
      return { response: await session.transport.handleRequest(request, { parsedBody }), release }
    } catch (error) {
      release()
      throw error
    }
  }

  /** Tells every client that its tools, prompts and resources may have changed. */
  listsChanged(): void {
    for (const { server } of this.#sessions.values()) announceLists(server).catch(this.#onerror)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.keys()].map((id) => this.#close(id)))
  }

  async #open(
    request: Request,
    parsedBody: unknown,
    caller: string,
    create: () => Server,
  ): Promise<{ response: Response; release(): void }> {
    const own = [...this.#sessions].filter(([, session]) => session.caller === caller)
    const opening = [...this.#opening]
    let closing: Promise<void> | undefined
    if (own.length + opening.filter((one) => one.caller === caller).length >= this.#bounds.maxSessionsOfCaller) {
      const idle = own.find(([, { open }]) => open === 0)
      if (idle === undefined)
        return refused(429, -32_000, `This token may have at most ${this.#bounds.maxSessionsOfCaller} sessions in use`)
      closing = this.#close(idle[0])
    }
    if (this.#sessions.size + opening.length >= this.#bounds.maxSessions) {
      await closing
      return refused(503, -32_000, 'Too many sessions are open')
    }
    // Counts the new session before the first `await`, because other requests may open sessions in the meantime.
    const place = { caller }
    this.#opening.add(place)
    try {
      await closing
      return await this.#openAt(place, request, parsedBody, create)
    } finally {
      this.#opening.delete(place)
    }
  }

  async #openAt(
    place: { caller: string },
    request: Request,
    parsedBody: unknown,
    create: () => Server,
  ): Promise<{ response: Response; release(): void }> {
    const { caller } = place
    const server = create()
    const transport = new this.#sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        this.#opening.delete(place)
        this.#sessions.set(id, { caller, server, transport, open: 1, idleSince: performance.now() })
        this.#timer ??= setInterval(() => this.#closeIdle(), this.#bounds.sessionIdleMs / 4).unref()
      },
    })
    transport.onerror = this.#onerror
    await server.connect(transport)
    const response = await transport.handleRequest(request, { parsedBody })
    const session = this.#sessions.get(transport.sessionId ?? '')
    if (session === undefined) await server.close()
    // The client can end the session too.
    else server.onclose = () => this.#forget(transport.sessionId ?? '')
    return { response, release: () => session !== undefined && this.#release(transport.sessionId ?? '', session) }
  }

  #release(id: string, session: Session): void {
    session.open--
    session.idleSince = performance.now()
    if (this.#sessions.delete(id)) this.#sessions.set(id, session)
  }

  #closeIdle(): void {
    const before = performance.now() - this.#bounds.sessionIdleMs
    for (const [id, { open, idleSince }] of this.#sessions) {
      if (open === 0 && idleSince <= before) this.#close(id).catch(this.#onerror)
    }
  }

  async #close(id: string): Promise<void> {
    const session = this.#sessions.get(id)
    this.#forget(id)
    await session?.server.close()
  }

  #forget(id: string): void {
    this.#sessions.delete(id)
    if (this.#sessions.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

function refused(status: number, code: number, message: string): { response: Response; release(): void } {
  const headers = status === 429 || status === 503 ? { 'retry-after': '1' } : undefined
  const response = Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status, headers })
  return { response, release: () => {} }
}
