import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'

/** A process whose calls never end. `node stuck-process.ts <file> <run…>` starts or resumes these runs, and prints the id of each that is in its call. */
const [file = '', ...runIds] = process.argv.slice(2)
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  effect: 'idempotent',
  timeoutMs: Number.POSITIVE_INFINITY,
  execute: (_args, { runId }) => {
    console.log(runId)
    return new Promise(() => {})
  },
})
const model = scriptedModel(() => ({ toolCalls: [{ name: 'pay' }] }))
const logger = { debug() {}, info() {}, warn() {}, error() {} }
const journal = sqliteJournal({ file, takeOverEveryMs: Number.POSITIVE_INFINITY })
const runner = new AgentRunner({ model, tools: [pay], journal, logger })
// Its calls have no timer: this keeps the process alive.
setInterval(() => {}, 60_000)
await Promise.all(runIds.map((runId) => runner.run('go', { runId })))
