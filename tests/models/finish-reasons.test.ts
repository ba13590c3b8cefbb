import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/core/messages.ts'
import { isModelError, type ModelResponse } from '../../src/models/chat-model.ts'
import { createModel } from '../../src/models/create-model.ts'
import type { MockReply } from '../../src/testing/mock/reply.ts'
import { type Mode, type ModeScript, nativeModes, type OpenMode, rowsFor } from '../hazards/modes.ts'
import { chunk, completion, eventStream, events, sendJson, startServer } from './local-server.ts'
import { hello } from './one-request.ts'

type Answer = Pick<ModelResponse, 'finishReason' | 'warnings' | 'toolCalls'> & { code?: string; retryable?: boolean }

async function answerOf(mode: Mode, script: ModeScript): Promise<Answer> {
  await using on = await mode.open(script)
  return await answerFrom(on, mode)
}

async function answerFrom(on: OpenMode, mode: Mode): Promise<Answer> {
  try {
    const response = await on.model.generate({ messages: hello, stream: mode.streaming })
    return { ...response, warnings: response.warnings ?? [] }
  } catch (error) {
    if (!isModelError(error)) throw error
    return { finishReason: 'error', toolCalls: [], code: error.code, retryable: error.retryable }
  }
}

/** The meaning of a word for a response with text, and for one with a complete call. */
const meanings: [meaning: string, text: object, call: object, words: string[]][] = [
  [
    'an ordinary end',
    { finishReason: 'stop', warnings: [] },
    { finishReason: 'tool_calls' },
    [
      'stop',
      'STOP',
      'end_turn',
      'stop_sequence',
      'eos',
      'COMPLETE',
      'FINISH_REASON_STOP',
      'end-turn',
      'completed',
      'tool_calls',
      'tool_use',
    ],
  ],
  [
    'a cut',
    { finishReason: 'length' },
    { finishReason: 'length' },
    [
      'length',
      'LENGTH',
      'max_tokens',
      'MAX_TOKENS',
      'max_output_tokens',
      'model_length',
      'MaxTokens',
      'repetition_truncation',
      'token_limit_reached',
      'output_limit',
    ],
  ],
  [
    'a full context window',
    { finishReason: 'length', warnings: ['The response was cut because the context window is full'] },
    { finishReason: 'length' },
    ['model_context_window_exceeded', 'context_length_exceeded', 'MODEL_CONTEXT_WINDOW_EXCEEDED', 'context_window_full'],
  ],
  [
    'a filter',
    { finishReason: 'content_filter' },
    { finishReason: 'content_filter', toolCalls: [] },
    [
      'content_filter',
      'content_filtered',
      'SAFETY',
      'RECITATION',
      'guardrail_intervened',
      'content_filter: PROHIBITED_CONTENT',
      'sensitive',
      'blocked',
      'safety_filter',
    ],
  ],
  ['a refusal', { finishReason: 'refusal' }, { finishReason: 'refusal', toolCalls: [] }, ['refusal']],
  [
    'a call that could not be read',
    { code: 'bad_response', retryable: true },
    { code: 'bad_response', retryable: true },
    [
      'MALFORMED_FUNCTION_CALL',
      'malformed_function_call',
      'function_call_filter: MALFORMED_FUNCTION_CALL',
      'malformed_tool_use',
      'UNEXPECTED_TOOL_CALL',
      'malformed_model_output',
    ],
  ],
  [
    'a failure',
    { code: 'stream_cut', retryable: true },
    { code: 'stream_cut', retryable: true },
    ['error', 'network_error', 'insufficient_system_resource', 'abort', 'CANCELLED', 'timeout'],
  ],
  [
    'an end without a reason',
    { finishReason: 'error', warnings: ['The finish reason is `OTHER`'] },
    { finishReason: 'tool_calls' },
    ['OTHER'],
  ],
]

describe.each(nativeModes)('finish reasons: $name', (mode) => {
  // One server for all words.
  let on: OpenMode
  let reply: MockReply
  beforeAll(async () => {
    on = await mode.open(() => reply)
  })
  afterAll(() => on.close())

  for (const [meaning, text, call, words] of meanings) {
    it.each(rowsFor(mode, words, () => mode.streaming))(`F8 \`%s\` is ${meaning}`, async (rawFinishReason) => {
      reply = { text: 'The first half of', rawFinishReason }
      expect(await answerFrom(on, mode)).toMatchObject(text)
      reply = { toolCalls: [{ name: 'look', arguments: {} }], rawFinishReason }
      expect(await answerFrom(on, mode)).toMatchObject(call)
    })
  }

  it('F8 names an unknown reason and what it was treated as', async () => {
    const rawFinishReason = 'sunset'
    // A response whose status is incomplete is cut off, whatever the reason.
    const isIncomplete = mode.wire === 'responses'
    const [text, call] = isIncomplete ? ['length', 'length'] : ['stop', 'tool_calls']
    const taken = (as: string | undefined): string[] => [`The finish reason \`sunset\` is not known and was treated as \`${as}\``]
    expect(await answerOf(mode, [{ text: 'Hi', rawFinishReason }])).toMatchObject({ finishReason: text, warnings: taken(text) })
    const toolCalls = [{ name: 'look', arguments: {} }]
    expect(await answerOf(mode, [{ toolCalls, rawFinishReason }])).toMatchObject({ finishReason: call, warnings: taken(call) })
  })

  it('F8 H43 a full context window without an answer is `context_overflow`', async () => {
    const rawFinishReason = 'model_context_window_exceeded'
    expect(await answerOf(mode, [{ text: '', rawFinishReason }])).toMatchObject({ code: 'context_overflow', retryable: false })
  })
})

describe('finish reasons of the Messages API', () => {
  const modes = nativeModes.filter(({ wire }) => wire === 'anthropic-messages')

  it.each(modes)('F8 a pause after a compaction is continued: $name', async (mode) => {
    await using on = await mode.open([{ text: 'One, ', rawFinishReason: 'compaction' }, { text: 'two.' }])
    const response = await on.model.generate({ messages: hello, stream: mode.streaming })
    expect(response).toMatchObject({ text: 'One, two.', finishReason: 'stop' })
    expect(on.provider.requests).toHaveLength(2)
  })

  it.each(modes)('F8 complete calls count even in a paused turn: $name', async (mode) => {
    const script = [{ toolCalls: [{ name: 'look', arguments: {} }], rawFinishReason: 'pause_turn' }]
    expect(await answerOf(mode, script)).toMatchObject({ finishReason: 'tool_calls' })
  })
})

describe('finish reasons of Chat Completions', () => {
  /** The response to one choice, streamed and not. */
  async function both(end: JsonObject, message: JsonObject = { content: 'Hi' }): Promise<ModelResponse[]> {
    const found: ModelResponse[] = []
    for (const stream of [true, false]) {
      const choice = { index: 0, ...end }
      const last = { ...chunk({}), choices: [{ ...choice, delta: {} }] }
      const whole = { ...completion(message), choices: [{ ...choice, message }] }
      await using server = await startServer((response) =>
        stream ? eventStream(response).end(events(chunk(message), last, '[DONE]')) : sendJson(response, whole),
      )
      const model = createModel({ provider: 'custom', model: 'model-x', baseURL: server.baseURL, maxRetries: 0 })
      found.push(await model.generate({ messages: hello, stream }))
    }
    return found
  }

  it('F8 behind a gateway’s normal end, the provider’s own reason counts', async () => {
    const ends: [gateway: string, own: string, finishReason: string][] = [
      ['stop', 'SAFETY', 'content_filter'],
      ['stop', 'refusal', 'refusal'],
      ['stop', 'MAX_TOKENS', 'length'],
      ['stop', 'STOP', 'stop'],
      ['stop', 'end_turn', 'stop'],
      ['stop', 'something new', 'stop'],
      ['length', 'STOP', 'length'],
    ]
    for (const [finish_reason, native_finish_reason, finishReason] of ends) {
      for (const response of await both({ finish_reason, native_finish_reason })) expect(response).toMatchObject({ finishReason })
    }
  })

  it('F8 a word for no finish reason is ignored', async () => {
    for (const word of ['null', '', 'FINISH_REASON_UNSPECIFIED']) {
      for (const response of await both({ finish_reason: word })) {
        expect(response).toMatchObject({ finishReason: 'stop', warnings: ['The response ended without a finish reason'] })
      }
    }
  })

  it('F9 a filter is not overridden by what follows', async () => {
    const call = { index: 0, id: 'c', type: 'function', function: { name: 'pay', arguments: '{}' } }
    const stream = events(chunk({ tool_calls: [call] }), chunk({}, 'content_filter'), chunk({}, 'stop'), '[DONE]')
    await using server = await startServer((response) => eventStream(response).end(stream))
    const model = createModel({ provider: 'azure', model: 'm', apiKey: 'k', baseURL: server.baseURL, maxRetries: 0 })
    expect(await model.generate({ messages: hello })).toMatchObject({ finishReason: 'content_filter', toolCalls: [] })
  })

  it('F9 a `refusal` beside a call drops the call', async () => {
    const call = { index: 0, id: 'c', type: 'function', function: { name: 'pay', arguments: '{"eur":5}' } }
    for (const finish_reason of ['stop', 'tool_calls']) {
      for (const response of await both({ finish_reason }, { refusal: 'I can’t do that.', tool_calls: [call] })) {
        expect(response).toMatchObject({ text: 'I can’t do that.', finishReason: 'refusal', toolCalls: [] })
      }
    }
  })
})
