import { z } from 'zod'
import { AgentRunner, defineTool } from '../../../src/index.ts'

const stock = defineTool({
  name: 'stock',
  description: 'How many of an item are in stock.',
  parameters: z.object({ item: z.string() }),
  effect: 'read',
  execute: ({ item }) => ({ item, left: 3 }),
})

for (const model of ['openai/gpt-5.2', 'openai-responses/gpt-6.1-sol', 'anthropic/claude-sonnet-5-5', 'google/gemini-3.8-flash']) {
  const runner = new AgentRunner({ model, tools: [stock] })
  const { output, error, usage } = await runner.run('How many lamps are left?')
  console.log(`${model}: ${error?.code ?? output} (${usage.totalTokens} tokens)`)
}
