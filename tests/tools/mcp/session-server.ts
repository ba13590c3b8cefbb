import { randomUUID } from 'node:crypto'
import { type CallToolResult, Server, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { serveFetch } from '../../fetch-server.ts'

export interface SessionServer extends AsyncDisposable {
  url: string
  /** The names of all tools that have run, in order. */
  ran: string[]
  /** How many sessions were opened. */
  opened: number
  /** Methods of the messages that arrived with an unknown session, and `GET` and `DELETE`. */
  refused: string[]
  tools: object[]
  /** What its tools do. Default: they return their names. */
  call(name: string, server: Server, report: Report): CallToolResult | Promise<CallToolResult>
  /** Forgets all sessions, like a restart. `streams` says what happens to their open streams, default `'end'`. */
  forget(streams?: 'end' | 'stay'): Promise<void>
  current(): Server | undefined
}

/** Reports the call's progress to the client. */
type Report = (progress: number) => Promise<void>

/** The answer to a message with an unknown session. */
export type Refusal = (message: { id?: unknown; method?: string }) => Response | undefined

const notFound: Refusal = () =>
  Response.json({ jsonrpc: '2.0', error: { code: -32_001, message: 'Session not found' }, id: null }, { status: 404 })

/** A server of the official SDK over HTTP that keeps sessions in memory. */
export async function startSessionServer(tools: object[], refusal: Refusal = notFound): Promise<SessionServer> {
  const sessions = new Map<string, { server: Server; transport: WebStandardStreamableHTTPServerTransport }>()
  const create = () => {
    const capabilities = { tools: { listChanged: true }, resources: { listChanged: true } }
    const server = new Server({ name: 'kept', version: '1' }, { capabilities })
    server.setRequestHandler('tools/list', () => ({ tools: odd.tools }) as never)
    server.setRequestHandler('resources/list', () => ({ resources: [{ name: `session ${odd.opened}`, uri: 'kept://session' }] }))
    server.setRequestHandler('tools/call', ({ params: { name } }, { mcpReq }) => {
      odd.ran.push(name)
      const { progressToken = '' } = mcpReq._meta ?? {}
      return odd.call(name, server, (progress) => mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress } }))
    })
    return server
  }
  const http = await serveFetch(async (request) => {
    const { method } = request
    const body = method === 'POST' ? await request.text() : undefined
    const message = body === undefined ? { method } : JSON.parse(body)
    const id = request.headers.get('mcp-session-id')
    const known = id === null ? undefined : sessions.get(id)
    if (known === undefined && id !== null) {
      odd.refused.push(message.method)
      return refusal(message) ?? notFound(message) ?? Response.error()
    }
    const given = new Request(request.url, { method, headers: request.headers, body: body ?? null })
    if (known !== undefined) return known.transport.handleRequest(given)
    const server = create()
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (session) => {
        odd.opened++
        sessions.set(session, { server, transport })
      },
    })
    await server.connect(transport)
    return transport.handleRequest(given)
  })
  const odd: SessionServer = {
    url: `${http.url}/mcp`,
    ran: [],
    opened: 0,
    refused: [],
    tools,
    call: (name) => ({ content: [{ type: 'text', text: name }] }),
    forget: async (streams = 'end') => {
      const forgotten = [...sessions.values()]
      sessions.clear()
      if (streams === 'end') await Promise.all(forgotten.map(({ server }) => server.close()))
    },
    current: () => [...sessions.values()].at(-1)?.server,
    [Symbol.asyncDispose]: async () => {
      await odd.forget()
      await http[Symbol.asyncDispose]()
    },
  }
  return odd
}

/** A `fetch` that blocks the second request for a list of tools until it is released. */
export function heldList(): { fetch: typeof fetch; asked: Promise<void>; free(): void } {
  const asked = Promise.withResolvers<void>()
  const free = Promise.withResolvers<void>()
  let lists = 0
  const held = async (url: Parameters<typeof fetch>[0], init?: RequestInit) => {
    if (String(init?.body).includes('"tools/list"') && ++lists === 2) {
      asked.resolve()
      await free.promise
    }
    return fetch(url, init)
  }
  return { fetch: held, asked: asked.promise, free: free.resolve }
}
