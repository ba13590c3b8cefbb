import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { JsonObject } from '../../src/core/messages.ts'
import { createModel } from '../../src/models/create-model.ts'
import { googleModel } from '../../src/models/google/driver.ts'
import type { ModelSettings } from '../../src/models/settings.ts'
import { closeServer } from '../close-server.ts'
import { hello } from './google-replay.ts'
import { startStrictProvider } from './rules/strict-provider.ts'

const secret = 'AIzaSyabcdefghijklmnop'
const settings = { provider: 'google', model: 'gemini-3.5-flash', apiKey: secret, maxRetries: 0 }

beforeEach(() => {
  const names = ['GOOGLE_API_KEY', 'GEMINI_API_KEY', 'GOOGLE_CLOUD_PROJECT', 'GOOGLE_CLOUD_LOCATION', 'GOOGLE_APPLICATION_CREDENTIALS']
  for (const name of [...names, 'GOOGLE_GEMINI_BASE_URL', 'GOOGLE_VERTEX_BASE_URL']) vi.stubEnv(name, '')
})

afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

function failure(status: number, word: string, message: string, details: JsonObject[] = []): JsonObject {
  return { error: { code: status, message, status: word, ...(details.length === 0 ? {} : { details }) } }
}

const retryInfo = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '0.25s' }
const quota = (quotaId: string): JsonObject => ({ '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [{ quotaId }] })
const badKey = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID', domain: 'googleapis.com' }

describe('errors of generateContent', () => {
  const tooLong = 'The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).'
  const vertexTooLong = 'Unable to submit request because the input token count is 1048580 but model only supports up to 1048576.'
  const cases: [name: string, status: number, body: JsonObject | string, expected: object][] = [
    [
      'a bad key',
      400,
      failure(400, 'INVALID_ARGUMENT', `API key not valid: ${secret}`, [badKey]),
      { code: 'unauthorized', retryable: false },
    ],
    ['no permission', 403, failure(403, 'PERMISSION_DENIED', 'No'), { code: 'unauthorized', retryable: false }],
    ['a token that is none', 401, failure(401, 'UNAUTHENTICATED', 'No'), { code: 'unauthorized', retryable: false }],
    ['a model that is not there', 404, failure(404, 'NOT_FOUND', 'models/x is not found'), { code: 'provider_error', retryable: false }],
    ['a bad request', 400, failure(400, 'INVALID_ARGUMENT', 'Unknown name'), { code: 'provider_error', retryable: false }],
    ['H43 a long prompt', 400, failure(400, 'INVALID_ARGUMENT', tooLong), { code: 'context_overflow', retryable: false }],
    ['H43 a long prompt, Vertex AI', 400, failure(400, 'INVALID_ARGUMENT', vertexTooLong), { code: 'context_overflow', retryable: false }],
    [
      'too many requests a minute',
      429,
      failure(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded', [quota('GenerateRequestsPerMinutePerProjectPerModel'), retryInfo]),
      { code: 'rate_limited', retryable: true, retryAfterMs: 250 },
    ],
    [
      'too many requests a day',
      429,
      failure(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded', [quota('GenerateRequestsPerDayPerProjectPerModel-FreeTier'), retryInfo]),
      { code: 'rate_limited', retryable: false },
    ],
    ['an overloaded model', 503, failure(503, 'UNAVAILABLE', 'The model is overloaded'), { code: 'provider_error', retryable: true }],
    ['a timeout', 504, failure(504, 'DEADLINE_EXCEEDED', 'Deadline'), { code: 'provider_error', retryable: true }],
    ['a text', 500, 'Internal', { code: 'provider_error', retryable: true, message: expect.stringContaining('Internal') }],
  ]
  for (const [name, status, body, expected] of cases) {
    it(`H39 ${name}: ${status}`, async () => {
      for (const stream of [true, false]) {
        await using server = await startStrictProvider({ faults: { status, body, headers: { 'x-request-id': 'req_1' } } })
        const error: unknown = await createModel({ ...settings, baseURL: server.url })
          .generate({ messages: hello, stream })
          .then(
            () => expect.unreachable(),
            (thrown: unknown) => thrown,
          )
        expect(error).toMatchObject({ status, requestId: 'req_1', ...expected })
        expect(String(error)).not.toContain(secret)
        if (typeof body === 'object') expect(error).toHaveProperty('providerCode', (body.error as JsonObject).status)
      }
    })
  }

  it('H39 waits as long as the error says', async () => {
    const body = failure(429, 'RESOURCE_EXHAUSTED', 'Slow down', [retryInfo])
    await using server = await startStrictProvider({ script: ['ok'], faults: [{ status: 429, body }] })
    const model = createModel({ ...settings, maxRetries: 1, baseURL: server.url })
    expect(await model.generate({ messages: hello })).toMatchObject({ text: 'ok', retries: 1 })
    const [first, second] = server.requests.map(({ receivedAt }) => receivedAt)
    // Timers may fire up to a millisecond early.
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(248)
  })

  it('H42 distinguishes errors inside a stream by their code', async () => {
    for (const [code, word, expected] of [
      [503, 'UNAVAILABLE', { code: 'provider_error', retryable: true }],
      [429, 'RESOURCE_EXHAUSTED', { code: 'rate_limited', retryable: true }],
      [400, 'INVALID_ARGUMENT', { code: 'provider_error', retryable: false }],
    ] as const) {
      await using server = await startStrictProvider({ script: ['Hello'], faults: { errorInStream: failure(code, word, 'x') } })
      const asked = createModel({ ...settings, baseURL: server.url }).generate({ messages: hello })
      await expect(asked, word).rejects.toMatchObject({ ...expected, providerCode: word, partial: { text: 'Hello' } })
    }
  })

  it('rejects a body that is not a response, and a stream that is not one', async () => {
    for (const script of [
      [{ body: { id: 'x' } }],
      [{ body: '[]' }],
      [{ body: '[7]' }],
      [{ events: ['data: {"a":\r\n\r\n'] }],
      [{ events: ['data: 7\n\n'] }],
    ]) {
      await using server = await startStrictProvider({ script })
      const asked = createModel({ ...settings, baseURL: server.url }).generate({ messages: hello, stream: 'events' in (script[0] ?? {}) })
      await expect(asked).rejects.toMatchObject({ code: 'bad_response' })
    }
  })
})

async function sentWith(given: Partial<ModelSettings>): Promise<{ headers: Readonly<Record<string, string>>; path: string }> {
  await using server = await startStrictProvider({ script: ['ok'] })
  await createModel({ ...settings, baseURL: server.url, ...given }).generate({ messages: hello })
  const [{ headers, path } = { headers: {}, path: '' }] = server.requests
  return { headers, path }
}

describe('keys, headers and addresses of the Gemini API', () => {
  it('S3-18 treats an empty key as absent: uses the environment’s, or reports a missing key', async () => {
    await expect(sentWith({ apiKey: '' })).rejects.toMatchObject({
      code: 'missing_api_key',
      message: expect.stringContaining('GEMINI_API_KEY'),
    })
    vi.stubEnv('GEMINI_API_KEY', 'of-gemini')
    expect((await sentWith({ apiKey: '' })).headers).toMatchObject({ 'x-goog-api-key': 'of-gemini' })
    vi.stubEnv('GOOGLE_API_KEY', 'of-google')
    expect((await sentWith({ apiKey: ' ' })).headers).toMatchObject({ 'x-goog-api-key': 'of-google' })
    expect((await sentWith({})).headers).toMatchObject({
      'x-goog-api-key': secret,
      'user-agent': expect.stringContaining('google-genai-sdk'),
    })
  })

  it('accept a proxy’s own headers in place of a key', async () => {
    const { headers } = await sentWith({ apiKey: '', headers: { Authorization: 'Bearer mine', 'x-team': 'blue' } })
    expect(headers).toMatchObject({ authorization: 'Bearer mine', 'x-team': 'blue' })
    expect(headers).not.toHaveProperty('x-goog-api-key')
    expect((await sentWith({ apiKey: '', headers: { 'X-Goog-Api-Key': 'k' } })).headers).toMatchObject({ 'x-goog-api-key': 'k' })
  })

  it('accept the address with or without a version; previews use the beta', async () => {
    const found: string[] = []
    await using server = await startStrictProvider({ script: () => 'ok' })
    for (const path of ['', '/', '/v1beta', '/v1beta/', '/proxy', '/proxy/v1alpha']) {
      await createModel({ ...settings, baseURL: `${server.url}${path}` }).generate({ messages: hello, stream: false })
    }
    await createModel({ ...settings, baseURL: server.url, model: 'gemini-3-flash-preview' }).generate({ messages: hello, stream: false })
    for (const { path } of server.requests) found.push(path.replace(/\/models\/.*$/, ''))
    expect(found).toEqual(['/v1', '/v1', '/v1beta', '/v1beta', '/proxy/v1', '/proxy/v1alpha', '/v1beta'])
  })

  it('use a key that changes in the environment from the next request on', async () => {
    await using server = await startStrictProvider({ script: () => 'ok' })
    vi.stubEnv('GEMINI_API_KEY', 'first')
    vi.stubEnv('GOOGLE_GEMINI_BASE_URL', server.url)
    const model = createModel('google/gemini-3.5-flash')
    await model.generate({ messages: hello })
    vi.stubEnv('GEMINI_API_KEY', 'second')
    await model.generate({ messages: hello })
    expect(server.requests.map(({ headers }) => headers['x-goog-api-key'])).toEqual(['first', 'second'])
  })

  it('print nothing, whatever the environment', async () => {
    const written = (['debug', 'info', 'log', 'warn', 'error'] as const).map((level) => vi.spyOn(console, level))
    vi.stubEnv('GOOGLE_API_KEY', 'a')
    vi.stubEnv('GEMINI_API_KEY', 'b')
    vi.stubEnv('GOOGLE_CLOUD_PROJECT', 'p')
    vi.stubEnv('GOOGLE_GENAI_USE_VERTEXAI', 'true')
    expect((await sentWith({})).path).toMatch(/^\/v1\/models\//)
    await sentWith({ provider: 'vertex' })
    for (const spy of written) expect(spy).not.toHaveBeenCalled()
  })

  it('creates the driver without `createModel`, with a preset of its own', async () => {
    await using server = await startStrictProvider({ script: ['ok'] })
    const model = googleModel({ provider: 'mine', model: 'm', apiKey: 'k', baseURL: server.url, preset: { driver: 'google' } })
    expect(await model.generate({ messages: hello })).toMatchObject({ text: 'ok' })
    expect(model).toMatchObject({ provider: 'mine', model: 'm', capabilities: { nativeTools: true } })
    expect(() => createModel({ ...settings, quirks: { service: 'azure' } })).toThrow('quirks.service')
    expect(createModel(settings).capabilities.contextWindow).toBe(1_048_576)
  })

  it('name the package to install if it is missing', () => {
    const module = new URL('../../src/models/create-model.ts', import.meta.url).href
    const script = `
      import { registerHooks } from 'node:module'
      registerHooks({ resolve: (name, context, next) => { if (name === '@google/genai') throw Object.assign(new Error('x'), { code: 'ERR_MODULE_NOT_FOUND' }); return next(name, context) } })
      const { createModel } = await import(${JSON.stringify(module)})
      const asked = createModel({ provider: 'google', model: 'm', apiKey: 'k' }).generate({ messages: [] })
      console.log(JSON.stringify(await asked.catch(({ code, message }) => ({ code, message }))))`
    const told: unknown = JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }))
    expect(told).toEqual({ code: 'missing_dependency', message: expect.stringContaining('npm install @google/genai') })
  })
})

describe('Vertex AI', () => {
  const vertex = { provider: 'vertex', apiKey: '' }
  const inProject =
    '/v1beta1/projects/my-project/locations/europe-west4/publishers/google/models/gemini-3.5-flash:streamGenerateContent?alt=sse'

  it('S2-57 uses a key in express mode, without a project', async () => {
    const { headers, path } = await sentWith({ provider: 'vertex' })
    expect(path).toBe('/v1beta1/publishers/google/models/gemini-3.5-flash:streamGenerateContent?alt=sse')
    expect(headers).toMatchObject({ 'x-goog-api-key': secret })
    vi.stubEnv('GOOGLE_API_KEY', 'of-the-environment')
    expect((await sentWith(vertex)).headers).toMatchObject({ 'x-goog-api-key': 'of-the-environment' })
    await expect(sentWith({ ...vertex, headers: {} }).then(() => vi.stubEnv('GOOGLE_API_KEY', ''))).resolves.toBeDefined()
    await expect(sentWith(vertex)).rejects.toMatchObject({
      code: 'missing_api_key',
      message: expect.stringContaining('GOOGLE_CLOUD_PROJECT'),
    })
  })

  it('S2-57 uses a project and the machine’s credentials, and keeps a token until it expires', async () => {
    await using tokens = await startTokens({ expiresIn: 3600 })
    vi.stubEnv('GOOGLE_CLOUD_PROJECT', 'my-project')
    vi.stubEnv('GOOGLE_CLOUD_LOCATION', 'europe-west4')
    vi.stubEnv('GOOGLE_API_KEY', 'not-this-one')
    vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', tokens.credentials)
    await using server = await startStrictProvider({ script: () => 'ok' })
    const model = createModel({ ...settings, ...vertex, baseURL: server.url })
    for (let round = 0; round < 3; round++) await model.generate({ messages: hello })
    expect(server.requests.map(({ path, headers }) => [path, headers.authorization])).toEqual(Array(3).fill([inProject, 'Bearer token-1']))
    expect(server.requests[0]?.headers).not.toHaveProperty('x-goog-api-key')
  })

  it.each<Record<string, string>>([{}, { 'x-goog-api-key': 'of-a-gateway' }])(
    'S2-57 replaces an expired token, with custom headers %j',
    async (headers) => {
      await using tokens = await startTokens({ expiresIn: 1 })
      vi.stubEnv('GOOGLE_CLOUD_PROJECT', 'my-project')
      vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', tokens.credentials)
      await using server = await startStrictProvider({ script: () => 'ok' })
      const model = createModel({ ...settings, ...vertex, baseURL: server.url, headers })
      for (let round = 0; round < 2; round++) await model.generate({ messages: hello })
      expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer token-1', 'Bearer token-2'])
      expect(server.requests[0]?.path).toContain('/projects/my-project/locations/global/')
    },
  )

  it('reports invalid credentials, and a token service that fails', async () => {
    vi.stubEnv('GOOGLE_CLOUD_PROJECT', 'my-project')
    vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', join(tmpdir(), 'not', 'there.json'))
    await expect(sentWith(vertex)).rejects.toMatchObject({
      code: 'unauthorized',
      retryable: false,
      message: expect.stringContaining('credentials'),
    })
    await using tokens = await startTokens({ expiresIn: 1, status: 400 })
    vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', tokens.credentials)
    await expect(sentWith(vertex)).rejects.toMatchObject({ code: 'unauthorized', retryable: false })
  })
})

/** A token service, and the credentials file that leads to it. */
async function startTokens({
  expiresIn,
  status = 200,
}: {
  expiresIn: number
  status?: number
}): Promise<AsyncDisposable & { credentials: string }> {
  let given = 0
  const server = createServer((request, response) => {
    request.resume()
    const token = {
      access_token: `token-${++given}`,
      issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      token_type: 'Bearer',
    }
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(
      JSON.stringify(status === 200 ? { ...token, expires_in: expiresIn } : { error: 'invalid_grant', error_description: 'Expired.' }),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const folder = mkdtempSync(join(tmpdir(), 'toolloop-google-'))
  const credentials = join(folder, 'credentials.json')
  writeFileSync(join(folder, 'subject'), 'subject-token')
  const file = {
    type: 'external_account',
    audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/provider',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/token`,
    credential_source: { file: join(folder, 'subject') },
  }
  writeFileSync(credentials, JSON.stringify(file))
  return {
    credentials,
    [Symbol.asyncDispose]: async () => {
      rmSync(folder, { recursive: true })
      await closeServer(server)
    },
  }
}
