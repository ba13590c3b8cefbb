import { DatabaseSync } from 'node:sqlite'
import { z } from 'zod'
import { AgentRunner, defineTool } from '../../../src/index.ts'

const database = new DatabaseSync(process.env.AUDIT ?? 'audit.sqlite')
database.exec('CREATE TABLE IF NOT EXISTS calls (at INTEGER, tenant TEXT, run TEXT, tool TEXT, args TEXT, outcome TEXT, error TEXT)')
const insert = database.prepare('INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?)')

const transfer = defineTool({
  name: 'transfer',
  description: 'Transfers an amount.',
  parameters: z.object({ euros: z.number().positive(), pin: z.string() }),
  secrets: ['pin'],
  execute: ({ euros }) => `${euros} euros were transferred.`,
})
const runner = new AgentRunner({ model: 'openai/gpt-6.1-sol', tools: [transfer] })
for (const event of ['TOOL_CALL_END', 'TOOL_CALL_REJECTED'] as const) {
  runner.on(event, ({ tool, args = {}, outcome, errorCode = null }, { time, runId, metadata }) => {
    insert.run(time, String(metadata?.tenant), runId, tool, JSON.stringify(args), outcome, errorCode)
  })
}

const { output } = await runner.run(process.argv[2] ?? '', { metadata: { tenant: 'north' } })
console.log(output)
