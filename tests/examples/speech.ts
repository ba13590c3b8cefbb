import { createModel, defineTool, Event, ToolRegistry } from '../../src/index.ts'
import { LLMPipeline } from '../../src/pipeline/index.ts'
import { startMockProvider } from '../../src/testing/index.ts'

const weather = defineTool({
  name: 'weather',
  description: 'The weather in a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  effect: 'read',
  execute: ({ city }) => ({ city, celsius: 3.5 }),
})
const server = await startMockProvider({
  script: [
    { text: 'Let me look.', toolCalls: [{ name: 'weather', arguments: { city: 'Oslo' } }] },
    'Dr. Who, it is 3.5 °C in Oslo. “Am 3. Mai wird es wärmer!” 再见。Bye',
  ],
})

const pipeline = new LLMPipeline({ model: createModel({ provider: 'custom', model: 'mock', baseURL: server.baseURL }) })
pipeline.setToolRegistry(new ToolRegistry([weather]))
pipeline.on(Event.LLM_SENTENCE, ({ text }) => console.log('say:', text))

const { stopReason, messages } = await pipeline.generate('How is the weather in Oslo?')
console.log(stopReason, messages.length)
await server.close()
