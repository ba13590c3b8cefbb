import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { type ChatMessage, hasToolCalls, type JsonObject } from '../../src/core/messages.ts'
import type { ChatModel, ModelResponse } from '../../src/models/chat-model.ts'
import { createModel } from '../../src/models/create-model.ts'
import type { ModelSettings } from '../../src/models/settings.ts'
import type { MockReply } from '../../src/testing/mock/reply.ts'
import type { MockProvider } from '../../src/testing/mock-provider.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { countingTool } from '../hazards/tools.ts'
import { readRecording } from './local-server.ts'
import { hello } from './one-request.ts'
import { ask, replay, replayCut } from './replay.ts'
import { startStrictProvider } from './rules/strict-provider.ts'

function modelAt({ baseURL }: Pick<MockProvider, 'baseURL'>, settings: Partial<ModelSettings> = {}): ChatModel {
  return createModel({ provider: 'openai-responses', model: 'gpt-5.2', apiKey: 'test-key', baseURL, maxRetries: 0, ...settings })
}

/** The response at the end of a recorded stream, as the API sends it without streaming. */
function wholeOf(recording: string): JsonObject {
  const end = readRecording(recording)
    .filter((line) => line.startsWith('{'))
    .map((line): JsonObject => JSON.parse(line))
    .findLast(({ response }) => response !== undefined)
  return end?.response as JsonObject
}

/** Streamed and not streamed, which must give the same result. */
async function both(recording: string, settings: Partial<ModelSettings> = {}): Promise<ModelResponse> {
  const streamed = await replayCut((server) => modelAt(server, settings), [7, 'random'], [recording])
  await using server = await startStrictProvider({ script: [{ body: wholeOf(recording) }] })
  expect(await ask(modelAt(server, settings), { stream: false })).toEqual(streamed)
  return streamed
}

/** The items that are sent when the conversation continues with the response. */
async function sentBack({ text, toolCalls, providerData }: ModelResponse, settings: Partial<ModelSettings> = {}): Promise<JsonObject[]> {
  await using server = await startStrictProvider({ script: ['ok'] })
  const said: ChatMessage = {
    role: 'assistant',
    content: text,
    ...(providerData === undefined ? {} : { providerData }),
    ...(toolCalls.length > 0 ? { toolCalls } : {}),
  }
  const results = toolCalls.map(({ id }): ChatMessage => ({ role: 'tool', content: 'done', toolCallId: id }))
  await modelAt(server, settings).generate({ messages: [...hello, said, ...results] })
  const { input } = server.requests[0]?.body ?? {}
  return (input as JsonObject[]).slice(hello.length)
}

const outputs = (recording: string) => wholeOf(recording).output as JsonObject[]

describe('responses of the Responses API, complete and split, streamed and not', () => {
  it('S2-43 S3-20 reasoning, text and parallel calls stay in place and are sent back unchanged', async () => {
    const response = await both('responses-reasoning-and-calls')
    expect(await replay(modelAt, 'responses-reasoning-and-calls')).toEqual(response)
    expect(response).toMatchObject({
      text: 'I look at both: 東京 🙂 and Oslo.',
      reasoning: '**Two places**\n\nThe user wants 東京 and Oslo.\n\n**Both at once**\n\nNo need to wait.',
      toolCalls: [
        { id: 'call_weather', type: 'function', function: { name: 'get_weather', arguments: '{"city":"東京","note":"a\\né"}' } },
        { id: 'call_time', type: 'function', function: { name: 'get_time', arguments: '{"timezone":"JST"}' } },
      ],
      finishReason: 'tool_calls',
      rawFinishReason: 'completed',
      usage: { inputTokens: 310, cacheReadTokens: 256, outputTokens: 95, reasoningTokens: 64, totalTokens: 405 },
      model: 'gpt-5.2-2025-12-11',
    })
    expect(response).not.toHaveProperty('warnings')
    const items = await sentBack(response)
    const [reasoning, message, ...calls] = outputs('responses-reasoning-and-calls')
    expect(items.slice(0, 4)).toEqual([reasoning, { ...message, content: [{ type: 'output_text', text: response.text }] }, ...calls])
    expect(items.slice(4)).toMatchObject([
      { type: 'function_call_output', call_id: 'call_weather', output: 'done' },
      { type: 'function_call_output', call_id: 'call_time' },
    ])
  })

  it('S2-43 S2-44 interleaved deltas of parallel calls are assembled completely and in order', async () => {
    const { toolCalls, providerData } = await both('responses-interleaved-calls')
    expect(toolCalls.map((call) => [call.id, call.function.name, call.function.arguments])).toEqual([
      ['call_0', 'get_weather', '{"city":"tokyo"}'],
      ['call_1', 'get_time', '{"timezone":"JST"}'],
    ])
    // Without reasoning, an item's own id is not needed.
    expect(providerData).toBeUndefined()
  })

  it('a custom tool’s call has the argument `input`, and is sent back as a custom call with its result', async () => {
    const response = await both('responses-custom-call', { providerOptions: { tools: [{ type: 'custom', name: 'write_sql' }] } })
    const sql = 'SELECT "name"\nFROM users WHERE note = \'é\\n🙂\''
    expect(response.toolCalls).toEqual([
      { id: 'call_sql', type: 'function', function: { name: 'write_sql', arguments: expect.any(String) } },
    ])
    expect(JSON.parse(response.toolCalls[0]?.function.arguments ?? '')).toEqual({ input: sql })
    const items = await sentBack(response)
    expect(items).toMatchObject([
      { type: 'custom_tool_call', call_id: 'call_sql', name: 'write_sql', input: sql },
      { type: 'custom_tool_call_output', call_id: 'call_sql', output: 'done' },
    ])
    expect(await sentBack({ ...response, providerData: { provider: 'other', data: response.providerData?.data ?? {} } })).toMatchObject([
      { type: 'function_call', arguments: response.toolCalls[0]?.function.arguments },
      { type: 'function_call_output' },
    ])
  })

  it('H42 a refusal is the text, named as a refusal, and is sent back as one', async () => {
    const response = await both('responses-refusal')
    expect(response).toMatchObject({ text: 'I can’t help with that.', finishReason: 'refusal', toolCalls: [] })
    expect(await sentBack(response)).toMatchObject([
      { role: 'assistant', content: [{ type: 'refusal', refusal: 'I can’t help with that.' }] },
    ])
  })

  it('H20 items of the provider’s own tools, and of unknown types, are not calls; they are sent back in place', async () => {
    const response = await both('responses-server-tools')
    expect(response).toMatchObject({ text: 'It is in Jeddah. It is 133 m tall.', toolCalls: [], finishReason: 'stop' })
    const back = await sentBack(response)
    const own = outputs('responses-server-tools')
    expect(back.slice(0, 4)).toEqual(own.slice(0, 4))
    const annotations = [expect.objectContaining({ type: 'url_citation', title: 'Lighthouses' })]
    expect(back.slice(4)).toEqual([
      {
        ...own[4],
        content: [
          { type: 'output_text', text: 'It is in Jeddah.', annotations },
          { type: 'output_text', text: ' It is 133 m tall.' },
        ],
      },
    ])
  })

  it('a call of the provider’s program is sent back with its program, and its result says so', async () => {
    const caller = { type: 'program', caller_id: 'prog_1' }
    const program = { id: 'pg_1', type: 'program', call_id: 'prog_1', code: 'await look()', fingerprint: 'f' }
    const call = { id: 'fc_1', type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}', caller }
    await using server = await startStrictProvider({ script: [{ body: { ...wholeOf('responses-refusal'), output: [program, call] } }] })
    const response = await ask(modelAt(server), { stream: false })
    expect(response).not.toHaveProperty('warnings')
    expect(await sentBack(response)).toEqual([program, call, { type: 'function_call_output', call_id: 'call_1', output: 'done', caller }])
  })

  it('an item that waits for something impossible is left out together with everything that refers to it, with a warning', async () => {
    const response = await both('responses-waiting-item')
    expect(response.warnings).toEqual([expect.stringContaining('`computer_call`')])
    const types = (await sentBack(response)).map(({ type }) => type)
    expect(types).toEqual(['reasoning', 'message'])
  })

  const item = (index: number, added: JsonObject, done: JsonObject = added, between: JsonObject[] = []): JsonObject[] => [
    { type: 'response.output_item.added', output_index: index, item: added },
    ...between.map((event) => ({ output_index: index, item_id: added.id ?? '', ...event })),
    { type: 'response.output_item.done', output_index: index, item: done },
  ]
  const said = (text: string): JsonObject => ({ id: 'msg', type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] })
  const completed: JsonObject = { type: 'response.completed', response: { id: 'resp_1', status: 'completed', output: [] } }
  const answer = async (...events: JsonObject[]) => {
    await using server = await startStrictProvider({ recordings: [[...events, completed].map((event) => JSON.stringify(event))] })
    return await ask(modelAt(server))
  }

  it('H20 a custom call of a tool that is not in the request is the provider’s own: it is not run or waited for', async () => {
    const own = { id: 'ctc_1', type: 'custom_tool_call', call_id: 'xs_1', name: 'search_posts', status: 'completed' }
    const query = '{"query":"lighthouses"}'
    const pieces = [{ type: 'response.custom_tool_call_input.delta', delta: query }]
    const search = item(0, { ...own, input: '' }, { ...own, input: query }, pieces)
    const response = await answer(...search, ...item(1, said('It is tall.')))
    expect(response).toMatchObject({ text: 'It is tall.', toolCalls: [], finishReason: 'stop' })
    expect(response).not.toHaveProperty('warnings')
    expect(await sentBack(response)).toEqual([{ role: 'assistant', content: 'It is tall.' }])
  })

  it('H20 an item of the provider’s own tools with an empty call id waits for nothing', async () => {
    const search = { id: 'fc_1', type: 'x_search_call', call_id: '', name: 'x_search', arguments: '{}', status: 'completed' }
    const response = await answer(...item(0, search), ...item(1, said('It is tall.')))
    expect(response).toMatchObject({ text: 'It is tall.', finishReason: 'stop' })
    expect(response).not.toHaveProperty('warnings')
    expect(await sentBack(response)).toMatchObject([search, { role: 'assistant' }])
  })

  it('a response that only waits for an approval, or for a result, of a hosted tool names it, and is not retried', async () => {
    const approval = { id: 'mcpr_1', type: 'mcp_approval_request', name: 'send_mail', server_label: 'post', arguments: '{}' }
    const shell = { id: 'sh_1', type: 'local_shell_call', call_id: 'call_1', status: 'completed', action: { command: ['ls'] } }
    for (const [waiting, named] of [
      [approval, 'it waits for an approval of `send_mail` of the MCP server `post`'],
      [shell, 'An item of type `local_shell_call` was not kept: it waits for a result'],
    ] as const) {
      const recording = [...item(0, waiting), completed].map((event) => JSON.stringify(event))
      await using server = await startStrictProvider({ recordings: [recording] })
      const { error, stopReason } = await new AgentRunner({ model: modelAt(server), logger: recordingLogger().logger }).run('go')
      expect(stopReason).toBe('model_error')
      expect(error).toMatchObject({ code: 'provider_error', message: expect.stringContaining(named) })
      expect(server.requests).toHaveLength(1)
      // Beside an answer it is only reported.
      const beside = await answer(...item(0, waiting), ...item(1, said('Shall I?')))
      expect(beside).toMatchObject({ text: 'Shall I?', warnings: [expect.stringContaining(named)] })
    }
  })

  it('the final state of an item is added only if it continues what was streamed', async () => {
    const delta = (text: string): JsonObject[] => [{ type: 'response.output_text.delta', content_index: 0, delta: text }]
    const begun = { ...said(''), content: [] }
    expect(await answer(...item(0, begun, said('It ran well.'), delta('It ran')))).toMatchObject({ text: 'It ran well.' })
    expect(await answer(...item(0, begun, said('It ran'), delta('It ran well.')))).toMatchObject({ text: 'It ran well.' })

    const other = item(0, begun, said('It ran in the box, and well.'), delta('It ran well.'))
    const warnings = ['The text at the end of the response is not the one that was streamed']
    expect(await answer(...other)).toMatchObject({ text: 'It ran well.', warnings })
    await using server = await startStrictProvider({ recordings: [[...other, completed].map((event) => JSON.stringify(event))] })
    expect(await modelAt(server).generate({ messages: hello })).toMatchObject({ text: 'It ran in the box, and well.', warnings })

    const call = { id: 'fc_1', type: 'function_call', call_id: 'call_1', name: 'look', arguments: '' }
    const pieces = [{ type: 'response.function_call_arguments.delta', delta: '{"a":1}' }]
    expect(await answer(...item(0, call, { ...call, arguments: '{"a": 1}' }, pieces))).toMatchObject({
      toolCalls: [{ function: { arguments: '{"a":1}' } }],
    })
  })

  it.each([
    ['function_call', 'arguments', 'response.function_call_arguments.delta', '{"city":"Oslo"}', '{"city":"Paris"}', '{"city":"Paris"}'],
    ['function_call', 'arguments', 'response.function_call_arguments.delta', '{"city":"Os', '{"city":"Paris"}', '{"city":"Paris"}'],
    ['custom_tool_call', 'input', 'response.custom_tool_call_input.delta', 'Oslo', 'Paris', '{"input":"Paris"}'],
  ])('a %s whose final %s differ: the final ones count, or none if the first were shown', async (type, key, event, first, last, whole) => {
    const call = { id: 'fc_1', type, call_id: 'call_1', name: 'look', [key]: '' }
    const events = [...item(0, call, { ...call, [key]: last }, [{ type: event, delta: first }]), completed]
    const warnings = ['Tool call `look` came with two different sets of arguments']
    const tools = [{ type: 'function' as const, function: { name: 'look', description: '', parameters: {} } }]
    const request = { messages: hello, tools }
    await using server = await startStrictProvider({ recordings: [1, 2].map(() => events.map((one) => JSON.stringify(one))) })
    expect(await modelAt(server).generate(request)).toMatchObject({ toolCalls: [{ function: { arguments: whole } }], warnings })

    const shown: string[] = []
    const streamed = await modelAt(server).generate(request, { toolCallDelta: (_, delta) => shown.push(delta) })
    expect(streamed).toMatchObject({ toolCalls: [{ function: { arguments: shown.join('') } }], warnings })
    expect(() => JSON.parse(shown.join(''))).toThrow()
  })

  it('H15 a response that is cut off in a call has `length`, and the call is incomplete', async () => {
    const response = await both('responses-cut-in-a-call')
    expect(response).toMatchObject({ finishReason: 'length', rawFinishReason: 'max_output_tokens', text: 'I write it.' })
    const write = countingTool('write_file')
    await using server = await startStrictProvider({ script: [{ recording: readRecording('responses-cut-in-a-call') }, 'Again.'] })
    const result = await new AgentRunner({ model: modelAt(server), tools: [write.tool] }).run('go')
    expect(write.calls).toEqual([])
    expect(result).toMatchObject({ output: 'Again.', toolCalls: [{ errorCode: 'tool_call_truncated' }] })
  })

  it('H42 a response that the content filter cuts off is named so', async () => {
    expect(await both('responses-filtered')).toMatchObject({ finishReason: 'content_filter', text: 'The first  words' })
    const call = { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'look', arguments: '{}' }
    const body = { ...wholeOf('responses-filtered'), output: [call] }
    await using server = await startStrictProvider({ script: [{ body }] })
    const response = await ask(modelAt(server), { stream: false })
    expect(response).toMatchObject({
      toolCalls: [],
      finishReason: 'content_filter',
      rawFinishReason: 'content_filter',
      warnings: ['1 tool call(s) of a filtered response were dropped'],
    })
  })

  it('H42 H40 errors inside a stream end it by their code, and keep what arrived', async () => {
    const cases = [
      ['responses-error-event', { code: 'provider_error', providerCode: 'server_error', retryable: true, partial: { text: 'Part of it' } }],
      [
        'responses-failed',
        { code: 'rate_limited', retryable: true, partial: { text: 'Part of it', usage: { inputTokens: 12, totalTokens: 15 } } },
      ],
    ] as const
    for (const [recording, expected] of cases) {
      for (const splitBytes of [undefined, 7] as const) {
        await using server = await startStrictProvider({ recordings: [readRecording(recording)], faults: splitBytes ? { splitBytes } : {} })
        await expect(ask(modelAt(server)), recording).rejects.toMatchObject(expected)
      }
      await using server = await startStrictProvider({ script: [{ body: wholeOf(recording) }] })
      await expect(ask(modelAt(server), { stream: false })).rejects.toMatchObject({ code: expected.code })
    }
  })

  it('S3-20 ids may change between events; reasoning that can’t be sent back removes the items’ ids', async () => {
    const response = await replayCut(modelAt, [1, 'random'], ['responses-changing-ids'])
    expect(response).toMatchObject({ text: 'There are three.', reasoning: '**Counting**', finishReason: 'tool_calls' })
    expect(response.toolCalls.map((call) => [call.id, call.function.arguments])).toEqual([
      ['call_a', '{"of":"r"}'],
      ['call_b', '{"of":"s"}'],
    ])
    const items = await sentBack(response)
    expect(items.slice(0, 3)).toEqual([
      { role: 'assistant', content: 'There are three.', phase: 'final_answer' },
      { type: 'function_call', call_id: 'call_a', name: 'count', arguments: '{"of":"r"}' },
      { type: 'function_call', call_id: 'call_b', name: 'count', arguments: '{"of":"s"}' },
    ])
  })

  it('S3-20 a server may omit numbers, send half of the data only at the end, and close with [DONE]', async () => {
    const response = await both('responses-careless-server')
    expect(response).toMatchObject({
      text: 'Looking.',
      reasoning: 'Hm. Look.',
      usage: { inputTokens: 5, outputTokens: 15, totalTokens: 20 },
      toolCalls: [
        { id: 'fc_0', function: { name: 'look', arguments: '{"at":1}' } },
        { id: 'fc_1', function: { name: 'look', arguments: '{"at":2}' } },
      ],
    })
    // Unencrypted reasoning is sent back too, because such servers require it.
    expect((await sentBack(response, { quirks: { stateless: false } }))[0]).toMatchObject({
      type: 'reasoning',
      content: [{ text: 'Hm. Look.' }],
    })
  })

  it('Q2 S3-20 items that are all numbered 0 are distinguished by their ids', async () => {
    const lines = readRecording('responses-reasoning-and-calls')
    const found: ModelResponse[] = []
    for (const recording of [lines, lines.map((line) => line.replace(/"output_index":\d/, '"output_index":0'))]) {
      await using server = await startStrictProvider({ recordings: [recording] })
      found.push(await ask(modelAt(server)))
    }
    expect(found[1]).toEqual(found[0])
  })

  it('an unknown event, or one that is too late, changes nothing', async () => {
    const lines = readRecording('responses-interleaved-calls')
    const odd = [
      '{"type":"response.from_the_future","delta":"x","output_index":0}',
      '{"type":"response.output_text.delta","output_index":0,"delta":"not a message"}',
      '{"type":"response.output_text.delta","output_index":9,"delta":7}',
      '{"type":"keepalive"}',
    ]
    const recording = [...lines.slice(0, 5), ...odd, ...lines.slice(5), '{"type":"response.output_text.delta","delta":"late"}']
    const found: ModelResponse[] = []
    for (const events of [lines, recording]) {
      await using server = await startStrictProvider({ recordings: [events] })
      found.push(await ask(modelAt(server)))
    }
    expect(found[1]).toEqual(found[0])
  })
})

describe('reasoning between the rounds of a run', () => {
  const look = defineTool({ name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} }, execute: () => 'seen' })
  const round = (text: string): MockReply => ({ reasoning: `thought of ${text}`, text, toolCalls: [{ name: 'look' }] })

  it.each([true, false])('is sent back encrypted, each item before what followed it (streaming: %s)', async (stream) => {
    await using server = await startStrictProvider({ script: [round('first'), round('second'), 'Done.'] })
    const result = await new AgentRunner({ model: modelAt(server), tools: [look], stream }).run('go')
    expect(result.output).toBe('Done.')
    const items = server.requests[2]?.body.input as JsonObject[]
    expect(items.map(({ type, role }) => type ?? role)).toEqual([
      'user',
      ...['reasoning', 'message', 'function_call', 'function_call_output'],
      ...['reasoning', 'message', 'function_call', 'function_call_output'],
    ])
    expect(items[1]).toMatchObject({ encrypted_content: expect.stringContaining('sealed'), summary: [{ text: 'thought of first' }] })
    expect(new Set(items.flatMap(({ id }) => (id === undefined ? [] : [id]))).size).toBe(6)
  })

  it('is not sent with a changed message, or to another provider', async () => {
    await using server = await startStrictProvider({ script: [round('first')] })
    const { text, toolCalls, providerData } = await ask(modelAt(server))
    expect(providerData?.provider).toBe('openai-responses')
    const response = { text, toolCalls, ...(providerData === undefined ? {} : { providerData }), finishReason: 'tool_calls' as const }
    const changed = await sentBack({ ...response, text: 'first, shortened' })
    expect(changed.map(({ type, role, id }) => [type ?? role, id])).toEqual([
      ['assistant', undefined],
      ['function_call', undefined],
      ['function_call_output', undefined],
    ])
    const elsewhere = await sentBack(response, { provider: 'responses-compatible' })
    expect(elsewhere.map(({ type, role }) => type ?? role)).toEqual(['assistant', 'function_call', 'function_call_output'])
  })

  it('is left out if nothing followed it, so that the conversation can continue', async () => {
    const reply: MockReply = { reasoning: 'thinking for too long', finishReason: 'length' }
    await using server = await startStrictProvider({ script: [reply] })
    const response = await ask(modelAt(server))
    expect(response).toMatchObject({ finishReason: 'length', text: '', reasoning: 'thinking for too long' })
    expect(response).not.toHaveProperty('providerData')
  })

  it('is sent back by its id if the provider was told to store it', async () => {
    const settings = { providerOptions: { store: true } }
    const kept = { ...wholeOf('responses-changing-ids'), store: true, output: outputs('responses-waiting-item').slice(0, 2) }
    const unsealed = (kept.output as JsonObject[]).map((item) => (item.type === 'reasoning' ? { ...item, encrypted_content: null } : item))
    await using server = await startStrictProvider({ script: [{ body: { ...kept, output: unsealed } }] })
    const response = await ask(modelAt(server, settings), { stream: false })
    expect(server.requests[0]?.body.store).toBe(true)
    expect((await sentBack(response, settings)).map(({ type, id }) => [type, id])).toEqual([
      ['reasoning', 'rs_12'],
      ['message', 'msg_12'],
    ])
  })

  it('H18 of calls with the same id keeps their own results and items', async () => {
    const calls = ['a', 'b'].map((at) => ({ id: 'same', name: 'look', arguments: { at } }))
    await using server = await startStrictProvider({ script: [{ reasoning: 'Hm.', toolCalls: calls }, 'Done.'] })
    const result = await new AgentRunner({ model: modelAt(server), tools: [look] }).run('go')
    expect(result.messages.flatMap((message) => (hasToolCalls(message) ? message.toolCalls.map(({ id }) => id) : []))).toHaveLength(2)
    const items = server.requests[1]?.body.input as JsonObject[]
    expect(items.map(({ type, role }) => type ?? role)).toEqual([
      'user',
      'reasoning',
      ...['function_call', 'function_call', 'function_call_output', 'function_call_output'],
    ])
    expect(items.slice(2, 4).map(({ arguments: json }) => json)).toEqual(['{"at":"a"}', '{"at":"b"}'])
  })
})
