import { AgentRunner } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { connectMcpServers } from '../../src/tools/mcp/index.ts'

const args = ['node_modules/@modelcontextprotocol/server-everything/dist/index.js', 'stdio']
const tools = await connectMcpServers({ poet: { command: 'node', args, sampling: { maxTokens: 500, maxRequests: 2 } } })
// 'Firn.' is the answer for the server.
const call = { name: 'poet__trigger-sampling-request', args: { prompt: 'Old snow?' } }
const model = scriptedModel([{ toolCalls: [call] }, 'Firn.', 'It is firn.'])
const { output, toolCalls } = await new AgentRunner({ model, tools }).run('What is old snow called?')
console.log(output, toolCalls[0]?.nested)
await tools.close()
