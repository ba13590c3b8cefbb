import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AgentRunner, defineTool } from '../../src/index.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const refund = defineTool({
  name: 'refund',
  description: 'Pays money back.',
  parameters: { type: 'object', properties: { order: { type: 'string' }, euros: { type: 'number' } }, required: ['order', 'euros'] },
  approval: true, // A person decides, perhaps in three days.
  effect: 'idempotent', // The bank pays once for each key, so an interrupted call can be repeated.
  execute: async (payment, { idempotencyKey }) => {
    const headers = { 'idempotency-key': idempotencyKey }
    const response = await fetch(`${process.env.BANK_URL}/refunds`, { method: 'POST', headers, body: JSON.stringify(payment) })
    return response.text()
  },
})
const model = scriptedModel(({ messages }) =>
  messages.at(-1)?.role === 'tool' ? 'Your money is on its way.' : { toolCalls: [{ name: 'refund', args: { order: '17', euros: 250 } }] },
)
const folder = process.env.DATA_FOLDER ?? mkdtempSync(join(tmpdir(), 'refunds-'))
const runner = new AgentRunner({ model, tools: [refund], journal: sqliteJournal({ file: join(folder, 'runs.sqlite') }) })

const [command = 'ask', runId = 'refund-17'] = process.argv.slice(2)
if (command === 'ask') {
  const { stopReason, pending } = await runner.run('I want my money back for order 17.', { runId })
  console.log(stopReason, pending[0]?.args)
} else if (command === 'approve') {
  const pending = (await runner.runs.get(runId))?.pending ?? []
  const { output } = await runner.resume(runId, { decisions: pending.map((item) => ({ ...item, approved: true })) })
  console.log(output)
} else if (command === 'worker') {
  for (const { runId, stopReason } of await runner.recover()) console.log(runId, stopReason)
}
