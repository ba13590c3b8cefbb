import { getEventListeners } from 'node:events'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import {
  type AssistantToolCallMessage,
  type ChatMessage,
  hasToolCalls,
  isToolResult,
  type ToolCall,
  type ToolResultMessage,
} from '../../src/core/messages.ts'
import { AIDriver, type QueryOptions, type QueryResult, type StreamResult } from '../../src/models/ai-driver.ts'
import { createModel } from '../../src/models/create-model.ts'
import { convertToOpenAITool, defineTool, type ToolDefinition } from '../../src/tools/tool.ts'
import { chunk, completion, eventStream, events, type LocalServer, sendJson, startServer, textEvents } from './local-server.ts'

const tools: ToolDefinition[] = [
  {
    type: 'function',
    function: {
      name: 'get_weather',
      description: 'The weather.',
      parameters: { type: 'object', properties: { city: { type: 'string' } } },
    },
  },
  {
    type: 'function',
    function: { name: 'get_time', description: 'The time.', parameters: { type: 'object', properties: { timezone: { type: 'string' } } } },
  },
]
const calls: ToolCall[] = [
  { id: 'call_a', type: 'function', function: { name: 'get_weather', arguments: '{"city":"tokyo"}' } },
  { id: 'call_b', type: 'function', function: { name: 'get_time', arguments: '{"timezone":"JST"}' } },
]
const wireCalls = calls.map(({ id, type, function: { name, arguments: json } }) => ({ id, type, function: { name, arguments: json } }))

const driverOf = (server: LocalServer): AIDriver => new AIDriver({ provider: 'custom', model: 'm', baseURL: server.baseURL, maxRetries: 0 })
const mixed = events(
  chunk({ content: 'Let me ' }),
  chunk({ tool_calls: [{ index: 0, ...wireCalls[0] }] }),
  chunk({ content: 'look.' }),
  chunk({ tool_calls: [{ index: 1, ...wireCalls[1] }] }),
  { ...chunk({}, 'tool_calls'), usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } },
  '[DONE]',
)

async function collect(stream: AsyncIterable<string>): Promise<string[]> {
  const pieces: string[] = []
  for await (const piece of stream) pieces.push(piece)
  return pieces
}

describe('AIDriver.query', () => {
  it('S2-1 S2-14 S2-15 S2-17 S2-35 S2-47 sends the tools once and returns the calls for the caller to run', async () => {
    await using server = await startServer((response) =>
      sendJson(response, {
        ...completion({ content: 'I will.', tool_calls: wireCalls }, 'tool_calls'),
        usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
      }),
    )
    const result = await driverOf(server).query('Weather and time in Tokyo?', { tools, toolChoice: 'required', temperature: 0 })
    expect(result).toEqual({
      content: 'I will.',
      toolCalls: calls,
      finishReason: 'tool_calls',
      usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 },
    })
    expect(server.requests).toHaveLength(1)
    expect(server.requests[0]?.body).toMatchObject({
      messages: [{ role: 'user', content: 'Weather and time in Tokyo?' }],
      tools,
      tool_choice: 'required',
      temperature: 0,
    })
    expectTypeOf<QueryOptions['toolChoice']>().toEqualTypeOf<
      'auto' | 'none' | 'required' | { type: 'function'; function: { name: string } } | undefined
    >()
    expectTypeOf<QueryResult['finishReason']>().toEqualTypeOf<'stop' | 'length' | 'error' | 'tool_calls' | undefined>()
    expectTypeOf<QueryResult['toolCalls']>().toEqualTypeOf<ToolCall[] | undefined>()
  })

  it('S2-18 has no toolCalls if there are none, and names how it ended', async () => {
    const endings = { stop: 'stop', length: 'length', content_filter: 'error', refusal: 'stop' } as const
    for (const [reason, finishReason] of Object.entries(endings)) {
      await using server = await startServer((response) => sendJson(response, completion({ content: 'x' }, reason)))
      const result = await driverOf(server).query('Hi')
      expect(result).toEqual({
        content: 'x',
        finishReason,
        ...(reason === 'content_filter' || reason === 'refusal' ? { stoppedBy: reason } : {}),
      })
      expect('toolCalls' in result).toBe(false)
    }
  })

  it('reports what was left out of a request', async () => {
    await using server = await startServer((response) => sendJson(response, completion({ content: 'x' })))
    const [tool] = tools
    if (tool === undefined) throw new Error('no tool')
    const loose = { ...tool, function: { ...tool.function, strict: true } }
    const { warnings } = await driverOf(server).query('Hi', { tools: [loose] })
    expect(warnings).toEqual([expect.stringMatching(/strict.*get_weather|get_weather.*strict/)])
    expect(server.requests[0]?.body.tools).not.toMatchObject([{ function: { strict: true } }])
  })

  it('S2-16 S2-48 S2-50 appends messages after the prompt’s own', async () => {
    await using server = await startServer((response) => sendJson(response, completion({ content: 'x' })))
    const later: ChatMessage[] = [
      { role: 'assistant', content: 'Hello' },
      { role: 'user', content: 'Bye' },
    ]
    await driverOf(server).query('Hi', { messages: later })
    await driverOf(server).query(
      [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hi' },
      ],
      { messages: later },
    )
    expect(server.requests.map(({ body }) => body.messages)).toEqual([
      [{ role: 'user', content: 'Hi' }, ...later],
      [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: 'Hi' }, ...later],
    ])
  })

  it('S2-49 with two queries, runs all calls in parallel and sends their results back', async () => {
    await using server = await startServer((response, _request, index) =>
      sendJson(
        response,
        index === 0 ? completion({ content: '', tool_calls: wireCalls }, 'tool_calls') : completion({ content: '21 °C at 9:00.' }),
      ),
    )
    const driver = driverOf(server)
    const run = async ({ function: { name, arguments: json } }: ToolCall) => `${name} of ${Object.values(JSON.parse(json))}`

    const first = await driver.query('Weather and time in Tokyo?', { tools })
    const toolCalls = first.toolCalls ?? []
    const results = await Promise.all(
      toolCalls.map(
        async (call): Promise<ToolResultMessage> => ({
          role: 'tool',
          toolCallId: call.id,
          name: call.function.name,
          content: await run(call),
        }),
      ),
    )
    const asked: AssistantToolCallMessage = { role: 'assistant', content: first.content, toolCalls }
    const second = await driver.query('Weather and time in Tokyo?', { tools, messages: [asked, ...results] })

    expect(second.content).toBe('21 °C at 9:00.')
    expect(server.requests[1]?.body.messages).toEqual([
      { role: 'user', content: 'Weather and time in Tokyo?' },
      { role: 'assistant', content: null, tool_calls: wireCalls },
      { role: 'tool', tool_call_id: 'call_a', content: 'get_weather of tokyo' },
      { role: 'tool', tool_call_id: 'call_b', content: 'get_time of JST' },
    ])
  })

  it('Q4 H18 gives each call a unique id', async () => {
    const found = ['', 'call_0', 'call_0'].map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } }))
    await using server = await startServer((response) => sendJson(response, completion({ tool_calls: found }, 'tool_calls')))
    const { toolCalls = [] } = await driverOf(server).query('Hi')
    expect(toolCalls[1]?.id).toBe('call_0')
    expect(new Set(toolCalls.map(({ id }) => id)).size).toBe(3)
    for (const { id } of toolCalls) expect(id).toMatch(/^call_/)
  })

  it('S2-8 S2-9 S2-10 S2-11 S2-12 S2-13 distinguishes the kinds of messages', () => {
    const message: ChatMessage[] = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: '', toolCalls: calls },
      { role: 'tool', content: 'x', toolCallId: 'call_a' },
      { role: 'assistant', content: '', toolCalls: [] },
    ]
    expect(message.map(hasToolCalls)).toEqual([false, true, false, false])
    expect(message.map(isToolResult)).toEqual([false, false, true, false])
    expectTypeOf<Extract<ChatMessage, { role: 'tool' }>>().toEqualTypeOf<ToolResultMessage>()
  })

  it('refuses tools for a model without native calls instead of sending them', async () => {
    const driver = new AIDriver({ provider: 'custom', model: 'm', baseURL: 'http://127.0.0.1:9', dialect: 'hermes' })
    const words = { code: 'invalid_option', message: expect.stringContaining('`custom/m`, which does not support native calls') }
    await expect(driver.query('go', { tools })).rejects.toMatchObject(words)
    await expect(driver.stream('go', { tools }).result).rejects.toMatchObject(words)
  })

  it.each([
    [
      'a bad name',
      [{ type: 'function', function: { name: 'no good' } }],
      'Expected a tool\'s `name` to be 1 to 64 characters of a-z A-Z 0-9 _ -, got `"no good"`',
    ],
    ['no name', [{ type: 'function', function: {} }], "Expected a tool's `name` to be 1 to 64 characters"],
    ['one name twice', [tools[0], tools[0]], 'Expected tool names to be unique, got a second tool `get_weather`'],
    ['what is no tool', [null], 'Expected a tool, got `null`'],
  ])('S2-3 refuses %s before anything is sent, as a registry does', async (_, given, words) => {
    const driver = new AIDriver({ provider: 'custom', model: 'm', baseURL: 'http://127.0.0.1:9' })
    const error = { code: 'invalid_tool', message: expect.stringContaining(words) }
    await expect(driver.query('go', { tools: given as never })).rejects.toMatchObject(error)
    await expect(driver.stream('go', { tools: given as never }).result).rejects.toMatchObject(error)
  })

  it('accepts tools in place of their definitions: the definitions are sent', async () => {
    await using server = await startServer((response) => sendJson(response, completion({ content: 'Hi.' })))
    const greet = defineTool({ name: 'greet', description: 'Greets.', parameters: z.object({ name: z.string() }), execute: () => 'Hi' })
    await driverOf(server).query('go', { tools: [greet, ...tools] })
    expect(server.requests[0]?.body).toMatchObject({ tools: [convertToOpenAITool(greet), ...tools] })
  })

  it('rejects with the model’s error, and when aborted', async () => {
    await using server = await startServer((response) => sendJson(response, { error: { message: 'no' } }, 400))
    await expect(driverOf(server).query('Hi')).rejects.toMatchObject({ code: 'provider_error', status: 400 })
    await expect(driverOf(server).query('Hi', { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'aborted' })
  })

  it('accepts a model, a name or settings', () => {
    const model = createModel('ollama/qwen3:8b')
    expect(new AIDriver(model).model).toBe(model)
    expect(new AIDriver('ollama/qwen3:8b').model).toMatchObject({ provider: 'ollama', model: 'qwen3:8b' })
    expect(new AIDriver({ provider: 'ollama', model: 'qwen3:8b' }).model).toMatchObject({ provider: 'ollama', model: 'qwen3:8b' })
    expect(() => new AIDriver(JSON.parse('7'))).toThrow(expect.objectContaining({ code: 'invalid_option' }))
  })
})

describe('AIDriver.stream', () => {
  it('S2-39 S2-40 S2-41 S2-42 yields only text; calls and the rest are in the result', async () => {
    await using server = await startServer((response) => eventStream(response).end(mixed))
    const { stream, result } = driverOf(server).stream('Weather and time in Tokyo?', { tools })
    expectTypeOf<StreamResult>().toEqualTypeOf<{ stream: AsyncIterable<string>; result: Promise<QueryResult> }>()
    expect(await collect(stream)).toEqual(['Let me ', 'look.'])
    expect(await result).toEqual({
      content: 'Let me look.',
      toolCalls: calls,
      finishReason: 'tool_calls',
      usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 },
    })
    expect(server.requests[0]?.body).toMatchObject({ stream: true, tools })
  })

  it('S2-39 allows either half to be ignored; the text can still be read afterwards', async () => {
    await using server = await startServer((response) => eventStream(response).end(mixed))
    const onlyResult = driverOf(server).stream('Hi')
    expect((await onlyResult.result).content).toBe('Let me look.')
    expect((await collect(onlyResult.stream)).join('')).toBe('Let me look.')
    expect((await collect(driverOf(server).stream('Hi').stream)).join('')).toBe('Let me look.')
  })

  it('S2-39 yields pieces as they arrive', async () => {
    const go = Promise.withResolvers<void>()
    await using server = await startServer(async (response) => {
      eventStream(response).write(events(chunk({ content: 'first' })))
      await go.promise
      response.end(textEvents('second'))
    })
    const pieces: string[] = []
    for await (const piece of driverOf(server).stream('Hi').stream) {
      pieces.push(piece)
      go.resolve()
    }
    expect(pieces).toEqual(['first', 'second'])
  })

  it('H31 aborts the request when the loop is left; nothing is left behind, and no rejection is unhandled', async () => {
    await using server = await startServer((response) => eventStream(response).write(events(chunk({ content: 'first' }))))
    const { signal } = new AbortController()
    const { stream, result } = driverOf(server).stream('Hi', { signal })
    for await (const piece of stream) {
      expect(piece).toBe('first')
      break
    }
    await server.firstClosed
    await expect(result).rejects.toMatchObject({ code: 'aborted' })
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
    // A reader that has left gets the end, not the reason.
    expect(await collect(driverOf(server).stream('Hi', { signal: AbortSignal.abort() }).stream).catch((error) => error.code)).toBe(
      'aborted',
    )
  })

  it('H31 lets a reader leave while it waits', async () => {
    await using server = await startServer((response) => eventStream(response).flushHeaders())
    const reader = driverOf(server).stream('Hi').stream[Symbol.asyncIterator]()
    const waiting = reader.next()
    expect(await reader.return?.()).toEqual({ value: undefined, done: true })
    expect(await waiting).toEqual({ value: undefined, done: true })
    expect(await reader.next()).toEqual({ value: undefined, done: true })
  })

  it('H30 ends both halves with `aborted` on the caller’s signal', async () => {
    const controller = new AbortController()
    await using server = await startServer((response) => eventStream(response).write(events(chunk({ content: 'first' }))))
    const { stream, result } = driverOf(server).stream('Hi', { signal: controller.signal })
    const read = async () => {
      for await (const _ of stream) controller.abort(new Error('enough'))
    }
    await expect(read()).rejects.toMatchObject({ code: 'aborted' })
    await expect(result).rejects.toMatchObject({ code: 'aborted' })
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
  })

  it('H40 throws in the loop after the received text if a stream breaks off, and rejects the result', async () => {
    await using server = await startServer((response) => {
      eventStream(response).write(events(chunk({ content: 'first' })))
      setImmediate(() => response.destroy())
    })
    const { stream, result } = driverOf(server).stream('Hi')
    const pieces: string[] = []
    const read = async () => {
      for await (const piece of stream) pieces.push(piece)
    }
    await expect(read()).rejects.toMatchObject({ code: 'stream_cut' })
    expect(pieces).toEqual(['first'])
    await expect(result).rejects.toMatchObject({ code: 'stream_cut', partial: { text: 'first' } })
  })
})
