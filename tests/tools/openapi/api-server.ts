import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { closeServer } from '../../close-server.ts'

export interface SeenRequest {
  method: string
  url: string
  headers: IncomingHttpHeaders
  body: string
}

export interface Reply {
  status?: number
  headers?: Record<string, string>
  body?: string | Buffer
}

/** An API that answers everything with `reply`, and records its requests. */
export async function startApi(reply: (request: SeenRequest) => Reply = () => ({ body: '{}' })) {
  const seen: SeenRequest[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      const sent = { method, url, headers, body }
      seen.push(sent)
      const answer = reply(sent)
      response.writeHead(answer.status ?? 200, { 'content-type': 'application/json', ...answer.headers }).end(answer.body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    [Symbol.asyncDispose]: () => closeServer(server),
  }
}

/** A document with these paths. */
export function documentOf(paths: object, more: object = {}): object {
  return { openapi: '3.1.0', info: { title: 'API', version: '1' }, servers: [{ url: 'https://api.example.com/v1' }], paths, ...more }
}
