import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/core/messages.ts'
import type { ModelSink } from '../../src/models/chat-model.ts'
import { createModel } from '../../src/models/create-model.ts'
import { chunk, completion, cuts, eventStream, events, readRecording, sendCut, sendJson, startServer } from './local-server.ts'
import { failure, hello, secret } from './one-request.ts'

const error = (message: string, more: JsonObject = {}): JsonObject => ({
  error: { message, type: 'invalid_request_error', code: null, ...more },
})

describe('errors with an HTTP status', () => {
  const cases: [name: string, status: number, body: JsonObject | string, expected: object][] = [
    [
      'a bad key',
      401,
      error(`Incorrect API key provided: ${secret}`, { code: 'invalid_api_key' }),
      { code: 'unauthorized', retryable: false, providerCode: 'invalid_api_key' },
    ],
    ['no permission', 403, error('No access to the model'), { code: 'unauthorized', retryable: false }],
    ['too many requests', 429, error('Slow down', { code: 'rate_limit_exceeded' }), { code: 'rate_limited', retryable: true }],
    [
      'no quota left',
      429,
      error('You exceeded your current quota', { code: 'insufficient_quota', type: 'insufficient_quota' }),
      { code: 'rate_limited', retryable: false },
    ],
    ['no balance', 402, error('Insufficient Balance'), { code: 'rate_limited', retryable: false }],
    ['a request timeout', 408, '', { code: 'provider_error', retryable: true }],
    ['a conflict', 409, error('Try again'), { code: 'provider_error', retryable: true }],
    ['too early', 425, error('Too early'), { code: 'provider_error', retryable: true }],
    [
      'an internal error',
      500,
      error('Oops', { type: 'server_error' }),
      { code: 'provider_error', retryable: true, providerCode: 'server_error' },
    ],
    [
      'a bad gateway’s page',
      502,
      '<html><head><title>502 Bad Gateway</title></head></html>',
      { code: 'provider_error', retryable: true, message: expect.stringContaining('"502 Bad Gateway"') },
    ],
    [
      'E2.9 a page inside of an error, without its tags',
      502,
      error(`upstream: <html><head><style>${'a{}'.repeat(1_000)}</style><title>502 Bad Gateway</title></head><body>x</body></html>`),
      { code: 'provider_error', message: expect.stringMatching(/HTTP 502.*: upstream: an HTML page titled "502 Bad Gateway"$/) },
    ],
    [
      'E2.9 a page without a title',
      503,
      '<html><body><b>Http/1.1 Service Unavailable</b></body></html>',
      { code: 'provider_error', retryable: true, message: expect.stringMatching(/HTTP 503: an HTML page$/) },
    ],
    ['an overloaded server', 529, error('Overloaded'), { code: 'provider_error', retryable: true }],
    ['something not implemented', 501, error('No'), { code: 'provider_error', retryable: false }],
    [
      'a model that is not there',
      404,
      error('The model does not exist', { code: 'model_not_found' }),
      { code: 'provider_error', retryable: false, providerCode: 'model_not_found' },
    ],
    ['a bad request', 400, error('Unknown parameter'), { code: 'provider_error', retryable: false }],
    [
      'a filtered prompt',
      400,
      error('The response was filtered', { code: 'content_filter', innererror: { code: 'ResponsibleAIPolicyViolation' } }),
      { code: 'content_filter', retryable: false },
    ],
    [
      'an error that is only a text',
      400,
      { error: 'Invalid tool_choice type' },
      { code: 'provider_error', message: expect.stringContaining('Invalid tool_choice type') },
    ],
    [
      'an error with its fields on top',
      400,
      { object: 'error', message: 'Bad one', type: 'BadRequestError', code: 400 },
      { code: 'provider_error', message: expect.stringContaining('Bad one') },
    ],
    [
      'an error in a list',
      400,
      JSON.stringify([{ error: { code: 400, message: 'In a list', status: 'INVALID_ARGUMENT' } }]),
      { code: 'provider_error', message: expect.stringContaining('In a list') },
    ],
    [
      'validation details',
      422,
      { message: { detail: [{ loc: ['body', 'seed'], msg: 'Extra inputs are not permitted' }] } },
      { code: 'provider_error', message: expect.stringContaining('Extra inputs') },
    ],
    ['a text', 400, 'nope', { code: 'provider_error', message: expect.stringContaining('nope') }],
  ]
  for (const [name, status, body, expected] of cases) {
    it(`H39 Q14 names ${name} (${status})`, async () => {
      await using server = await startServer((response) => {
        response.writeHead(status, { 'content-type': typeof body === 'string' ? 'text/html' : 'application/json', 'x-request-id': 'req_7' })
        response.end(typeof body === 'string' ? body : JSON.stringify(body))
      })
      for (const stream of [true, false]) {
        const found = await failure(server.baseURL, { stream })
        expect(found).toMatchObject({ provider: 'openai', model: 'gpt-4o', status, requestId: 'req_7', ...expected })
        expect(found.message).toMatch(/^Expected a response from `openai\/gpt-4o`, got HTTP \d{3}/)
        expect(JSON.stringify(found) + found.stack).not.toContain(secret)
      }
      expect(server.requests).toHaveLength(2)
    })
  }

  it('hides keys and secret headers that a provider quotes, and nothing else', async () => {
    await using server = await startServer((response) =>
      sendJson(response, error('Key my-own-key-1 and token hunter2hunter2 of tenant acme-tenant'), 400),
    )
    const settings = { apiKey: 'my-own-key-1', headers: { 'X-Gateway-Token': 'hunter2hunter2', 'X-Tenant': 'acme-tenant' } }
    const { message } = await failure(server.baseURL, {}, settings)
    expect(message).toContain('Key [redacted] and token [redacted] of tenant acme-tenant')
    expect((await failure(server.baseURL, {}, { apiKey: 'e' })).message).toContain('token hunter2hunter2')
  })

  const overflows: [from: string, body: JsonObject][] = [
    ['OpenAI', error('This model’s maximum context length is 8192 tokens.', { code: 'context_length_exceeded' })],
    [
      'vLLM',
      {
        object: 'error',
        message: "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
        type: 'BadRequestError',
        code: 400,
      },
    ],
    ['Groq', error('Please reduce the length of the messages or completion.', { code: 'context_length_exceeded' })],
    [
      'xAI',
      {
        code: 'Client specified an invalid argument',
        error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
      },
    ],
    [
      'Mistral',
      {
        object: 'error',
        message: 'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
        type: 'invalid_request_error',
      },
    ],
    ['llama.cpp', error('the request exceeds the available context size', { type: 'exceed_context_size_error' })],
    ['Moonshot', error('Invalid request: Your request exceeded model token limit: 8192')],
    ['Ark', error('Input length 130000 exceeds the maximum length 128000', { code: 'InvalidParameter' })],
  ]
  for (const [from, body] of overflows) {
    it(`H43 recognizes a conversation that is too long for ${from}`, async () => {
      await using server = await startServer((response) => sendJson(response, body, 400))
      expect(await failure(server.baseURL)).toMatchObject({ code: 'context_overflow', retryable: false })
    })
  }

  it('H39 reads the wait from retry-after-ms, and retry-after in seconds or as a date, and obeys x-should-retry', async () => {
    const headers: [Record<string, string>, number][] = [
      [{ 'retry-after-ms': '150', 'retry-after': '9' }, 150],
      [{ 'retry-after': '1.5' }, 1500],
      [{ 'retry-after': new Date(Date.now() - 60_000).toUTCString() }, 0],
    ]
    await using server = await startServer((response, _request, index) =>
      sendJson(response, error('Slow down'), 429, headers[index]?.[0] ?? { 'x-should-retry': 'false', 'retry-after': 'soon' }),
    )
    for (const [, retryAfterMs] of headers) expect(await failure(server.baseURL)).toMatchObject({ retryAfterMs, retryable: true })
    const last = await failure(server.baseURL)
    expect([last.retryAfterMs, last.retryable]).toEqual([undefined, false])
    await using dated = await startServer((response) =>
      sendJson(response, error('Slow down'), 429, { 'retry-after': new Date(Date.now() + 60_000).toUTCString() }),
    )
    const { retryAfterMs = 0 } = await failure(dated.baseURL)
    expect(retryAfterMs).toBeGreaterThan(30_000)
    expect(retryAfterMs).toBeLessThanOrEqual(60_000)
  })
})

describe('errors on the way', () => {
  it('H39 a refused connection, an unknown host, a reset before the answer, and no TLS are retried', async () => {
    await using resetting = await startServer((response) => response.destroy())
    const gone = await startServer((response) => response.end())
    await gone[Symbol.asyncDispose]()
    const cases: [string, string][] = [
      [gone.baseURL, 'ECONNREFUSED'],
      [resetting.baseURL, 'ECONNRESET'],
      [resetting.baseURL.replace('http:', 'https:'), 'ERR_SSL_PACKET_LENGTH_TOO_LONG'],
    ]
    for (const [baseURL, providerCode] of cases) {
      const found = await failure(baseURL)
      expect(found).toMatchObject({ code: 'connection_failed', retryable: true })
      expect(found.providerCode).toMatch(providerCode === 'ERR_SSL_PACKET_LENGTH_TOO_LONG' ? /SSL|EPROTO/ : providerCode)
      expect(found.message).toContain('Expected a connection to `openai/gpt-4o`')
    }
  })

  it('H40 a stream that breaks off, ends too early, or turns into garbage is not an answer; what arrived is kept', async () => {
    const started = events(chunk({ content: 'The wea' }), {
      ...chunk({}),
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    })
    const endings: [string, (response: ServerResponse) => unknown, string][] = [
      ['reset', (response) => setImmediate(() => response.destroy()), 'stream_cut'],
      ['end', (response) => response.end(), 'stream_cut'],
      ['garbage', (response) => response.end('data: {"choices":[{"del\n\n'), 'bad_response'],
      ['a cut event', (response) => response.end('data: {"choices":[{"del'), 'bad_response'],
    ]
    for (const [, finish, code] of endings) {
      await using server = await startServer((response) => {
        eventStream(response).write(started)
        finish(response)
      })
      const found = await failure(server.baseURL)
      expect(found).toMatchObject({ code, retryable: true, partial: { text: 'The wea', usage: { totalTokens: 5 } } })
    }
  })

  it('H40 an answer without a finish reason is an error, unless the provider said that it was done', async () => {
    await using server = await startServer((response, _request, index) => eventStream(response).end(index === 0 ? '' : events('[DONE]')))
    expect(await failure(server.baseURL)).toMatchObject({ code: 'stream_cut', retryable: true })
    expect(await failure(server.baseURL)).toMatchObject({ code: 'stream_cut', retryable: true })
  })

  it('H40 a finished answer is valid even if the connection then breaks', async () => {
    await using server = await startServer((response) => {
      eventStream(response).write(events(chunk({ content: 'done' }), chunk({}, 'stop')))
      setImmediate(() => response.destroy())
    })
    const model = createModel({ provider: 'openai', model: 'gpt-4o', apiKey: 'k', baseURL: server.baseURL })
    expect(await model.generate({ messages: hello })).toMatchObject({
      text: 'done',
      finishReason: 'stop',
      warnings: [expect.stringContaining('did not end')],
    })
  })

  it('H40 a response without a stream that breaks off is an error', async () => {
    const text = JSON.stringify(completion({ content: 'x'.repeat(500) }))
    await using server = await startServer((response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': String(text.length) }).write(text.slice(0, 100))
      setImmediate(() => response.destroy())
    })
    expect(await failure(server.baseURL, { stream: false })).toMatchObject({ code: 'stream_cut', retryable: true })
  })
})

describe('errors inside an answer that began well', () => {
  it('Q14 H42 an error as a data line, in a choice or as an event is named; secrets in it are hidden', async () => {
    const recordings: [string, object][] = [
      [
        events(...readRecording('q14-error-line')),
        { code: 'provider_error', retryable: true, status: 503, message: expect.stringContaining('[redacted]') },
      ],
      [
        events(...readRecording('q14-error-in-choice')),
        { code: 'provider_error', retryable: true, status: 502, message: expect.stringContaining('connection reset') },
      ],
      [
        `${events(chunk({ content: 'The wea' }))}event: error\ndata: {"message":"Too many requests","type":"rate_limit_error"}\n\n`,
        { code: 'rate_limited', retryable: true },
      ],
    ]
    for (const [stream, expected] of recordings) {
      for (const cut of cuts) {
        await using server = await startServer((response) => sendCut(eventStream(response), Buffer.from(stream), cut))
        const found = await failure(server.baseURL)
        expect(found).toMatchObject({ partial: { text: 'The wea' }, ...expected })
        expect(found.message).not.toContain('sk-')
      }
    }
  })

  it('Q14 H42 HTTP 200 with an error body is an error, streamed or not', async () => {
    const bodies: [JsonObject, object][] = [
      [
        { error: { message: 'model overloaded', type: 'overloaded_error' } },
        { code: 'provider_error', retryable: true, providerCode: 'overloaded_error' },
      ],
      [{ error: { message: 'Rate limited', code: 429 } }, { code: 'rate_limited', retryable: true, status: 429 }],
      [
        { object: 'error', message: 'Bad', type: 'BadRequestError', code: 400 },
        { code: 'provider_error', retryable: false },
      ],
      [{ error: 'just a text' }, { code: 'provider_error', message: expect.stringContaining('just a text') }],
      [{ hello: 'world' }, { code: 'bad_response', retryable: false }],
      [{ choices: [] }, { code: 'bad_response' }],
    ]
    for (const [body, expected] of bodies) {
      await using server = await startServer((response) => sendJson(response, body))
      for (const stream of [true, false]) expect(await failure(server.baseURL, { stream })).toMatchObject(expected)
    }
  })

  it('Q14 H42 an HTML page and a plain text with status 200 are not answers', async () => {
    await using server = await startServer((response, _request, index) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end(index === 0 ? '<!doctype html><title>Sign in</title>' : 'Not the API'),
    )
    expect(await failure(server.baseURL)).toMatchObject({
      code: 'bad_response',
      retryable: false,
      message: expect.stringMatching(/HTML titled "Sign in".*base URL/),
    })
    expect(await failure(server.baseURL)).toMatchObject({ code: 'bad_response', message: expect.stringContaining('Not the API') })
  })

  it('H40 a finish reason for a failure is an error', async () => {
    await using server = await startServer((response) =>
      eventStream(response).end(events(chunk({ content: 'hal' }), chunk({}, 'insufficient_system_resource'), '[DONE]')),
    )
    expect(await failure(server.baseURL)).toMatchObject({ code: 'stream_cut', retryable: true, partial: { text: 'hal' } })
  })

  it('a sink that throws ends the request with its error', async () => {
    await using server = await startServer((response) => eventStream(response).write(events(chunk({ content: 'x' }))))
    const thrown = new Error('sink')
    const model = createModel({ provider: 'openai', model: 'gpt-4o', apiKey: 'k', baseURL: server.baseURL })
    const sink: ModelSink = {
      text() {
        throw thrown
      },
    }
    await expect(model.generate({ messages: hello }, sink)).rejects.toBe(thrown)
    await server.firstClosed
  })
})
