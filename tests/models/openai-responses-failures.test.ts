import { afterEach, describe, expect, it, vi } from 'vitest'
import type { JsonObject } from '../../src/core/messages.ts'
import { createModel } from '../../src/models/create-model.ts'
import { openaiResponsesModel } from '../../src/models/openai-responses/driver.ts'
import type { ModelSettings } from '../../src/models/settings.ts'
import type { MockFault } from '../../src/testing/mock/fault.ts'
import type { MockReply } from '../../src/testing/mock/reply.ts'
import { failure, hello, secret } from './one-request.ts'
import { startStrictProvider } from './rules/strict-provider.ts'

const settings = { provider: 'openai-responses', model: 'gpt-5.2' }

afterEach(() => {
  vi.unstubAllEnvs()
})

async function failureOf(faults: MockFault, script: MockReply[] = ['Hello'], stream = true) {
  await using server = await startStrictProvider({ script, faults })
  return await failure(server.baseURL, { stream }, settings)
}

describe('errors of the Responses API', () => {
  const cases: [name: string, status: number, error: JsonObject, expected: object][] = [
    ['a bad key', 401, { code: 'invalid_api_key', message: `Incorrect API key provided: ${secret}` }, { code: 'unauthorized' }],
    ['a model that is not there', 404, { code: 'model_not_found', message: 'No' }, { code: 'provider_error', retryable: false }],
    [
      'H43 a long conversation',
      400,
      { code: 'context_length_exceeded', message: 'Your input exceeds the context window of this model.' },
      { code: 'context_overflow', retryable: false },
    ],
    [
      'H42 a flagged prompt',
      400,
      { code: 'invalid_prompt', message: 'Invalid prompt: flagged' },
      { code: 'content_filter', retryable: false },
    ],
    ['no quota', 429, { code: 'insufficient_quota', message: 'You exceeded your quota' }, { code: 'rate_limited', retryable: false }],
    ['too many requests', 429, { code: 'rate_limit_exceeded', message: 'Slow down' }, { code: 'rate_limited', retryable: true }],
    ['a server error', 500, { code: 'server_error', message: 'Sorry' }, { code: 'provider_error', retryable: true }],
  ]
  for (const [name, status, error, expected] of cases) {
    it(`H39 ${name}: ${status}, as a status and inside a stream`, async () => {
      const body = { error: { type: 'invalid_request_error', param: null, ...error } }
      const headers = { 'x-request-id': 'req_1', 'retry-after': '7' }
      const answered = await failureOf({ status, body, headers })
      expect(answered).toMatchObject({ ...expected, status, providerCode: error.code, requestId: 'req_1', retryAfterMs: 7000 })
      expect(answered.message).not.toContain(secret)
      if (status === 404) return
      const event = { type: 'error', sequence_number: 3, ...body }
      const streamed = await failureOf({ errorInStream: event })
      expect(streamed).toMatchObject({ ...expected, providerCode: error.code, partial: { text: 'Hello' } })
      expect(await failureOf({ errorInStream: { type: 'error', ...error, param: null } })).toMatchObject(expected)
      const response = { id: 'resp_1', status: 'failed', error }
      expect(await failureOf({ errorInStream: { type: 'response.failed', response } })).toMatchObject(expected)
      expect(await failureOf({}, [{ body: { ...response, object: 'response', output: [] } }], false)).toMatchObject(expected)
    })
  }

  it('H39 a rate limit is waited out and the request retried', async () => {
    const faults = [{ status: 429, headers: { 'retry-after': '0' } }]
    await using server = await startStrictProvider({ script: ['Hello'], faults })
    const model = createModel({ ...settings, apiKey: 'k', baseURL: server.baseURL, maxRetries: 1 })
    expect(await model.generate({ messages: hello })).toMatchObject({ text: 'Hello', retries: 1 })
  })

  it('H40 a stream without its last event is cut off, whatever it contains', async () => {
    for (const fault of [{ cutAfterBytes: 'content' }, { resetAfterBytes: 'content' }] as const) {
      expect(await failureOf(fault)).toMatchObject({ code: 'stream_cut', retryable: true, partial: { text: 'Hello' } })
    }
  })

  it('something that is not a response, or an unfinished one, is not an answer', async () => {
    const bodies: [JsonObject, RegExp][] = [
      [{ id: 'x' }, /a response/],
      [{ object: 'response', status: 'queued', output: [] }, /`queued`/],
      [{ object: 'response', status: 'cancelled', output: [] }, /`cancelled`/],
    ]
    for (const [body, message] of bodies) {
      expect(await failureOf({}, [{ body }], false)).toMatchObject({ code: 'bad_response', message: expect.stringMatching(message) })
    }
    for (const line of ['data: {"type":\n\n', 'data: 7\n\n']) {
      expect(await failureOf({}, [{ events: [line] }])).toMatchObject({ code: 'bad_response' })
    }
    expect(await failureOf({}, [{ events: ['event: error\ndata: {"message":"odd"}\n\n'] }])).toMatchObject({
      message: expect.stringContaining('odd'),
    })
  })
})

describe('access', () => {
  async function headersOf(given: Partial<ModelSettings>): Promise<Readonly<Record<string, string>>> {
    await using server = await startStrictProvider({ script: ['ok'] })
    await createModel({ ...settings, baseURL: server.baseURL, ...given }).generate({ messages: hello })
    return server.requests[0]?.headers ?? {}
  }

  it('S3-18 treats an empty key as absent: uses the environment’s, or reports a missing key', async () => {
    vi.stubEnv('OPENAI_API_KEY', 'sk-of-the-environment')
    expect((await headersOf({ apiKey: '' })).authorization).toBe('Bearer sk-of-the-environment')
    vi.stubEnv('OPENAI_API_KEY', '')
    await expect(headersOf({ apiKey: '' })).rejects.toMatchObject({ code: 'missing_api_key' })
    expect((await headersOf({ provider: 'responses-compatible' })).authorization).toBe('Bearer none')
  })

  it('sends nothing from the environment of OpenAI’s account to another server', async () => {
    vi.stubEnv('OPENAI_ORG_ID', 'org-mine')
    expect((await headersOf({ apiKey: 'k' }))['openai-organization']).toBe('org-mine')
    expect(await headersOf({ provider: 'responses-compatible' })).not.toHaveProperty('openai-organization')
  })

  it('creates the driver without `createModel`, with a preset of its own', async () => {
    await using server = await startStrictProvider({ script: ['ok'] })
    const preset = { driver: 'openai-responses' }
    const model = openaiResponsesModel({ provider: 'mine', model: 'm', apiKey: 'k', baseURL: server.baseURL, preset })
    expect(await model.generate({ messages: hello })).toMatchObject({ text: 'ok' })
    expect(model).toMatchObject({ provider: 'mine', model: 'm', capabilities: { nativeTools: true } })
  })
})
