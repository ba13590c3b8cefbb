import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { ChatMessage, JsonObject } from '../../src/core/messages.ts'
import { createModel } from '../../src/models/create-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { startStrictProvider } from './rules/strict-provider.ts'

const call = (id: string, name: string) => ({ id, type: 'function' as const, function: { name, arguments: '{}' } })
const calls = (...made: [id: string, name: string][]): ChatMessage[] => [
  { role: 'assistant', content: '', toolCalls: made.map(([id, name]) => call(id, name)) },
  ...made.map(([id, name]): ChatMessage => ({ role: 'tool', content: `of ${id}`, toolCallId: id, name })),
]
/** Ids of another model, of Kimi, of a call before a compaction, and one that the conversation had to change. */
const conversation: ChatMessage[] = [
  { role: 'user', content: 'Hi' },
  ...calls(['call_a1b2', 'look'], ['toolu_01', 'read$&']),
  ...calls(['functions.look:0', 'look']),
  ...calls(['functions.look:0_2', 'look'], ['9', 'look']),
]
const ids = ['functions.look:0', 'functions.read__:1', 'functions.look:2', 'functions.look:3', 'functions.look:4']

/** The ids of calls and results, in the order in which they are sent. */
async function idsSent(settings: { provider: string; model: string; quirks?: JsonObject }, path = '/v1') {
  await using provider = await startStrictProvider({ script: ['ok'], refuse: () => undefined })
  const model = createModel({ apiKey: 'k', baseURL: `${provider.url}${path}`, maxRetries: 0, ...settings })
  const before = structuredClone(conversation)
  await model.generate({ messages: conversation })
  expect(conversation).toEqual(before)
  const sent = JSON.stringify(provider.requests[0]?.body.messages ?? provider.requests[0]?.body.input)
  const found = (pattern: RegExp) => [...sent.matchAll(pattern)].map(([, id]) => id)
  return {
    calls: [
      ...found(/"id":"([^"]*)","type":"function"/g),
      ...found(/"function_call","call_id":"([^"]*)"/g),
      ...found(/"tool_use","id":"([^"]*)"/g),
    ],
    results: found(/"(?:tool_call_id|tool_use_id)":"([^"]*)"|"function_call_output","call_id":"([^"]*)"/g).map((id) => id),
    outputs: sent,
  }
}

describe('call ids by a template', () => {
  it.each([
    ['moonshot', 'kimi-k2.6', '/v1'],
    ['moonshot', 'kimi-k2-thinking', '/v1'],
    ['vllm', 'moonshotai/Kimi-K2.7-Code', '/v1'],
    ['sglang', 'moonshotai/Kimi-K2-Instruct', '/v1'],
    ['custom', 'moonshotai/kimi-k2.5', '/v1'],
    ['openrouter', 'moonshotai/kimi-k2.6', '/v1'],
    ['groq', 'moonshotai/kimi-k2-instruct', '/v1'],
    ['openai', 'kimi-k2.6', '/v1'],
    ['azure', 'Kimi-K2.6', '/v1'],
    ['doubao', 'kimi-k2-thinking', '/v1'],
    ['lmstudio', 'moonshotai_Kimi-K2-Instruct-GGUF', '/v1'],
    ['anthropic-compatible', 'kimi-k2.6', ''],
  ])('F6 %s/%s: numbers the calls of any model, and their results, through the conversation', async (provider, model, path) => {
    const sent = await idsSent({ provider, model }, path)
    expect(sent.calls).toEqual(ids)
    expect(sent.results).toEqual(ids)
  })

  it('F6 apply to the Responses API, which Kimi’s own server speaks', async () => {
    const { outputs } = await idsSent({ provider: 'responses-compatible', model: 'moonshotai/Kimi-K2.6' })
    for (const id of ids) expect(outputs.split(`"call_id":"${id}"`)).toHaveLength(3)
  })

  it('F6 stay unchanged on other servers that accept them, unless a setting gives a template', async () => {
    expect((await idsSent({ provider: 'custom', model: 'model-x' })).calls).toEqual([
      'call_a1b2',
      'toolu_01',
      'functions.look:0',
      'functions.look:0_2',
      '9',
    ])
    const own = await idsSent({ provider: 'custom', model: 'model-x', quirks: { toolCallId: { template: 'NAME#INDEX' } } })
    expect(own.results).toEqual(['look#0', 'read__#1', 'look#2', 'look#3', 'look#4'])
    for (const toolCallId of [{ template: 'NAME' }, { template: 7 }, { pattern: '[' }, 'x', {}]) {
      expect(() =>
        createModel({ provider: 'custom', model: 'm', baseURL: 'http://localhost/v1', quirks: { toolCallId } as never }),
      ).toThrow('Expected `quirks.toolCallId` to be null, an object with a `pattern`')
    }
  })

  it('F6 keep the fields of each call during a run; the conversation keeps the model’s ids', async () => {
    const extra = { extra_content: { google: { thought_signature: 'sig' } } }
    const chunk = (delta: JsonObject, finish: string | null = null) => ({ id: 'c', choices: [{ index: 0, delta, finish_reason: finish }] })
    await using provider = await startStrictProvider({
      script: [
        {
          events: [
            chunk({
              tool_calls: [
                { index: 0, ...call('x1', 'look') },
                { index: 1, ...call('x2', 'look'), ...extra },
              ],
            }),
            chunk({}, 'tool_calls'),
            '[DONE]',
          ],
        },
        'Seen.',
      ],
    })
    const look = defineTool({ name: 'look', description: 'Looks.', parameters: { type: 'object' }, execute: () => 'seen' })
    const model = createModel({ provider: 'custom', model: 'kimi-k2.6', baseURL: provider.baseURL, maxRetries: 0 })
    const { messages } = await new AgentRunner({ model, tools: [look] }).run('Look twice.')
    expect(messages[1]).toMatchObject({ toolCalls: [{ id: 'x1' }, { id: 'x2' }] })
    expect(messages[3]).toMatchObject({ toolCallId: 'x2' })
    expect(provider.requests[1]?.body.messages).toMatchObject([
      {},
      { tool_calls: [{ id: 'functions.look:0' }, { id: 'functions.look:1', ...extra }] },
      { tool_call_id: 'functions.look:0' },
      { tool_call_id: 'functions.look:1' },
    ])
  })
})
