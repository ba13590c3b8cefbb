import { z } from 'zod'
import { AgentRunner, defineTool, type ToolContext } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

interface Session {
  user: string
}

const refund = defineTool({
  name: 'refund',
  description: 'Pays an order back.',
  parameters: z.object({ order: z.string() }),
  execute: ({ order }, { context }: ToolContext<Session>) => ({ order, euros: 30, by: context.user }),
})
const model = scriptedModel([{ toolCalls: [{ name: 'refund', args: { order: 'A7' } }] }, 'Paid back.'])
const runner = new AgentRunner({ model, tools: [refund] })

// A tool needs a Session: without `context` this does not compile.
const { toolCalls } = await runner.run('Pay A7 back.', { context: { user: 'ann' } })
for (const call of toolCalls)
  if (call.tool === 'refund' && call.outcome === 'ok') console.log(call.args.order, call.value?.euros, call.value?.by)
