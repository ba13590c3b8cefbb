import { AIDriver, type ChatMessage, createModel } from '../../src/index.ts'
import { startMockProvider } from '../../src/testing/index.ts'

const server = await startMockProvider({
  script: [
    {
      text: 'I look it up.',
      toolCalls: [
        { name: 'time_in', arguments: { city: 'Oslo' } },
        { name: 'time_in', arguments: { city: 'Lima' } },
      ],
    },
    { text: 'Oslo is ahead.' },
  ],
})
const driver = new AIDriver(createModel({ provider: 'custom', model: 'mock', baseURL: server.baseURL }))
const tools = [
  { type: 'function' as const, function: { name: 'time_in', parameters: { type: 'object', properties: { city: { type: 'string' } } } } },
]

// One request per query: you get the tool calls back and run the loop yourself.
const first = await driver.query('Where is it later, Oslo or Lima?', { tools })
const calls = first.toolCalls ?? []
const results = await Promise.all(
  calls.map(
    async ({ id, function: { arguments: json } }): Promise<ChatMessage> => ({
      role: 'tool',
      toolCallId: id,
      content: `12:00 in ${JSON.parse(json).city}`,
    }),
  ),
)
const second = await driver.query('Where is it later, Oslo or Lima?', {
  tools,
  messages: [{ role: 'assistant', content: first.content, toolCalls: calls }, ...results],
})
console.log(second.content)
await server.close()
