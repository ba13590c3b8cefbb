import { AgentRunner, defineTool } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const id = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'], additionalProperties: false } as const
const findLate = defineTool({ name: 'find_late', description: 'Finds late orders.', effect: 'read', execute: () => ['A1', 'A2', 'A3'] })
const refund = defineTool({
  name: 'refund',
  description: 'Pays an order back.',
  parameters: id,
  // What the model is told in a preview. Without it: "noted, not done".
  preview: (order) => ({ wouldRefund: order.id }),
  execute: (order) => ({ refunded: order.id }),
})

// Stands in for a real model. Its answer repeats the latest tool results.
const model = scriptedModel(({ messages }) => {
  const told = messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : []))
  if (told.length === 0) return { toolCalls: [{ name: 'find_late' }] }
  if (told.length === 1) return { toolCalls: ['A1', 'A2', 'A3'].map((id) => ({ name: 'refund', args: { id } })) }
  return told.slice(1).join(' ')
})
const runner = new AgentRunner({ model, tools: [findLate, refund] })

const plan = await runner.run('Refund all late orders.', { effects: 'preview' })
console.log(plan.stopReason, plan.text)
for (const { tool, args, plan: place } of plan.pending) console.log(`${place?.at}/${place?.of}`, tool, args)

const decisions = plan.pending.map((item) => ({ ...item, approved: item.args.id !== 'A2', reason: 'already paid back' }))
const result = await runner.resume(plan.state, { decisions })
console.log(result.output)
