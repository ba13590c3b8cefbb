import { AgentRunner } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { connectMcpServers } from '../../src/tools/mcp/index.ts'

const tools = await connectMcpServers({
  everything: {
    command: 'node',
    args: ['node_modules/@modelcontextprotocol/server-everything/dist/index.js', 'stdio'],
    tools: ['echo', 'get-sum'],
    // You decide what to trust.
    effects: { 'get-sum': 'read' },
    approval: ['echo'],
  },
  wiki: { url: 'http://127.0.0.1:1/mcp', headers: { authorization: `Bearer ${process.env.WIKI_TOKEN}` }, optional: true },
})
console.log(tools.names().join(' '))

const model = scriptedModel([{ toolCalls: [{ name: 'everything__get-sum', args: { a: 2, b: 40 } }] }, 'It is 42.'])
const { output, toolCalls } = await new AgentRunner({ model, tools }).run('How much is 2 + 40?')
console.log(toolCalls[0]?.content, output)

// Save these. Passed as `allowed` the next time, they hold back every tool that is new or has changed.
console.log(Object.keys(tools.fingerprints()).length)
await tools.close()
