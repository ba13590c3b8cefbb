import { AgentRunner } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { connectMcpServers } from '../../src/tools/mcp/index.ts'

const args = ['node_modules/@modelcontextprotocol/server-everything/dist/index.js', 'stdio']
const tools = await connectMcpServers({ lab: { command: 'node', args, tasks: { timeoutMs: 600_000 } } })
const model = scriptedModel([{ toolCalls: [{ name: 'lab__simulate-research-query', args: { topic: 'snow' } }] }, 'Done.'])
const runner = new AgentRunner({ model, tools })
runner.on('TOOL_PROGRESS', ({ tool, update }) => console.log(tool, update))
console.log((await runner.run('Look into snow.')).output)
await tools.close()
