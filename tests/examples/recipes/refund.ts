import { z } from 'zod'
import { AgentRunner, defineTool } from '../../../src/index.ts'
import { sqliteJournal } from '../../../src/journals/sqlite/index.ts'

const refund = defineTool({
  name: 'refund',
  description: 'Pays the money for an order back.',
  parameters: z.object({ order: z.string(), euros: z.number() }),
  approval: ({ euros }) => euros > 100,
  execute: ({ order, euros }) => `${euros} euros were paid back for order ${order}.`,
})
const journal = sqliteJournal({ file: process.env.RUNS ?? 'runs.sqlite' })
const runner = new AgentRunner({ model: 'openai/gpt-6.1-sol', tools: [refund], journal })

// node refund.ts ask 17 "Give me my money back."; then, in another process: node refund.ts approve 17, or: node refund.ts refuse 17
const [command, runId = '', prompt = ''] = process.argv.slice(2)
if (command === 'ask') {
  const { stopReason, output, pending } = await runner.run(prompt, { runId })
  console.log(stopReason, output, pending[0]?.args)
} else {
  const pending = (await runner.runs.get(runId))?.pending ?? []
  const { output } = await runner.resume(runId, { decisions: pending.map((item) => ({ ...item, approved: command === 'approve' })) })
  console.log(output)
}
