import OpenAI from 'openai'
import { createService, listen } from '../../src/service/index.ts'

const token = 'a-token-of-at-least-16-characters'
const service = createService({ model: process.env.MODEL ?? 'demo', builtinTools: ['calculate'], token })
const { url, close } = await listen(service, { port: 0 })
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: token })

// The service runs its own tools. Calls to your tools come back to you.
const weather = {
  type: 'function' as const,
  name: 'weather',
  description: 'The weather in a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  strict: false,
}
const asked = await client.responses.create({ model: 'toolloop', tools: [weather], input: 'call weather with {"city": "Oslo"}' })
const results = asked.output.flatMap((item) =>
  item.type === 'function_call' ? [{ type: 'function_call_output' as const, call_id: item.call_id, output: 'Clear in Oslo.' }] : [],
)

// The service has kept the conversation: the next request has only what is new.
const stream = client.responses.stream({ model: 'toolloop', previous_response_id: asked.id, tools: [weather], input: results })
for await (const event of stream) if (event.type === 'response.output_text.delta') process.stdout.write(event.delta)

const { output_text } = await client.responses.create({ model: 'toolloop', input: 'What is 17 * 23?', store: false })
console.log(`\n${output_text}`)
await close()
