import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ModelError } from '../../src/core/errors.ts'
import type { JsonObject } from '../../src/core/messages.ts'
import { isModelError, type ModelResponse } from '../../src/models/chat-model.ts'
import { createModel } from '../../src/models/create-model.ts'
import { hostileValues } from '../hostile-values.ts'
import { type LocalServer, startServer } from './local-server.ts'
import { hello } from './one-request.ts'

const words = 'quota exceeded for today'

/** An answer in each API: complete, as the events of a stream, and the start of one. */
interface Api {
  provider: string
  whole: JsonObject
  events: JsonObject[]
  /** The number of events before the answer ends. */
  begun: number
}

const chunk = (delta: JsonObject, finish: string | null = null): JsonObject => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: finish }],
})
const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'Hello' }] }
const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', usage: { input_tokens: 1, output_tokens: 1 } }

const apis: Api[] = [
  {
    provider: 'custom',
    whole: {
      id: 'c1',
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
    },
    events: [chunk({ role: 'assistant', content: 'Hello' }), chunk({}, 'stop')],
    begun: 1,
  },
  {
    provider: 'responses-compatible',
    whole: { id: 'r1', object: 'response', status: 'completed', model: 'm', output: [item] },
    events: [
      { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', content: [] } },
      { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, content_index: 0, delta: 'Hello' },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: { id: 'r1', status: 'completed', output: [item] } },
    ],
    begun: 2,
  },
  {
    provider: 'anthropic-compatible',
    whole: { ...message, content: [{ type: 'text', text: 'Hello' }], stop_reason: 'end_turn' },
    events: [
      { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
      { type: 'message_stop' },
    ],
    begun: 3,
  },
  {
    provider: 'google',
    whole: { candidates: [{ content: { role: 'model', parts: [{ text: 'Hello' }] }, finishReason: 'STOP' }] },
    events: [
      { candidates: [{ content: { role: 'model', parts: [{ text: 'Hello' }] } }] },
      { candidates: [{ content: { role: 'model', parts: [] }, finishReason: 'STOP' }] },
    ],
    begun: 1,
  },
]

/** Errors in place of an event or a response, as gateways send them with status 200. */
const shapes: JsonObject[] = [
  { error: { message: words } },
  { error: words },
  { error: { error: { message: words, code: 'x' } } },
  { error: { message: JSON.stringify({ error: { message: words } }) } },
  { message: words, code: 'QuotaExceeded' },
  { object: 'error', message: words, code: 40_003 },
  { success: false, errors: [{ code: 3040, message: words }] },
  { errors: [{ message: words }] },
  { errors: [words] },
  { detail: words },
  { detail: [{ msg: words, type: 'value_error' }] },
  { error_code: 18, error_msg: words },
  { message: words },
  { Message: words },
  { code: 500, msg: words, data: null },
  { status: 'error', message: words },
  { base_resp: { status_code: 1008, status_msg: words } },
  { type: 'error', error: { type: 'x', message: words } },
  { status: 429, title: 'Too Many Requests', detail: words },
]

const data = (...events: JsonObject[]): string => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')

/** One server for all tests, whose next response is written by `answer`. */
let server: LocalServer
let answer: (response: ServerResponse) => void
beforeAll(async () => {
  server = await startServer((response) => answer(response))
})
afterAll(() => server[Symbol.asyncDispose]())

async function answerTo({ provider }: Api, body: string, pieceLength: number, stream: boolean): Promise<ModelResponse | ModelError> {
  answer = (response) => {
    response.writeHead(200, { 'content-type': body.startsWith('{') ? 'application/json' : 'text/event-stream' })
    for (let at = 0; at < body.length; at += pieceLength) response.write(body.slice(at, at + pieceLength))
    response.end()
  }
  const model = createModel({ provider, model: 'm', apiKey: 'k', baseURL: server.baseURL, maxRetries: 0 })
  return await model.generate({ messages: hello, stream }).catch((error: unknown) => {
    if (isModelError(error)) return error
    throw error
  })
}

async function errorOf(api: Api, body: string, stream = true): Promise<ModelError> {
  const answer = await answerTo(api, body, Number.POSITIVE_INFINITY, stream)
  if (!isModelError(answer)) throw new Error(`expected an error, got ${JSON.stringify(answer)}`)
  return answer
}

describe.each(apis)('errors with status 200: $provider', (api) => {
  const { events, begun, whole } = api

  it('F17 H62 an event that is not part of a response is quoted', async () => {
    for (const shape of shapes) {
      expect((await errorOf(api, data(shape))).message).toContain(words)
      expect((await errorOf(api, data(...events.slice(0, begun), shape))).message).toContain(words)
    }
  })

  it('F17 a message in other places is quoted, even after text', async () => {
    const elsewhere: JsonObject[] = [
      { error: 'rate', error_description: words },
      { status: 400, error: 'Bad Request', message: words },
      { error: [words] },
      { error: [{ message: words }] },
      { errors: { message: words } },
      { errmsg: words, errcode: 4001 },
      { errorMessage: words },
      { header: { code: 10013, message: words } },
      { fault: { faultstring: words } },
      { Response: { Error: { Code: 'X', Message: words } } },
      { detail: { error: { message: words } } },
      { code: 429, data: { message: words } },
    ]
    for (const shape of elsewhere) {
      const got = [
        await errorOf(api, data(shape)),
        await errorOf(api, data(...events.slice(0, begun), shape)),
        await errorOf(api, JSON.stringify(shape), false),
      ]
      for (const error of got) expect(error).toMatchObject({ code: 'rate_limited', message: expect.stringContaining(words) })
    }
    const untold: JsonObject[] = [{ reason: words }, { info: words, code: 'x' }]
    for (const shape of untold)
      expect(await errorOf(api, data(...events.slice(0, begun), shape))).toMatchObject({
        code: 'stream_cut',
        message: expect.stringContaining(words),
      })
    expect((await errorOf(api, `data: [{"error":{"message":"${words}"}}]\n\n`)).message).toContain(words)
  })

  it('F17 a body that is not a response is quoted', async () => {
    for (const shape of shapes) expect((await errorOf(api, JSON.stringify(shape), false)).message).toContain(words)
  })

  const overflow = { error: { code: 400, message: 'the request exceeds the available context size (16384 tokens)' } }
  const lines: [string, string][] = [
    ['a field named error', `error: ${JSON.stringify(overflow.error)}\n\ndata: [DONE]\n\n`],
    ['a field named error behind text', `${data(...events.slice(0, begun))}error: ${JSON.stringify(overflow.error)}\n\ndata: [DONE]\n\n`],
    ['a bare line behind a comment', `: ping\n\n${JSON.stringify(overflow)}\n`],
    ['a bare line behind text', `${data(...events.slice(0, begun))}${JSON.stringify(overflow)}\n`],
    ['a bare line before the end mark', `${JSON.stringify(overflow)}\n\ndata: [DONE]\n\n`],
    ['lines of indented JSON', `: ping\n\n${JSON.stringify(overflow, null, 2)}\n`],
    ['an event of that name', `event: error\n${data(overflow.error)}`],
    ['an event of that name with a text', `event: error\ndata: ${overflow.error.message}\n\n`],
    ['a data line of text', `data: ${overflow.error.message}\n\n`],
    ['a body of text', overflow.error.message],
  ]
  it.each(lines)('F17 H62 %s keeps its kind', async (_, body) => {
    for (const pieceLength of [Number.POSITIVE_INFINITY, 1]) {
      expect(await answerTo(api, body, pieceLength, true)).toMatchObject({
        code: 'context_overflow',
        retryable: false,
        message: expect.stringContaining('the available context size'),
      })
    }
  })

  it('F17 MiniMax’s status codes are distinguished', async () => {
    const codes: [number, string, object][] = [
      [1002, 'rate limit exceeded (RPM)', { code: 'rate_limited', retryable: true }],
      [1008, 'insufficient balance', { code: 'rate_limited', retryable: false }],
      [1004, 'login fail: please carry the API secret key', { code: 'unauthorized', retryable: false }],
      [2013, 'invalid params, context window exceeds limit', { code: 'context_overflow', retryable: false }],
    ]
    for (const [status_code, status_msg, expected] of codes) {
      const shape = { id: '05f', choices: null, created: 0, usage: { total_tokens: 0 }, base_resp: { status_code, status_msg } }
      expect(await errorOf(api, data(shape))).toMatchObject(expected)
      expect(await errorOf(api, JSON.stringify(shape), false)).toMatchObject(expected)
    }
  })

  it('F17 a response inside an envelope is read', async () => {
    const envelope = (value: JsonObject): JsonObject => ({ code: 0, msg: 'success', data: value })
    expect(await answerTo(api, data(...events.map(envelope)), 7, true)).toMatchObject({ text: 'Hello' })
    expect(await answerTo(api, JSON.stringify(envelope(whole)), 7, false)).toMatchObject({ text: 'Hello' })
  })

  it('F17 events without `data:` are read', async () => {
    expect(await answerTo(api, events.map((event) => `${JSON.stringify(event)}\n`).join(''), 7, true)).toMatchObject({ text: 'Hello' })
  })

  it('F17 lines that are not fields end a stream after a thousand', async () => {
    let sent = 0
    await using server = await startServer((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hello\n')
      const send = () => {
        sent += 1000
        if (!response.destroyed && sent < 100_000) response.write('x\n'.repeat(1000), () => setImmediate(send))
      }
      send()
    })
    const model = createModel({ provider: api.provider, model: 'm', apiKey: 'k', baseURL: server.baseURL, maxRetries: 0 })
    await expect(model.generate({ messages: hello })).rejects.toMatchObject({
      code: 'bad_response',
      message: expect.stringContaining('x\nx'),
    })
    await server.firstClosed
    expect(sent).toBeLessThan(100_000)
  })

  it('F17 an unknown event without a message breaks nothing', async () => {
    const [first, ...others] = events
    const strange = { type: 'gateway_statistics', queue: 3, stage: { name: 'x' } }
    expect(await answerTo(api, data(strange, ...(first === undefined ? [] : [first]), strange, ...others), 7, true)).toMatchObject({
      text: 'Hello',
      finishReason: 'stop',
    })
    expect(await errorOf(api, data(...events.slice(0, begun), strange))).toMatchObject({ code: 'stream_cut', retryable: true })
    const nothing = await errorOf(api, data(strange))
    expect(nothing).toMatchObject({ code: 'stream_cut', retryable: true, message: expect.stringContaining('gateway_statistics') })
  })
})

describe('an application’s `fetch` that rejects', () => {
  it.each(hostileValues())('with %s is a failed connection', async (_name, value) => {
    const model = createModel({
      provider: 'custom',
      model: 'm',
      baseURL: 'http://127.0.0.1:9',
      apiKey: 'k',
      maxRetries: 0,
      fetch: () => Promise.reject(value),
    })
    await expect(model.generate({ messages: hello })).rejects.toMatchObject({ code: 'connection_failed' })
  })
})
