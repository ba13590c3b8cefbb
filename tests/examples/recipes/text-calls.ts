import { z } from 'zod'
import { AgentRunner, defineTool } from '../../../src/index.ts'

const stock = defineTool({
  name: 'stock',
  description: 'How many of an item are in stock.',
  parameters: z.object({ item: z.string() }),
  effect: 'read',
  execute: ({ item }) => ({ item, left: 3 }),
})
// A server without function calling. The model writes its calls as <tool_call>{"name": …}</tool_call>.
const model = { provider: 'custom', model: 'qwen', baseURL: process.env.BASE_URL ?? 'http://127.0.0.1:8000/v1', dialect: 'hermes' }
const run = new AgentRunner({ model, tools: [stock] }).stream('How many lamps are left?')
for await (const text of run.text) process.stdout.write(text)
console.log()
