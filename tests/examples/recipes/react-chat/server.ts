import { readFileSync } from 'node:fs'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { z } from 'zod'
import { defineTool } from '../../../../src/index.ts'
import { createService } from '../../../../src/service/index.ts'

const stock = defineTool({
  name: 'stock',
  description: 'How many of an item are in stock.',
  parameters: z.object({ item: z.string() }),
  effect: 'read',
  execute: ({ item }) => ({ item, left: 3 }),
})
const refund = defineTool({
  name: 'refund',
  description: 'Pays the money for an order back.',
  parameters: z.object({ order: z.string(), euros: z.number() }),
  approval: true,
  execute: ({ order, euros }) => `${euros} euros were paid back for order ${order}.`,
})
const service = createService({
  model: 'openai/gpt-6.1-sol',
  tools: [stock, refund],
  // Stands for your login: whose cookie it is.
  authenticate: (request) => (request.headers.get('cookie') === 'user=ann' ? { name: 'ann', roles: ['run'] } : null),
})

const app = new Hono()
app.mount('/agent', service.fetch)
app.get('/', (c) => {
  c.header('set-cookie', 'user=ann; HttpOnly; SameSite=Strict')
  return c.html('<!doctype html><title>Chat</title><div id="root"></div><script type="module" src="/page.js"></script>')
})
// What your bundler makes of page.tsx.
app.get('/page.js', (c) => c.body(readFileSync(process.env.PAGE ?? 'dist/page.js', 'utf8'), 200, { 'content-type': 'text/javascript' }))
serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000) }, ({ port }) => console.log(`http://localhost:${port}`))
