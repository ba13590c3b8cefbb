import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeToNode } from '../src/ui/web/pipe-to-node.ts'
import { closeServer } from './close-server.ts'

/** A server on 127.0.0.1 that answers like a `fetch` handler. */
export async function serveFetch(handler: (request: Request) => Response | Promise<Response>): Promise<{ url: string } & AsyncDisposable> {
  const server = createServer(async (message, reply) => {
    const chunks: Buffer[] = []
    for await (const chunk of message) chunks.push(chunk)
    const headers = Object.entries(message.headers).map(([name, value]): [string, string] => [name, String(value)])
    const body = message.method === 'GET' ? null : Buffer.concat(chunks)
    const request = new Request(new URL(message.url ?? '/', 'http://localhost'), { method: message.method ?? 'GET', headers, body })
    const response = await Promise.resolve(handler(request)).catch((error: Error) => new Response(error.message, { status: 500 }))
    await pipeToNode(response, reply)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: () => closeServer(server) }
}
