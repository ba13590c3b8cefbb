import { AgentRunner } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { connectMcpServers } from '../../src/tools/mcp/index.ts'

const args = ['node_modules/@modelcontextprotocol/server-everything/dist/index.js', 'stdio']
await using tools = await connectMcpServers({ poet: { command: 'node', args, sampling: { maxTokens: 500, maxRequests: 2 } } })
const model = scriptedModel([
  { toolCalls: [{ name: 'poet__trigger-sampling-request', args: { prompt: 'A word for old snow?' } }] },
  'Firn.', // The answer for the server.
  'It is called firn.',
])
const { output, toolCalls } = await new AgentRunner({ model, tools }).run('What is old snow called?')
console.log(output, toolCalls[0]?.nested)
