import { AgentRunner, createModel, defineTool } from '../../src/index.ts'
import { startMockProvider } from '../../src/testing/index.ts'

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  execute: ({ a, b }) => a + b,
})

// A provider on 127.0.0.1 that fails once, then calls a tool, then sends its answer byte by byte.
const server = await startMockProvider({
  script: [
    { text: 'never sent', fault: { status: 429, headers: { 'retry-after': '0' } } },
    { toolCalls: [{ name: 'add', arguments: { a: 2, b: 3 } }] },
    { text: 'It is 5 – fünf – 五.', fault: { splitBytes: 1 } },
  ],
})
const model = createModel({ provider: 'custom', model: 'mock', baseURL: server.baseURL })
const { output, steps } = await new AgentRunner({ model, tools: [add] }).run('2 + 3?')
console.log(output, steps[0]?.retries, server.requests.length)
await server.close()
