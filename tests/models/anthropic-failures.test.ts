import { afterEach, describe, expect, it, vi } from 'vitest'
import type { ChatMessage, JsonObject } from '../../src/core/messages.ts'
import { anthropicModel } from '../../src/models/anthropic/driver.ts'
import { createModel } from '../../src/models/create-model.ts'
import type { ModelSettings } from '../../src/models/settings.ts'
import { startStrictProvider } from './rules/strict-provider.ts'

const hello: ChatMessage[] = [{ role: 'user', content: 'Hello' }]
const secret = 'sk-ant-abcdefghijklmnop'
const settings = { provider: 'anthropic', model: 'claude-sonnet-4-5', apiKey: secret, maxRetries: 0 }

afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

describe('errors of the Messages API', () => {
  const cases: [name: string, status: number, type: string, message: string, expected: object][] = [
    ['a bad key', 401, 'authentication_error', `invalid x-api-key ${secret}`, { code: 'unauthorized', retryable: false }],
    ['no permission', 403, 'permission_error', 'No', { code: 'unauthorized', retryable: false }],
    ['no credit', 400, 'billing_error', 'Your credit balance is too low', { code: 'rate_limited', retryable: false }],
    ['a model that is not there', 404, 'not_found_error', 'model: claude-9', { code: 'provider_error', retryable: false }],
    ['a bad request', 400, 'invalid_request_error', 'max_tokens: Field required', { code: 'provider_error', retryable: false }],
    ['H43 a long prompt', 400, 'invalid_request_error', 'prompt is too long: 208310 tokens > 200000 maximum', { code: 'context_overflow' }],
    [
      'H43 a long prompt with what may be written',
      400,
      'invalid_request_error',
      'input length and `max_tokens` exceed context limit: 197190 + 8192 > 200000',
      { code: 'context_overflow', retryable: false },
    ],
    ['H43 a large body', 413, 'request_too_large', 'Request exceeds the maximum size', { code: 'context_overflow', retryable: false }],
    ['filtered output', 400, 'invalid_request_error', 'Output blocked by content filtering policy', { code: 'content_filter' }],
    ['too many requests', 429, 'rate_limit_error', 'Slow down', { code: 'rate_limited', retryable: true }],
    ['an internal error', 500, 'api_error', 'Internal server error', { code: 'provider_error', retryable: true }],
    ['a timeout', 504, 'timeout_error', 'Timed out', { code: 'provider_error', retryable: true }],
    ['an overloaded server', 529, 'overloaded_error', 'Overloaded', { code: 'provider_error', retryable: true }],
  ]
  for (const [name, status, type, message, expected] of cases) {
    it(`H39 ${name}: ${status} ${type}`, async () => {
      const body: JsonObject = { type: 'error', error: { type, message }, request_id: 'req_1' }
      const faults = { status, body, headers: { 'request-id': 'req_1' } }
      await using server = await startStrictProvider({ faults })
      const asked = createModel({ ...settings, baseURL: server.url }).generate({ messages: hello })
      const error = await asked.then(
        () => expect.unreachable(),
        (thrown: unknown) => thrown,
      )
      expect(error).toMatchObject({
        ...expected,
        status,
        providerCode: type,
        requestId: 'req_1',
        message: expect.not.stringContaining(secret),
      })
    })
  }

  it('Q23 distinguishes errors inside a stream by their type', async () => {
    const types = { overloaded_error: true, api_error: true, rate_limit_error: true, timeout_error: true, invalid_request_error: false }
    for (const [type, retryable] of Object.entries(types)) {
      const errorInStream = { type: 'error', error: { type, message: 'x' } }
      await using server = await startStrictProvider({ script: ['Hello'], faults: { errorInStream } })
      const asked = createModel({ ...settings, baseURL: server.url }).generate({ messages: hello })
      await expect(asked, type).rejects.toMatchObject({ providerCode: type, retryable, partial: { text: 'Hello' } })
    }
  })

  it('rejects a body that is not a message, and a stream that is not one', async () => {
    for (const script of [
      [{ body: { id: 'x' } }],
      [{ body: [] as never }],
      [{ events: ['data: {"type":\n\n'] }],
      [{ events: ['data: 7\n\n'] }],
    ]) {
      await using server = await startStrictProvider({ script })
      const asked = createModel({ ...settings, baseURL: server.url }).generate({ messages: hello, stream: 'events' in (script[0] ?? {}) })
      await expect(asked).rejects.toMatchObject({ code: 'bad_response' })
    }
  })
})

describe('keys, headers and addresses', () => {
  async function headersOf(
    given: Partial<ModelSettings>,
  ): Promise<{ headers: Readonly<Record<string, string>>; warnings: string[]; path: string }> {
    await using server = await startStrictProvider({ script: ['ok'] })
    const { warnings = [] } = await createModel({ ...settings, baseURL: server.url, ...given }).generate({ messages: hello })
    return { headers: server.requests[0]?.headers ?? {}, path: server.requests[0]?.path ?? '', warnings }
  }

  it('S4-20 only warns about a key without the usual prefix, once', async () => {
    await using server = await startStrictProvider({ script: () => 'ok' })
    const model = createModel({ ...settings, apiKey: 'gateway-key', baseURL: server.url })
    const first = await model.generate({ messages: hello })
    expect(first.warnings).toEqual([expect.stringContaining('`sk-ant-`')])
    expect(await model.generate({ messages: hello })).not.toHaveProperty('warnings')
    expect(server.requests[0]?.headers.authorization).toBe('Bearer gateway-key')
    expect((await headersOf({})).warnings).toEqual([])
  })

  it('S3-18 treats an empty key as absent: uses the environment’s, or reports a missing key', async () => {
    vi.stubEnv('ANTHROPIC_API_KEY', 'sk-ant-of-the-environment')
    expect((await headersOf({ apiKey: '' })).headers.authorization).toBe('Bearer sk-ant-of-the-environment')
    vi.stubEnv('ANTHROPIC_API_KEY', '')
    vi.stubEnv('ANTHROPIC_AUTH_TOKEN', '')
    await expect(headersOf({ apiKey: '' })).rejects.toMatchObject({ code: 'missing_api_key' })
  })

  it('sends x-api-key and the version to a compatible server', async () => {
    const compatible = await headersOf({ provider: 'anthropic-compatible', apiKey: 'any' })
    expect(compatible.headers).toMatchObject({ 'x-api-key': 'any', 'anthropic-version': '2023-06-01' })
    expect(compatible.headers).not.toHaveProperty('authorization')
    expect(compatible.warnings).toEqual([])
    const byHeaders = await headersOf({ apiKey: '', headers: { 'X-Api-Key': 'k', 'anthropic-version': '2023-06-01' } })
    expect(byHeaders.headers).toMatchObject({ 'x-api-key': 'k', 'anthropic-version': '2023-06-01' })
    expect(byHeaders.headers).not.toHaveProperty('authorization')
    expect((await headersOf({ quirks: { apiVersion: '2024-01-01' } })).headers['anthropic-version']).toBe('2024-01-01')
  })

  it('sends nothing from the environment of Anthropic’s account to another server', async () => {
    vi.stubEnv('ANTHROPIC_CUSTOM_HEADERS', 'x-team: blue')
    expect((await headersOf({})).headers['x-team']).toBe('blue')
    expect((await headersOf({ provider: 'anthropic-compatible' })).headers).not.toHaveProperty('x-team')
  })

  it('accepts the address with or without the version', async () => {
    await using server = await startStrictProvider({ script: () => 'ok' })
    for (const path of ['', '/', '/v1', '/v1/', '/anthropic', '/anthropic/v1']) {
      await createModel({ ...settings, baseURL: `${server.url}${path}` }).generate({ messages: hello })
    }
    const paths = server.requests.map((request) => request.path)
    expect(paths).toEqual([...Array(4).fill('/v1/messages'), ...Array(2).fill('/anthropic/v1/messages')])
  })

  it('prints nothing, whatever the model or the environment', async () => {
    vi.stubEnv('ANTHROPIC_LOG', 'debug')
    const written = (['debug', 'info', 'log', 'warn', 'error'] as const).map((level) => vi.spyOn(console, level))
    await headersOf({ model: 'claude-sonnet-4-5' })
    await headersOf({ model: 'claude-opus-4-6', providerOptions: { thinking: { type: 'enabled', budget_tokens: 2000 } } })
    for (const spy of written) expect(spy).not.toHaveBeenCalled()
  })

  it('creates the driver without `createModel`, with a preset of its own', async () => {
    await using server = await startStrictProvider({ script: ['ok'] })
    const model = anthropicModel({ provider: 'mine', model: 'm', apiKey: 'k', baseURL: server.url, preset: { driver: 'anthropic' } })
    expect(await model.generate({ messages: hello })).toMatchObject({ text: 'ok' })
    expect(model).toMatchObject({ provider: 'mine', model: 'm', capabilities: { nativeTools: true } })
  })
})
