import { codeMode } from '../../src/code-mode/index.ts'
import { AgentRunner, defineTool } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const orders = [
  { id: 'A1', euros: 40, late: true },
  { id: 'A2', euros: 15, late: false },
  { id: 'A3', euros: 90, late: true },
]

const listOrders = defineTool({ name: 'list_orders', description: 'Lists all orders.', effect: 'read', execute: () => orders })
const refund = defineTool({
  name: 'refund',
  description: 'Pays an order back.',
  parameters: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'], additionalProperties: false },
  approval: true,
  execute: ({ id }) => ({ refunded: id }),
})

// Stands in for a real model, which writes a script like this one.
const code = `const late = (await tools.list_orders()).filter((order) => order.late)
const refunds = await Promise.allSettled(late.map(({ id }) => tools.refund({ id })))
return refunds.map(({ value, reason }) => value ?? reason.message)`
const model = scriptedModel(({ messages }) => {
  const last = messages.at(-1)
  return last?.role === 'tool' ? `Done: ${last.content}` : { toolCalls: [{ name: 'run_script', args: { code } }] }
})

const runner = new AgentRunner({ model, tools: codeMode([listOrders, refund]) })
const paused = await runner.run('Refund all late orders.')
for (const { tool, args, script } of paused.pending) console.log(tool, args, `line ${script?.line}: ${script?.code}`)

const decisions = paused.pending.map((item) => ({ ...item, approved: item.args.id === 'A1', reason: 'too much' }))
const result = await runner.resume(paused.state, { decisions })
console.log(result.output)
