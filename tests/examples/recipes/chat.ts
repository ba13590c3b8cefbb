import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { AgentRunner, defineTool, ToolloopError } from '../../../src/index.ts'
import { messagesFromUI } from '../../../src/ui/index.ts'

const stock = defineTool({
  name: 'stock',
  description: 'How many of an item are in stock.',
  parameters: { type: 'object', properties: { item: { type: 'string' } }, required: ['item'] },
  execute: ({ item }) => ({ item, left: 3 }),
})
const runner = new AgentRunner({ model: 'openai/gpt-6.1-sol', instructions: 'You sell lamps. Be brief.', tools: [stock] })

const app = new Hono()
app.post('/chat', async (c) => {
  const { messages } = await c.req.json()
  return runner.stream(messagesFromUI(messages)).toResponse()
})
app.onError((error, c) => (ToolloopError.isInstance(error) ? c.text(error.message, 400) : c.text('Something went wrong.', 500)))
serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000) }, ({ port }) => console.log(`http://localhost:${port}`))
