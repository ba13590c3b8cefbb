import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { z } from 'zod'
import { AgentRunner, defineTool, type ToolContext } from '../../../src/index.ts'

interface Tenant {
  name: string
  orders: Map<string, string>
}
// Stands for your own tenants and their databases.
const tenants = new Map<string | undefined, Tenant>([
  ['key-of-north', { name: 'North Lamps', orders: new Map([['17', 'shipped']]) }],
  ['key-of-south', { name: 'South Lamps', orders: new Map([['17', 'lost']]) }],
])

const orderStatus = defineTool({
  name: 'order_status',
  description: 'The status of an order.',
  parameters: z.object({ order: z.string() }),
  effect: 'read',
  execute: ({ order }, { context }: ToolContext<Tenant>) => context.orders.get(order) ?? 'There is no such order.',
})
const runner = new AgentRunner<Tenant>({
  model: 'openai/gpt-6.1-sol',
  instructions: ({ context }) => `You answer the customers of ${context.name}.`,
  tools: [orderStatus],
})

const app = new Hono()
app.post('/ask', async (c) => {
  const tenant = tenants.get(c.req.header('x-api-key'))
  if (tenant === undefined) return c.text('Unknown key', 401)
  return runner.stream(await c.req.text(), { context: tenant }).toResponse()
})
serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000) }, ({ port }) => console.log(`http://localhost:${port}`))
