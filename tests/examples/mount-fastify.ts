import fastify from 'fastify'
import { createService, nodeHandler } from '../../src/service/index.ts'

const service = createService({
  model: process.env.MODEL ?? 'demo',
  authenticate: () => ({ name: 'ann', roles: ['run'] }),
  // Fastify leaves the whole path in the request.
  basePath: '/agent',
})
const handle = nodeHandler(service)

const app = fastify()
app.all('/agent/*', async (request, reply) => {
  reply.hijack()
  await handle(request.raw, reply.raw, request.body)
})

const url = await app.listen({ host: '127.0.0.1', port: 0 })
const response = await fetch(`${url}/agent/v1/runs`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ input: 'Hello!' }),
})
const { stopReason } = (await response.json()) as { stopReason: string }
console.log(response.status, stopReason)
await app.close()
await service.drain()
