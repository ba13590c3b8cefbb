import { createOpenResponses } from '@ai-sdk/open-responses'
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

describe('POST /v1/responses, by the AI SDK', () => {
  async function setUp() {
    const model = scriptedModel([
      { reasoning: 'Oslo, then.', text: 'I look.', toolCalls: [{ name: 'weather', arguments: { city: 'Oslo' } }] },
      { text: 'It is sunny in Oslo.', usage: { inputTokens: 9, outputTokens: 3, cacheReadTokens: 4 } },
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
    const provider = createOpenResponses({ name: 'toolloop', url: `${url}/v1/responses`, apiKey: token })
    const image = { type: 'file' as const, mediaType: 'image/png', data: 'iVBORw0KGgo=' }
    const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Weather here?' }, image] }]
    return { model, asked, options: { model: provider('toolloop'), tools: { weather }, stopWhen: stepCountIs(5), prompt } }
  }

  it('completes a tool loop', async () => {
    const { model, asked, options } = await setUp()
    const { text, steps } = await generateText(options)
    expect(text).toBe('It is sunny in Oslo.')
    expect(steps[0]).toMatchObject({ text: 'I look.', reasoningText: 'Oslo, then.', finishReason: 'tool-calls' })
    expect(steps[1]?.usage).toMatchObject({ inputTokens: 9, outputTokens: 3 })
    expect(asked).toEqual(['Oslo'])
    const [user, ...others] = model.requests[1]?.messages ?? []
    expect(user?.content).toMatchObject([{ text: 'Weather here?' }, { type: 'image', url: 'data:image/png;base64,iVBORw0KGgo=' }])
    expect(others).toMatchObject([
      { role: 'assistant', content: 'I look.' },
      { role: 'tool', content: '{"city":"Oslo","sky":"sunny"}' },
    ])
  })

  it('and streaming', async () => {
    const { asked, options } = await setUp()
    const { stream } = streamText(options)
    let [text, reasoning] = ['', '']
    const parts = new Set<string>()
    for await (const part of stream) {
      parts.add(part.type)
      if (part.type === 'text-delta') text += part.text
      if (part.type === 'reasoning-delta') reasoning += part.text
    }
    expect([text, reasoning, asked]).toEqual(['I look.It is sunny in Oslo.', 'Oslo, then.', ['Oslo']])
    expect([...parts]).toEqual(expect.arrayContaining(['reasoning-end', 'text-end', 'tool-call', 'tool-result', 'finish']))
    expect(parts.has('error')).toBe(false)
  })
})
