import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { closeServer } from '../../close-server.ts'

interface HttpRequest {
  method: string
  headers: IncomingMessage['headers']
  /** The message in it. */
  message: {
    id?: number
    method?: string
    params?: { name?: string; arguments?: Record<string, unknown>; _meta?: { progressToken?: number } }
  }
}

/** Answers a `tools/call`. */
export type Answer = (response: ServerResponse, request: HttpRequest) => void

export interface OddHttpServer extends AsyncDisposable {
  url: string
  requests: HttpRequest[]
  /** Responses that have not ended. */
  open: ReadonlySet<ServerResponse>
  /** The id of the session. Changing it makes the server forget the previous one. */
  session: string
  /** Answers a `GET`. Default: 405, there is no such stream. */
  stream: Answer
  /** Drops all connections and refuses new ones; `start` accepts them again. */
  stop(): Promise<void>
  start(): Promise<void>
}

/** An MCP server over streamable HTTP, written by hand so that it can break the protocol. */
export async function startOddHttpServer(tools: object[], answer: Answer, handshake?: Answer): Promise<OddHttpServer> {
  const open = new Set<ServerResponse>()
  const requests: HttpRequest[] = []
  let port = 0
  const server = createServer((request, response) => {
    open.add(response)
    response.on('close', () => open.delete(response))
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      const { method = '', headers } = request
      const sent: HttpRequest = { method, headers, message: body === '' ? {} : JSON.parse(body) }
      requests.push(sent)
      const { id, method: asked } = sent.message
      if (method === 'DELETE') return void response.writeHead(200).end()
      if (asked === 'initialize' && handshake === undefined) {
        response.setHeader('mcp-session-id', odd.session)
        const result = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'odd', version: '1' } }
        return json(response, { jsonrpc: '2.0', id, result })
      }
      if (asked === 'initialize') return handshake?.(response, sent)
      if (headers['mcp-session-id'] !== odd.session) return void response.writeHead(404).end('no such session')
      if (method === 'GET') return odd.stream(response, sent)
      if (id === undefined) return void response.writeHead(202).end()
      if (asked === 'tools/list') return json(response, { jsonrpc: '2.0', id, result: { tools } })
      answer(response, sent)
    })
  })
  const odd: OddHttpServer = {
    url: '',
    requests,
    open,
    session: 'one',
    stream: (response) => void response.writeHead(405).end(),
    start: () => new Promise((resolve) => server.listen(port, '127.0.0.1', resolve)),
    stop: () => closeServer(server),
    [Symbol.asyncDispose]: () => odd.stop(),
  }
  await odd.start()
  port = (server.address() as AddressInfo).port
  odd.url = `http://127.0.0.1:${port}/mcp`
  return odd
}

export function json(response: ServerResponse, message: object): void {
  response.setHeader('content-type', 'application/json').end(JSON.stringify(message))
}

export function result(value: string): object {
  return { content: [{ type: 'text', text: value }] }
}
