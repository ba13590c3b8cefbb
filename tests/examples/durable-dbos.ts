import { AgentRunner, defineTool } from '../../src/index.ts'
import { dbosJournal } from '../../src/journals/dbos/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const refund = defineTool({
  name: 'refund',
  description: 'Pays money back.',
  parameters: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
  approval: true,
  effect: 'idempotent',
  execute: ({ order }, { idempotencyKey }) => `refunded order ${order} (${idempotencyKey})`,
})
const model = scriptedModel(({ messages }) => {
  const last = messages.at(-1)
  return last?.role === 'tool' ? `Done: ${last.content}` : { toolCalls: [{ name: 'refund', args: { order: '17' } }] }
})
const journal = dbosJournal({ url: process.env.DATABASE_URL ?? '', agent: 'refunds' })
const runner = new AgentRunner({ model, tools: [refund], journal })

const [command = 'worker', runId = 'refund-17'] = process.argv.slice(2)
if (command === 'ask') {
  const { stopReason } = await runner.run('I want my money back for order 17.', { runId })
  console.log(stopReason)
  await journal.close() // Its connections keep the process alive.
} else if (command === 'approve') {
  const pending = (await runner.runs.get(runId))?.pending ?? []
  const { output } = await runner.resume(runId, { decisions: pending.map((item) => ({ ...item, approved: true })) })
  console.log(output)
  await journal.close()
} else {
  // A worker continues the runs of dead workers, now and later.
  await runner.recover()
  process.once('SIGTERM', () => journal.close())
}
