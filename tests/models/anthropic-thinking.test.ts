import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { ChatMessage, JsonObject } from '../../src/core/messages.ts'
import { createModel } from '../../src/models/create-model.ts'
import type { MockReply } from '../../src/testing/mock/reply.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { startStrictProvider } from './rules/strict-provider.ts'

const clock = defineTool({
  name: 'clock',
  description: 'The time.',
  parameters: { type: 'object', properties: {} },
  execute: () => '12:00',
})

/** Thinking as the server sends it, streamed or not: without a signature, with an empty one, or with its own. */
function reply(start: JsonObject, signatures: string[], stream: boolean, block: JsonObject): MockReply {
  const thinking = 'I need the clock.'
  const stop = block.type === 'tool_use' ? 'tool_use' : 'end_turn'
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    stop_reason: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  }
  if (!stream) {
    const signed: JsonObject = signatures.length === 0 ? {} : { signature: signatures.join('') }
    return { body: { ...message, content: [{ ...start, thinking, ...signed }, block], stop_reason: stop } }
  }
  const delta = (index: number, made: JsonObject) => ({ type: 'content_block_delta', index, delta: made })
  return {
    events: [
      { type: 'message_start', message: { ...message, content: [] } },
      { type: 'content_block_start', index: 0, content_block: { ...start, thinking: '' } },
      ...['I need ', 'the clock.'].map((piece) => delta(0, { type: 'thinking_delta', thinking: piece })),
      ...signatures.map((signature) => delta(0, { type: 'signature_delta', signature })),
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: block.type === 'text' ? { type: 'text', text: '' } : block },
      ...(block.type === 'text' ? [delta(1, { type: 'text_delta', text: block.text ?? '' })] : []),
      { type: 'content_block_stop', index: 1 },
      { type: 'message_delta', delta: { stop_reason: stop }, usage: { output_tokens: 2 } },
      { type: 'message_stop' },
    ],
  }
}

const call = { type: 'tool_use', id: 'toolu_1', name: 'clock', input: {} }
const forms: [name: string, start: JsonObject, signatures: string[], expected: JsonObject][] = [
  ['no signature', { type: 'thinking' }, [], {}],
  ['an empty signature', { type: 'thinking', signature: '' }, [''], { signature: '' }],
  ['its own signature', { type: 'thinking', signature: '' }, ['91cf', 'bb94'], { signature: '91cfbb94' }],
]

/** The assistant messages in the last request of two runs with tools. */
async function sentBack(settings: { provider: string; model: string }, start: JsonObject, signatures: string[], stream: boolean) {
  await using provider = await startStrictProvider({
    script: [reply(start, signatures, stream, call), reply(start, signatures, stream, { type: 'text', text: 'Noon.' }), 'Bye.'],
  })
  const model = createModel({ apiKey: 'sk-ant-k', baseURL: provider.url, maxRetries: 0, ...settings })
  const runner = new AgentRunner({ model, tools: [clock], stream, logger: recordingLogger().logger })
  const first = await runner.run('Time?')
  const second = await runner.run('Thanks!', { messages: first.messages })
  expect([first.stopReason, second.stopReason]).toEqual(['answered', 'answered'])
  const messages = provider.requests.at(-1)?.body.messages as { role: string; content: JsonObject[] }[]
  return messages.filter(({ role }) => role === 'assistant').map(({ content }) => content)
}

describe.each([true, false])('thinking on servers compatible with the Messages API (streaming: %s)', (stream) => {
  it.each(forms)('F3 is sent back unchanged, with %s, before calls and before answers', async (_name, start, signatures, expected) => {
    for (const settings of [
      { provider: 'anthropic-compatible', model: 'MiniMax-M3' },
      { provider: 'anthropic-compatible', model: 'deepseek-v4-pro' },
      { provider: 'anthropic', model: 'kimi-k2.6' },
    ]) {
      const [calls, answer] = await sentBack(settings, start, signatures, stream)
      const thought = { type: 'thinking', thinking: 'I need the clock.', ...expected }
      expect(calls?.[0]).toEqual(thought)
      expect(calls?.[1]).toMatchObject({ type: 'tool_use' })
      expect(answer).toEqual([thought, { type: 'text', text: 'Noon.' }])
    }
  })

  it('F3 is sent back to Claude only if Claude signed it, even behind a gateway', async () => {
    for (const settings of [
      { provider: 'anthropic', model: 'claude-sonnet-4-5' },
      { provider: 'anthropic-compatible', model: 'anthropic/claude-opus-5' },
    ]) {
      const [calls, answer] = await sentBack(settings, { type: 'thinking' }, [], stream)
      expect(calls?.map(({ type }) => type)).toEqual(['tool_use'])
      expect(answer).toEqual([{ type: 'text', text: 'Noon.' }])
      const [signed] = await sentBack(settings, { type: 'thinking' }, ['EqQB'], stream)
      expect(signed?.[0]).toEqual({ type: 'thinking', thinking: 'I need the clock.', signature: 'EqQB' })
    }
  })
})

describe('messages without thinking', () => {
  it.each([
    ['anthropic-compatible', 'deepseek-v4-pro', ''],
    ['anthropic', 'deepseek-v4-flash', ''],
    ['anthropic-compatible', 'kimi-k2.6', ' '],
  ])('F3 get some for %s/%s, which refuses messages without it: those of other models, and answers', async (provider, model, thinking) => {
    await using server = await startStrictProvider({ script: ['Bye.'] })
    const messages: ChatMessage[] = [
      { role: 'user', content: 'Time?' },
      {
        role: 'assistant',
        content: 'I look.',
        toolCalls: [{ id: 'c1', type: 'function', function: { name: 'clock', arguments: '{}' } }],
        providerData: { provider: 'openai', data: { reasoning: { field: 'reasoning', text: 'secret' } } },
      },
      { role: 'tool', content: '12:00', toolCallId: 'c1', name: 'clock' },
      { role: 'assistant', content: 'Noon.' },
    ]
    const runner = new AgentRunner({
      model: createModel({ provider, model, apiKey: 'sk-ant-k', baseURL: server.url, maxRetries: 0 }),
      tools: [clock],
      logger: recordingLogger().logger,
    })
    expect((await runner.run('Bye!', { messages })).stopReason).toBe('answered')
    const sent = server.requests[0]?.body.messages as { role: string; content: JsonObject[] }[]
    const own = sent.filter(({ role }) => role === 'assistant').map(({ content }) => content[0])
    expect(own).toEqual([
      { type: 'thinking', thinking, signature: '' },
      { type: 'thinking', thinking, signature: '' },
    ])
    expect(JSON.stringify(sent)).not.toContain('secret')
  })
})
