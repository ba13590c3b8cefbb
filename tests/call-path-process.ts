/**
 * Runs an agent against the provider at `argv[2]`. When its parent asks, while the agent waits for a response, it reports the files of src
 * in which a function was called since the last report.
 */
import { AgentRunner, createModel, defineTool } from '../src/index.ts'
import { watchCalledFiles } from './called-files.ts'

const takeCalled = watchCalledFiles()
process.on('message', () => process.send?.(takeCalled()))

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  execute: ({ a, b }) => a + b,
})
const model = createModel({ provider: 'openai', model: 'gpt-4o', apiKey: 'none', baseURL: process.argv[2] ?? '' })
await new AgentRunner({ model, tools: [add] }).run('Add.')
process.disconnect()
