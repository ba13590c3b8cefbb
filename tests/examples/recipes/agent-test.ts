import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { AgentRunner, defineTool } from '../../../src/index.ts'
import { scriptedModel } from '../../../src/testing/index.ts'

const stock = defineTool({
  name: 'stock',
  description: 'How many of an item are in stock.',
  parameters: z.object({ item: z.string() }),
  effect: 'read',
  execute: ({ item }) => ({ item, left: 3 }),
})

test('the stock is looked up before it is told', async () => {
  const model = scriptedModel([{ toolCalls: [{ name: 'stock', args: { item: 'lamp' } }] }, 'Three are left.'])
  const { output, toolCalls } = await new AgentRunner({ model, tools: [stock] }).run('How many lamps are left?')
  equal(output, 'Three are left.')
  deepEqual(toolCalls[0]?.value, { item: 'lamp', left: 3 })
  equal(model.requests[1]?.messages.at(-1)?.content, '{"item":"lamp","left":3}')
})
