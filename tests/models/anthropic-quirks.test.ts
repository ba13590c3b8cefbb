import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { ChatMessage, Json, JsonObject } from '../../src/core/messages.ts'
import { hasToolCalls } from '../../src/core/messages.ts'
import type { ChatModel, ModelResponse } from '../../src/models/chat-model.ts'
import { createModel } from '../../src/models/create-model.ts'
import type { MockReply } from '../../src/testing/mock/reply.ts'
import type { MockProvider } from '../../src/testing/mock-provider.ts'
import { countingTool } from '../hazards/tools.ts'
import { readRecording } from './local-server.ts'
import { hello } from './one-request.ts'
import { ask, replay } from './replay.ts'
import { startStrictProvider } from './rules/strict-provider.ts'

const weather = { type: 'function' as const, function: { name: 'get_weather', arguments: '{"city":"東京"}' } }
const time = { type: 'function' as const, function: { name: 'get_time', arguments: '{"timezone":"JST"}' } }

function modelAt({ url }: MockProvider, model = 'claude-x'): ChatModel {
  return createModel({ provider: 'anthropic', model, apiKey: 'sk-ant-test', baseURL: url, maxRetries: 0 })
}

/** The complete message of a recording, as the API sends it without streaming. */
function wholeOf(recording: string): JsonObject {
  let message: JsonObject = {}
  const content: JsonObject[] = []
  for (const line of readRecording(recording)) {
    const event: JsonObject = JSON.parse(line)
    if (event.type === 'message_start') message = { ...(event.message as JsonObject) }
    if (event.type === 'content_block_start') content[Number(event.index)] = { ...(event.content_block as JsonObject) }
    if (event.type === 'message_delta') {
      Object.assign(message, event.delta)
      message.usage = { ...(message.usage as JsonObject), ...(event.usage as JsonObject) }
    }
    const block = content[Number(event.index)]
    if (event.type !== 'content_block_delta' || block === undefined) continue
    const { partial_json, citation, type: _, ...texts } = event.delta as JsonObject
    for (const [key, text] of Object.entries(texts)) block[key] = `${String(block[key] ?? '')}${String(text)}`
    if (partial_json !== undefined) block.json = `${String(block.json ?? '')}${String(partial_json)}`
    if (citation !== undefined) block.citations = [...((block.citations ?? []) as Json[]), citation]
  }
  const own = content.map(({ json, ...block }) => (json ? { ...block, input: JSON.parse(String(json)) } : block))
  return { ...message, content: [...((message.content ?? []) as Json[]), ...own] }
}

async function whole(recording: string): Promise<ModelResponse> {
  await using server = await startStrictProvider({ script: [{ body: wholeOf(recording) }] })
  return await ask(modelAt(server), { stream: false })
}

/** Streamed and not streamed, which must give the same result. */
async function both(recording: string): Promise<ModelResponse> {
  const streamed = await replay(modelAt, recording)
  const unstreamed = await whole(recording)
  const comparable = (response: ModelResponse) => ({
    ...response,
    toolCalls: response.toolCalls.map(({ function: { name, arguments: json }, ...call }) => ({ ...call, name, args: JSON.parse(json) })),
  })
  expect(comparable(unstreamed)).toEqual(comparable(streamed))
  return streamed
}

describe('responses of the Messages API, complete and split, streamed and not', () => {
  it('Q19 S2-27 a call without arguments has {}', async () => {
    const { toolCalls, text, finishReason } = await both('q19-no-arguments')
    const refresh = { type: 'function', function: { name: 'refresh', arguments: '{}' } }
    expect(toolCalls).toEqual([
      { id: 'toolu_a', ...refresh },
      { id: 'toolu_b', ...refresh },
    ])
    expect([text, finishReason]).toEqual(['I refresh it.', 'tool_calls'])
  })

  it('Q19 S2-45 arguments are split inside keys, characters and escapes', async () => {
    const { toolCalls } = await both('q19-cut-anywhere')
    expect(JSON.parse(toolCalls[0]?.function.arguments ?? '')).toEqual({ city: '東京', note: 'a\né "b"' })
  })

  it('Q19 S2-27 the input is complete in the start of its block', async () => {
    const { toolCalls } = await both('q19-input-in-start')
    expect(toolCalls).toEqual([
      { id: 'toolu_a', ...weather },
      { id: 'toolu_b', ...time },
    ])
  })

  it('Q20 a call and the stop reason are in the start of the message; the call is sent back with its caller and container', async () => {
    const response = await replay(modelAt, 'q20-calls-in-message-start')
    expect(response).toMatchObject({ toolCalls: [{ id: 'toolu_a', ...weather }], finishReason: 'tool_calls' })
    const caller = { type: 'code_execution_20250825', tool_id: 'srvtoolu_1' }
    const { assistant, body } = await sentBack(response)
    expect(assistant).toEqual([{ type: 'tool_use', id: 'toolu_a', name: 'get_weather', input: { city: '東京' }, caller }])
    expect(body.container).toBe('container_9')
  })

  it('Q20 unknown events and blocks, pings, and text between calls are accepted', async () => {
    const response = await replay(modelAt, 'q20-unknown-and-mixed')
    expect(response).toMatchObject({
      text: 'First, then.',
      toolCalls: [
        { id: 'toolu_a', ...weather },
        { id: 'toolu_b', ...time },
      ],
      finishReason: 'tool_calls',
      warnings: [expect.stringContaining('`hologram`')],
    })
    expect(response).not.toHaveProperty('providerData')
  })

  it('Q21 thinking and redacted thinking are kept verbatim and sent back in place', async () => {
    const response = await both('q21-thinking')
    expect(response).toMatchObject({ reasoning: 'Two cities, two calls. 思考And the time.', text: 'I look it up.' })
    expect(response.usage).toMatchObject({ outputTokens: 80, reasoningTokens: 33 })
    const { assistant } = await sentBack(response)
    expect(assistant).toEqual([
      { type: 'thinking', thinking: 'Two cities, two calls. 思考', signature: 'EqQB/one==' },
      { type: 'redacted_thinking', data: 'EmwK/redacted==' },
      { type: 'text', text: 'I look it up.' },
      { type: 'tool_use', id: 'toolu_a', name: 'get_weather', input: { city: '東京' } },
      { type: 'thinking', thinking: 'And the time.', signature: 'EqQB/two==' },
      { type: 'tool_use', id: 'toolu_b', name: 'get_time', input: { timezone: 'JST' } },
    ])
  })

  it('Q21 only the opening thinking of a changed message is sent back, and none to another provider', async () => {
    const response = await replay(modelAt, 'q21-thinking')
    const { assistant } = await sentBack({ ...response, text: 'Edited.' })
    expect(assistant.map(({ type }) => type)).toEqual(['thinking', 'redacted_thinking', 'text', 'tool_use', 'tool_use'])
    const foreign = { ...response, providerData: { provider: 'other', data: response.providerData?.data ?? {} } }
    const sent = await sentBack(foreign)
    expect(sent.assistant.map(({ type }) => type)).toEqual(['text', 'tool_use', 'tool_use'])
  })

  it('Q22 H20 blocks of the provider’s own tools are kept and not returned as calls', async () => {
    const response = await both('q22-server-tools')
    expect(response).toMatchObject({ text: 'I search. It rains.', toolCalls: [], finishReason: 'stop' })
    const { assistant } = await sentBack(response)
    expect(assistant.map(({ type }) => type)).toEqual(['text', 'server_tool_use', 'web_search_tool_result', 'text'])
    expect(assistant[1]).toMatchObject({ id: 'srvtoolu_1', input: { query: 'rain' } })
    expect(assistant[3]).toMatchObject({ text: 'It rains.', citations: [{ encrypted_index: 'Eo8B' }] })
  })

  it('Q22 after pause_turn, the turn is sent back and continued as one response with the usage of both', async () => {
    const response = await replay(modelAt, 'q22-pause', 'q22-after-pause')
    expect(response).toMatchObject({ text: 'I search. It rains.', toolCalls: [], finishReason: 'stop', rawFinishReason: 'end_turn' })
    expect(response.usage).toEqual({ inputTokens: 150, outputTokens: 45, totalTokens: 195, cacheReadTokens: 10 })
    await using server = await startStrictProvider({ recordings: ['q22-pause', 'q22-after-pause'].map(readRecording) })
    await ask(modelAt(server))
    const [first, second] = server.requests.map(({ body }) => body.messages as JsonObject[])
    expect(first).toMatchObject([{ role: 'user', content: [{ text: 'Hello' }] }])
    expect(second?.[0]).toMatchObject({ role: 'user', content: [{ text: 'Hello' }] })
    expect(second?.[1]).toMatchObject({
      role: 'assistant',
      content: [{ type: 'text' }, { type: 'server_tool_use', input: { query: 'rain' } }],
    })
    const kept = (await sentBack(response)).assistant
    expect(kept.map(({ type }) => type)).toEqual(['text', 'server_tool_use', 'web_search_tool_result', 'text'])
  })

  it('Q22 a turn that is paused forever is left unfinished, with a warning', async () => {
    await using server = await startStrictProvider({ script: () => ({ text: 'on ', rawFinishReason: 'pause_turn' }) })
    const response = await ask(modelAt(server), { stream: false })
    expect(server.requests).toHaveLength(17)
    expect(response).toMatchObject({ text: 'on '.repeat(17), finishReason: 'length', rawFinishReason: 'pause_turn' })
    expect(response.warnings?.join()).toContain('16 times')
  })

  it('Q22 an abort in the second request of a paused turn ends it', async () => {
    await using server = await startStrictProvider({ script: [{ text: 'a', rawFinishReason: 'pause_turn' }, { hang: true }] })
    const controller = new AbortController()
    const asked = ask(modelAt(server), { signal: controller.signal })
    void server.waitForRequest(2).then(() => controller.abort())
    await expect(asked).rejects.toMatchObject({ code: 'aborted' })
  })

  it('Q22 a refusal is named; calls beside it are dropped, and its explanation replaces a missing text', async () => {
    const response = await both('q22-refusal')
    expect(response).toMatchObject({ text: 'I could ', toolCalls: [], finishReason: 'refusal', rawFinishReason: 'refusal' })
    expect(response.warnings).toEqual(['1 tool call(s) of a refused response were dropped'])
    const body = { ...wholeOf('q22-refusal'), content: [] }
    await using server = await startStrictProvider({ script: [{ body }] })
    expect(await ask(modelAt(server), { stream: false })).toMatchObject({ text: 'This was declined.', finishReason: 'refusal' })
  })

  it('Q22 with a full context window, a partial answer is cut off, and no answer is context_overflow', async () => {
    const rawFinishReason = 'model_context_window_exceeded'
    for (const stream of [true, false]) {
      await using server = await startStrictProvider({ script: [{ text: 'Half', rawFinishReason }, { rawFinishReason }] })
      const model = modelAt(server)
      expect(await ask(model, { stream })).toMatchObject({ text: 'Half', finishReason: 'length', rawFinishReason })
      await expect(ask(model, { stream })).rejects.toMatchObject({ code: 'context_overflow', retryable: false })
    }
  })

  it('Q23 overloaded_error inside a stream is retried unless something was shown', async () => {
    await using server = await startStrictProvider({ recordings: [readRecording('q23-overloaded'), readRecording('q24-usage')] })
    const model = createModel({ provider: 'anthropic', model: 'claude-x', apiKey: 'sk-ant-t', baseURL: server.url, maxRetryDelayMs: 1 })
    expect(await model.generate({ messages: hello })).toMatchObject({ text: 'Hi', retries: 1 })
    await using other = await startStrictProvider({ recordings: [readRecording('q23-overloaded')] })
    const shown = ask(createModel({ provider: 'anthropic', model: 'claude-x', apiKey: 'sk-ant-t', baseURL: other.url }))
    await expect(shown).rejects.toMatchObject({
      code: 'provider_error',
      providerCode: 'overloaded_error',
      retryable: true,
      partial: { text: 'Half an answer' },
    })
  })

  it('Q24 usage adds up: input_tokens exclude the cache', async () => {
    const { usage } = await both('q24-usage')
    expect(usage).toEqual({
      inputTokens: 4307,
      outputTokens: 12,
      totalTokens: 4319,
      reasoningTokens: 5,
      cacheReadTokens: 4000,
      cacheWriteTokens: 300,
    })
  })

  const message = (usage: JsonObject, id = 'msg_1'): JsonObject => ({
    type: 'message_start',
    message: { id, type: 'message', role: 'assistant', model: 'claude-x', content: [], stop_reason: null, usage },
  })
  const text = (index: number, words: string): JsonObject[] => [
    { type: 'content_block_start', index, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index, delta: { type: 'text_delta', text: words } },
    { type: 'content_block_stop', index },
  ]
  const end = (usage: JsonObject): JsonObject[] => [
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
    { type: 'message_stop' },
  ]
  const lines = (...events: JsonObject[]) => events.map((event) => JSON.stringify(event))
  const answer = async (...events: JsonObject[]) => {
    await using server = await startStrictProvider({ recordings: [lines(...events)] })
    return await ask(modelAt(server))
  }

  it('Q24 a later input count corrects the first, even downwards; one that counts nothing does not', async () => {
    const first = { input_tokens: 1000, output_tokens: 1 }
    for (const [later, usage] of [
      [
        { input_tokens: 1200, output_tokens: 5 },
        { inputTokens: 1200, outputTokens: 5, totalTokens: 1205 },
      ],
      [
        { input_tokens: 900, output_tokens: 5 },
        { inputTokens: 900, outputTokens: 5, totalTokens: 905 },
      ],
      [
        { input_tokens: 0, cache_read_input_tokens: 1000, output_tokens: 5 },
        { inputTokens: 1000, outputTokens: 5, totalTokens: 1005, cacheReadTokens: 1000 },
      ],
      [
        { input_tokens: 0, output_tokens: 5 },
        { inputTokens: 1000, outputTokens: 5, totalTokens: 1005 },
      ],
      [{ output_tokens: 5 }, { inputTokens: 1000, outputTokens: 5, totalTokens: 1005 }],
    ] as const) {
      expect((await answer(message(first), ...text(0, 'Hi'), ...end(later))).usage).toEqual(usage)
    }
    const cached = message({ input_tokens: 0, cache_read_input_tokens: 1000, output_tokens: 1 })
    const nothing = { input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 5 }
    expect((await answer(cached, ...text(0, 'Hi'), ...end(nothing))).usage).toMatchObject({ inputTokens: 1000, cacheReadTokens: 1000 })
  })

  it('Q24 a compaction of the conversation is counted, and its summary is sent back with the answer', async () => {
    const pass = { type: 'compaction', input_tokens: 5000, output_tokens: 300, cache_read_input_tokens: 100 }
    const iterations = [pass, { type: 'message', input_tokens: 40, output_tokens: 7 }]
    const usage = { input_tokens: 40, output_tokens: 7, iterations }
    const streamed = await answer(
      message({ input_tokens: 5000, output_tokens: 1 }),
      { type: 'content_block_start', index: 0, content_block: { type: 'compaction', content: null } },
      { type: 'content_block_delta', index: 0, delta: { type: 'compaction_delta', content: 'They met' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'compaction_delta', content: ' in Oslo.' } },
      { type: 'content_block_stop', index: 0 },
      ...text(1, 'Hi'),
      ...end(usage),
    )
    const summary = { type: 'compaction', content: 'They met in Oslo.' }
    const content = [summary, { type: 'text', text: 'Hi' }]
    const body = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-x', content, stop_reason: 'end_turn', usage }
    await using server = await startStrictProvider({ script: [{ body }, 'ok'] })
    const model = modelAt(server)
    const whole = await ask(model, { stream: false })
    expect(streamed).toEqual(whole)
    expect(streamed.usage).toEqual({ inputTokens: 5140, outputTokens: 307, totalTokens: 5447, cacheReadTokens: 100 })
    const { text: said, providerData } = streamed
    await ask(model, { messages: [...hello, { role: 'assistant', content: said, ...(providerData && { providerData }) }, ...hello] })
    expect(server.requests[1]?.body.messages).toMatchObject([{}, { content: [summary, { type: 'text', text: 'Hi' }] }, {}])
  })

  it('H41 a second message in one stream is not part of the first, which was cut off', async () => {
    const call = { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'a', name: 'pay', input: {} } }
    const spliced = [message({ input_tokens: 9, output_tokens: 1 }), ...text(0, 'One'), message({ input_tokens: 9 }, 'msg_2'), call]
    await expect(answer(...spliced, ...end({ output_tokens: 5 }))).rejects.toMatchObject({
      code: 'stream_cut',
      retryable: true,
      partial: { text: 'One' },
    })
    // Some gateways send the start twice.
    const twice = [message({ input_tokens: 9, output_tokens: 1 }), message({ input_tokens: 9, output_tokens: 1 })]
    expect(await answer(...twice, ...text(0, 'One'), ...end({ output_tokens: 5 }))).toMatchObject({ text: 'One', finishReason: 'stop' })
  })

  it('H12 H18 with a placeholder, repeated arguments, and repeated or missing ids, every call has its own arguments once', async () => {
    const start = (index: number, id: string | undefined, input: JsonObject = {}): JsonObject => ({
      type: 'content_block_start',
      index,
      content_block: { type: 'tool_use', ...(id === undefined ? {} : { id }), name: 'look', input },
    })
    const json = (index: number, partial: string): JsonObject => ({
      type: 'content_block_delta',
      index,
      delta: { type: 'input_json_delta', partial_json: partial },
    })
    const stop = (index: number): JsonObject => ({ type: 'content_block_stop', index })
    const end: JsonObject[] = [{ type: 'message_delta', delta: { stop_reason: 'tool_use' } }, { type: 'message_stop' }]
    const events: MockReply = {
      events: [
        ...[start(0, 'same'), json(0, '{}'), json(0, '{"a":'), json(0, '1}'), stop(0)],
        ...[start(1, 'same'), json(1, '{"a":2}'), json(1, '{"a": 2}'), stop(1)],
        ...[start(2, undefined, { a: 3 }), stop(2), start(3, undefined), stop(3)],
        ...end,
      ],
    }
    const look = countingTool('look')
    await using server = await startStrictProvider({ script: [events, 'done'] })
    const result = await new AgentRunner({ model: modelAt(server), tools: [look.tool] }).run('go')
    expect(result).toMatchObject({ stopReason: 'answered', output: 'done' })
    expect(look.calls).toEqual([{ a: 1 }, { a: 2 }, { a: 3 }, {}])
    expect(new Set(result.toolCalls.map(({ id }) => id)).size).toBe(4)
  })

  it('H15 incomplete arguments are a cut response, whatever the stop reason', async () => {
    const cut = { toolCalls: [{ name: 'look', arguments: '{"a":' }], rawFinishReason: 'tool_use' }
    await using server = await startStrictProvider({ script: [cut] })
    expect(await ask(modelAt(server))).toMatchObject({ finishReason: 'length', warnings: [expect.stringContaining('cut off')] })
  })
})

/** The parts of a response that are sent in the next round, with results for its calls. */
async function sentBack(response: ModelResponse): Promise<{ assistant: JsonObject[]; body: JsonObject }> {
  await using server = await startStrictProvider({ script: ['ok'] })
  const { text, toolCalls, providerData } = response
  const message: ChatMessage = {
    role: 'assistant',
    content: text,
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
    ...(providerData === undefined ? {} : { providerData }),
  }
  const results = hasToolCalls(message)
    ? message.toolCalls.map(({ id }): ChatMessage => ({ role: 'tool', toolCallId: id, content: 'x' }))
    : []
  await ask(modelAt(server), { messages: [...hello, message, ...results, { role: 'user', content: 'And?' }] })
  const body = server.requests[0]?.body ?? {}
  const turns = body.messages as { role: string; content: JsonObject[] }[]
  return { assistant: turns.find(({ role }) => role === 'assistant')?.content ?? [], body }
}
