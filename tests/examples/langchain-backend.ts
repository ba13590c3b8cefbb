import { createAgentRunner } from '../../src/backends/index.ts'
import { defineTool } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const weather = defineTool({
  name: 'weather',
  description: 'The weather in a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  execute: ({ city }) => `sunny in ${city}`,
})
const script = [{ toolCalls: [{ name: 'weather', args: { city: 'Oslo' } }] }, 'It is sunny in Oslo.']

const conversations: string[] = []
for (const backend of ['native', 'langchain'] as const) {
  const runner = await createAgentRunner({ backend, model: scriptedModel(script), tools: [weather] })
  const { stopReason, output, messages } = await runner.run('How is the weather in Oslo?')
  console.log(backend, stopReason, output)
  conversations.push(JSON.stringify(messages))
}
console.log(conversations[0] === conversations[1])
