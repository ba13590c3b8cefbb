import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AgentRunner, defineTool } from '../../src/index.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const file = join(mkdtempSync(join(tmpdir(), 'refunds-')), 'runs.sqlite')
const refund = defineTool({ name: 'refund', description: 'Pays money back.', approval: true, execute: () => 'paid' })
const model = scriptedModel([{ text: 'I ask somebody.', toolCalls: [{ name: 'refund' }] }])
await new AgentRunner({ model, tools: [refund], journal: sqliteJournal({ file }) }).run('Money back!', { runId: 'refund-18' })

// In another process, such as a web server that shows runs. It executes nothing.
const { runs } = new AgentRunner({ model, tools: [refund], journal: sqliteJournal({ file }) })
for (const { runId } of (await runs.list({ status: 'waiting' })).runs) {
  console.log(runId, (await runs.get(runId))?.pending[0]?.tool)
  for await (const { type, meta } of runs.stream(runId)) console.log(type, meta.recorded)
}
