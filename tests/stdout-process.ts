/** Run by log.slow.test.ts as a child process: a program whose standard output is data, and whose agents log a lot. */

import { createAgentRunner } from '../src/backends/index.ts'
import { AgentRunner, createModel, defineTool, Event, ToolDispatcher } from '../src/index.ts'
import { startStrictProvider } from './models/rules/strict-provider.ts'

const broken = defineTool({
  name: 'broken',
  description: 'Fails.',
  parameters: { type: 'object' },
  execute: () => {
    throw new Error('no database')
  },
})
const calls = { toolCalls: [{ name: 'broken', arguments: {} }] }

console.log('row 1')
for (const provider of ['openai', 'openai-responses', 'anthropic', 'google']) {
  const server = await startStrictProvider({ script: [calls, 'Done.'], faults: [{ status: 500 }] })
  const baseURL = provider.startsWith('openai') ? server.baseURL : server.url
  const model = createModel({ provider, model: 'some-model', apiKey: 'test', baseURL, maxRetryDelayMs: 1 })
  const runner = new AgentRunner({ model, tools: [broken] })
  runner.on(Event.TOOL_CALL_START, () => {
    throw new Error('a listener of somebody else')
  })
  await runner.run('Go.', { messages: [{ role: 'tool', content: 'to no call', toolCallId: 'x' }] })
  await server.close()
}
const server = await startStrictProvider({ script: [calls, 'Done.'] })
const model = createModel({ provider: 'custom', model: 'some-model', baseURL: server.baseURL })
const other = await createAgentRunner({ model, tools: [broken], backend: 'langchain' })
await other.run('Go.')
await server.close()
new ToolDispatcher([
  { kind: 'registered', tools: [broken] },
  { kind: 'builtin', tools: [broken] },
]).list()
console.log('row 2')
