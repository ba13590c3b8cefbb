import { AgentRunner } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { connectMcpServers } from '../../src/tools/mcp/index.ts'

const args = ['node_modules/@modelcontextprotocol/server-everything/dist/index.js', 'stdio']
const tools = await connectMcpServers({ forms: { command: 'node', args } })
const model = scriptedModel([{ toolCalls: [{ name: 'forms__trigger-elicitation-request' }] }, 'Thank you.'])
const runner = new AgentRunner({ model, tools })

const paused = await runner.run('Register me.')
for (const { kind, about, schema } of paused.pending) console.log(kind, about, schema?.required)

const decisions = paused.pending.map((item) => ({ ...item, answer: { name: 'Ann', check: true } }))
console.log((await runner.resume(paused.state, { decisions })).toolCalls[0]?.content)
await tools.close()
