/**
 * A run whose only call becomes a task, recorded in a file: started, or resumed. `inside`: the run is nested in a call of another run. Its
 * arguments: what to do, the server's address, the file, where.
 */
import { AgentRunner, asTool } from '../../../src/index.ts'
import { sqliteJournal } from '../../../src/journals/sqlite/index.ts'
import { scriptedModel } from '../../../src/testing/index.ts'
import { connectMcpServers } from '../../../src/tools/mcp/index.ts'

const [what = '', url = '', file = '', where = ''] = process.argv.slice(2)
const model = scriptedModel(({ messages }) =>
  messages.at(-1)?.role === 'tool' ? 'Done.' : { toolCalls: [{ name: 'jobs__work', args: {} }] },
)
const tools = await connectMcpServers({ jobs: { url } })
const journal = sqliteJournal({ file })
const outer = scriptedModel(({ messages }) =>
  messages.at(-1)?.role === 'tool' ? 'Done.' : { toolCalls: [{ name: 'worker', args: { task: 'Go.' } }] },
)
const worker = asTool(new AgentRunner({ model, tools }), {
  name: 'worker',
  description: 'works',
  effect: 'idempotent',
  result: ({ toolCalls }) => toolCalls[0]?.content,
})
const runner = where === 'inside' ? new AgentRunner({ model: outer, tools: [worker], journal }) : new AgentRunner({ model, tools, journal })
if (what === 'run') await runner.run('Go.', { runId: 'r1' })
else await runner.recover()
const run = await runner.runs.get('r1')
console.log(JSON.stringify(run?.result?.toolCalls.map(({ outcome, content }) => [outcome, content])))
await journal.close()
await tools.close()
