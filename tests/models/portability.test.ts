import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { ChatMessage, JsonObject } from '../../src/core/messages.ts'
import type { ChatModel } from '../../src/models/chat-model.ts'
import { createModel } from '../../src/models/create-model.ts'
import type { MockProvider, WireName } from '../../src/testing/index.ts'
import type { MockReply } from '../../src/testing/mock/reply.ts'
import { findWire } from '../../src/testing/mock/wires.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { expectValidHistory } from '../hazards/stage.ts'
import { startStrictProvider } from './rules/strict-provider.ts'

interface Driver {
  name: string
  wire: WireName
  open(provider: MockProvider): ChatModel
}

const drivers: readonly Driver[] = [
  {
    name: 'openai',
    wire: 'chat-completions',
    open: ({ baseURL }) => createModel({ provider: 'openai', model: 'gpt-4o', apiKey: 'k', baseURL, maxRetries: 0 }),
  },
  {
    name: 'deepseek',
    wire: 'chat-completions',
    open: ({ baseURL }) => createModel({ provider: 'deepseek', model: 'deepseek-chat', apiKey: 'k', baseURL, maxRetries: 0 }),
  },
  {
    name: 'mistral',
    wire: 'chat-completions',
    open: ({ baseURL }) => createModel({ provider: 'mistral', model: 'mistral-medium-latest', apiKey: 'k', baseURL, maxRetries: 0 }),
  },
  {
    name: 'kimi',
    wire: 'chat-completions',
    open: ({ baseURL }) => createModel({ provider: 'moonshot', model: 'kimi-k2.6', apiKey: 'k', baseURL, maxRetries: 0 }),
  },
  {
    name: 'responses',
    wire: 'responses',
    open: ({ baseURL }) => createModel({ provider: 'openai-responses', model: 'gpt-5.2', apiKey: 'k', baseURL, maxRetries: 0 }),
  },
  {
    name: 'anthropic',
    wire: 'anthropic-messages',
    open: ({ url }) => createModel({ provider: 'anthropic', model: 'claude-sonnet-4-5', apiKey: 'sk-ant-k', baseURL: url, maxRetries: 0 }),
  },
  {
    name: 'google',
    wire: 'gemini-generate-content',
    open: ({ url }) => createModel({ provider: 'google', model: 'gemini-3.5-flash', apiKey: 'k', baseURL: url, maxRetries: 0 }),
  },
  {
    name: 'vertex',
    wire: 'gemini-generate-content',
    open: ({ url }) => createModel({ provider: 'vertex', model: 'gemini-2.5-flash', apiKey: 'k', baseURL: url, maxRetries: 0 }),
  },
]

const look = defineTool({
  name: 'look',
  description: 'Looks at a place.',
  parameters: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
  execute: ({ place }: JsonObject) => {
    if (place === 'nowhere') throw new Error('There is no such place')
    return `sunny in ${String(place)}`
  },
})

/**
 * A round with everything that a conversation may contain: reasoning, text beside calls, parallel calls, odd ids, an error, broken
 * arguments.
 */
function busyRound(name: string): MockReply[] {
  return [
    {
      reasoning: `${name} thinks. 思考`,
      text: `${name} looks. `,
      toolCalls: [
        { id: `functions.look:0/${name}`, name: 'look', arguments: { place: `Oslo of ${name}` } },
        { id: `${name} ✨ "${'x'.repeat(100)}"`, name: 'look', arguments: { place: 'nowhere' } },
        { id: '', name: 'look', arguments: '{"place": ' },
        { id: '', name: 'loook', arguments: '{}' },
      ],
      finishReason: 'stop',
    },
    `${name} has looked.`,
  ]
}

/** A part of the conversation with one provider. The mock refuses what the real provider would refuse. */
async function talk({ wire, open }: Driver, replies: MockReply[], messages: ChatMessage[], stream: boolean) {
  await using provider = await startStrictProvider({ script: replies })
  const runner = new AgentRunner({ model: open(provider), tools: [look], stream, logger: recordingLogger().logger })
  const said: ChatMessage = {
    role: 'user',
    content: [
      { type: 'text', text: 'What is it like there?' },
      { type: 'image', url: 'data:image/png;base64,aGk=' },
    ],
  }
  const result = await runner.run([said], { messages })
  expect(result.error).toBeUndefined()
  expect(result).toMatchObject({ stopReason: 'answered' })
  expectValidHistory(result.messages)
  const requests = provider.requests.map(({ body, rawBody }) => ({ ...findWire(wire).readRequest(body), rawBody }))
  return { result, requests }
}

describe.each([true, false])('a conversation continues with any other provider (streaming: %s)', (stream) => {
  // A route leads there and back. Without streaming, each pair of providers is tested in one direction.
  const routes = drivers.flatMap((first, at) =>
    drivers.filter((_other, to) => (stream ? to !== at : to > at)).map((other) => [first.name, other.name, first, other] as const),
  )

  it.each(routes)('H47 %s → %s → back: calls, parallel results, errors, reasoning, images, odd ids', async (_a, _b, first, other) => {
    const begun = await talk(first, busyRound('one'), [], stream)
    const continued = await talk(other, busyRound('two'), begun.result.messages, stream)
    const ended = await talk(first, ['All seen.'], continued.result.messages, stream)
    expect(ended.result.output).toBe('All seen.')

    // Whatever their ids, all calls of both rounds are there with their own results.
    for (const { messages } of [...continued.requests.slice(1), ...ended.requests]) {
      const calls = messages.flatMap((message) => ('toolCalls' in message ? message.toolCalls : []))
      const results = messages.flatMap((message) => (message.role === 'tool' ? [message] : []))
      expect(calls).toHaveLength(8)
      expect(results.map(({ toolCallId }) => toolCallId)).toEqual(calls.map(({ id }) => id))
      expect(results[0]?.content).toBe('sunny in Oslo of one')
      expect(results[4]?.content).toBe('sunny in Oslo of two')
    }
    // Reasoning is only sent back to the provider it came from.
    const secondSaw = continued.requests.map(({ rawBody }) => rawBody).join()
    expect(secondSaw).not.toContain('one thinks')
    expect(ended.requests.map(({ rawBody }) => rawBody).join()).not.toContain('two thinks')
    // The conversation itself only grows.
    expect(ended.result.messages.slice(0, continued.result.messages.length)).toEqual(continued.result.messages)
  })

  it('H47 Q21 thinking is sent back to the provider that signed it, after a round with another one', async () => {
    const [openai, anthropic] = ['openai', 'anthropic'].map((name) => drivers.find((driver) => driver.name === name))
    if (openai === undefined || anthropic === undefined) throw new Error('no drivers')
    const begun = await talk(anthropic, busyRound('one'), [], stream)
    const continued = await talk(openai, busyRound('two'), begun.result.messages, stream)
    const ended = await talk(anthropic, ['All seen.'], continued.result.messages, stream)
    const sent: { messages: { content: JsonObject[] }[] } = JSON.parse(ended.requests[0]?.rawBody ?? '')
    const thoughts = sent.messages.flatMap(({ content }) => content.filter(({ type }) => type === 'thinking'))
    expect(thoughts).toEqual([{ type: 'thinking', thinking: 'one thinks. 思考', signature: expect.stringContaining('signature') }])
    expect(sent.messages[1]?.content.map(({ type }) => type)).toEqual(['thinking', 'text', 'tool_use', 'tool_use', 'tool_use', 'tool_use'])
  })
})

describe('the loop over the Messages API', () => {
  it('S4-11 S4-12 S4-13 runs while stop_reason is tool_use, and sends tool_result blocks', async () => {
    const anthropic = drivers.find(({ name }) => name === 'anthropic')
    if (anthropic === undefined) throw new Error('no driver')
    await using provider = await startStrictProvider({
      script: [{ text: 'I look.', toolCalls: [{ id: 'toolu_1', name: 'look', arguments: { place: 'Rome' } }] }, 'Sunny.'],
    })
    const result = await new AgentRunner({ model: anthropic.open(provider), tools: [look] }).run('Rome?')
    expect(result).toMatchObject({ output: 'Sunny.', stopReason: 'answered', iterations: 2 })
    const [first, second] = provider.requests.map(({ body }) => body)
    expect(first?.tools).toMatchObject([{ name: 'look', input_schema: { type: 'object' } }])
    expect(second?.messages).toMatchObject([
      { role: 'user' },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', id: 'toolu_1', input: { place: 'Rome' } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'sunny in Rome' }] },
    ])
  })
})
