import { z } from 'zod'
import { AgentRunner, defineTool } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const lookUp = defineTool({
  name: 'look_up',
  description: 'An order by its number.',
  parameters: z.object({ order: z.string() }),
  execute: ({ order }) => ({ order, lamps: 2, shipped: '2026-11-19' }),
})
const Status = z.object({ items: z.number().int(), shipped: z.iso.date().transform((day) => new Date(day)) })

// The model's first answer does not fit. It goes back to the model with a list of the problems.
const model = scriptedModel([
  { toolCalls: [{ name: 'look_up', args: { order: 'A7' } }] },
  { toolCalls: [{ name: 'final_answer', args: { items: 'two', shipped: '2026-11-19' } }] },
  { toolCalls: [{ name: 'final_answer', args: { items: 2, shipped: '2026-11-19' } }] },
])
const { output, stopReason } = await new AgentRunner({ model, tools: [lookUp] }).run('Where is order A7?', { output: Status })
console.log(stopReason, output?.items, output?.shipped.getFullYear())
