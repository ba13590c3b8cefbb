import { z } from 'zod'
import { AgentRunner, defineTool } from '../../../src/index.ts'

const orderStatus = defineTool({
  name: 'order_status',
  description: 'The status of an order.',
  parameters: z.object({ order: z.string() }),
  effect: 'read',
  execute: ({ order }) => ({ order, status: 'lost' }),
})
const Ticket = z.object({ topic: z.enum(['refund', 'delivery', 'other']), order: z.string().nullable(), urgent: z.boolean() })
const runner = new AgentRunner({ model: 'openai/gpt-6.1-sol', instructions: 'Make a ticket of the letter.', tools: [orderStatus] })

const { output, stopReason, error } = await runner.run(process.argv[2] ?? '', { output: Ticket })
if (output === undefined) console.error('No ticket:', error?.message ?? stopReason)
else console.log(output.topic, output.order, output.urgent ? 'urgent' : 'not urgent')
