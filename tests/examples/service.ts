import { Hono } from 'hono'
import { defineTool } from '../../src/index.ts'
import { createService } from '../../src/service/index.ts'

const weather = defineTool({
  name: 'weather',
  description: 'The weather in a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  effect: 'read',
  execute: ({ city }) => ({ city, sky: 'clear', celsius: 21 }),
})

// Your program identifies its users. Without `authenticate`, the service uses bearer tokens.
const service = createService({
  model: process.env.MODEL ?? 'demo',
  tools: [weather],
  authenticate: (request) => (request.headers.get('x-user') ? { name: String(request.headers.get('x-user')), roles: ['run'] } : undefined),
})
await service.ready

// `service.fetch` takes a Request and returns a Response, so it mounts in any server that does the same.
const app = new Hono()
app.mount('/agent', service.fetch)

const response = await app.request('http://localhost/agent/v1/chat/completions', {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'x-user': 'ann' },
  body: JSON.stringify({ model: 'toolloop', messages: [{ role: 'user', content: 'call weather with {"city": "Oslo"}' }] }),
})
console.log(response.status, await response.text())
await service.drain()
