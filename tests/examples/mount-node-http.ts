import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createService, nodeHandler } from '../../src/service/index.ts'

const service = createService({
  model: process.env.MODEL ?? 'demo',
  authenticate: () => ({ name: 'ann', roles: ['run'] }),
  basePath: '/agent',
})
const handle = nodeHandler(service)

const server = createServer((request, response) => {
  if (request.url?.startsWith('/agent/')) return void handle(request, response)
  response.end('Hello from the rest of the program')
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const { port } = server.address() as AddressInfo
const response = await fetch(`http://127.0.0.1:${port}/agent/v1/runs`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ input: 'Hello!' }),
})
console.log(response.status, await response.text())
server.close()
await service.drain()
