import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, stepCountIs, streamText, tool } from 'ai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { scriptedModel } from '../../src/testing/index.ts'
import { startService, token } from './start-service.ts'

/** Another runtime, for which the agent is a model: its own tools run on its side. */
describe('POST /v1/chat/completions, by the AI SDK', () => {
  async function setUp() {
    const model = scriptedModel([
      { text: 'I look.', toolCalls: [{ name: 'weather', arguments: { city: 'Oslo' } }] },
      'It is sunny in Oslo.',
    ])
    const { url } = await startService({ model })
    const asked: string[] = []
    const weather = tool({
      description: 'The weather in a city.',
      inputSchema: z.object({ city: z.string() }),
      execute: async ({ city }) => {
        asked.push(city)
        return { city, sky: 'sunny' }
      },
    })
    const provider = createOpenAICompatible({ name: 'toolloop', baseURL: `${url}/v1`, apiKey: token })
    const options = { model: provider('toolloop'), tools: { weather }, stopWhen: stepCountIs(5), prompt: 'Weather in Oslo?' }
    return { model, asked, options }
  }

  it('completes a tool loop', async () => {
    const { model, asked, options } = await setUp()
    const { text, steps } = await generateText(options)
    expect(text).toBe('It is sunny in Oslo.')
    expect(steps).toHaveLength(2)
    expect(asked).toEqual(['Oslo'])
    expect(model.requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
  })

  it('and streaming', async () => {
    const { asked, options } = await setUp()
    const { textStream } = streamText(options)
    let text = ''
    for await (const piece of textStream) text += piece
    expect(text).toBe('I look.It is sunny in Oslo.')
    expect(asked).toEqual(['Oslo'])
  })
})
