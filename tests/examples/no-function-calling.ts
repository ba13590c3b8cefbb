import { AgentRunner, defineTool } from '../../src/index.ts'
import { startMockProvider } from '../../src/testing/index.ts'

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  execute: ({ a, b }) => a + b,
})

// A server without function calling. This model writes calls in the format of Hermes and Qwen.
const server = await startMockProvider({
  script: ['Let me see.\n<tool_call>\n{"name": "add", "arguments": {"a": "2", "b": 3}}\n</tool_call>', 'It is 5.'],
})
const runner = new AgentRunner({
  model: { provider: 'custom', model: 'mock', baseURL: server.baseURL, dialect: 'hermes' },
  tools: [add],
})
runner.on('TOOL_CALL_START', ({ tool, args }) => console.log(tool, JSON.stringify(args)))

const { output, messages } = await runner.run('2 + 3?')
console.log(output, messages.map(({ role }) => role).join(' '))
console.log('tools' in (server.requests[0]?.body ?? {}))
await server.close()
