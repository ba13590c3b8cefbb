import { AgentRunner, createModel, defineTool } from '../../src/index.ts'
import { recordProvider, startMockProvider } from '../../src/testing/index.ts'

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  execute: ({ a, b }) => a + b,
})

// In your tests this is the real provider.
const provider = await startMockProvider({ script: [{ toolCalls: [{ name: 'add', arguments: { a: 2, b: 3 } }] }, 'It is 5.'] })
const recorder = recordProvider()
const model = createModel({ provider: 'custom', model: 'any', apiKey: 'a-key-of-mine', baseURL: provider.baseURL, fetch: recorder.fetch })
const { output } = await new AgentRunner({ model, tools: [add] }).run('2 + 3?')
console.log(output, recorder.recordings.length, 'recordings')
await provider.close()

// Later, without the provider; `recorder.save(folder)` keeps the recordings until then.
const replayed = await startMockProvider({ recordings: recorder.recordings })
const again = createModel({ provider: 'custom', model: 'any', baseURL: replayed.baseURL })
console.log((await new AgentRunner({ model: again, tools: [add] }).run('2 + 3?')).output)
await replayed.close()
