import fastify from 'fastify'
import { createService, nodeHandler } from '../../src/service/index.ts'

// Fastify leaves the whole path in the request.
const basePath = '/agent'
const service = createService({ model: process.env.MODEL ?? 'demo', basePath, authenticate: () => ({ name: 'ann', roles: ['run'] }) })
const handle = nodeHandler(service)

const app = fastify()
app.all('/agent/*', (request, reply) => handle(request.raw, reply.hijack().raw, request.body))

const url = await app.listen({ host: '127.0.0.1', port: 0 })
const response = await fetch(`${url}/agent/v1/runs`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ input: 'Hello!' }),
})
console.log(response.status, await response.text())
await app.close()
await service.drain()
