import { Messages } from '@anthropic-ai/sdk/resources/messages'
import { Models } from '@google/genai'
import { Completions } from 'openai/resources/chat/completions'
import { Responses } from 'openai/resources/responses'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createModel } from '../../src/models/create-model.ts'
import type { ModelSettings } from '../../src/models/settings.ts'
import { eventStream, startServer, textEvents } from './local-server.ts'
import { hello, secret } from './one-request.ts'
import { startStrictProvider } from './rules/strict-provider.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

const providers = ['custom', 'responses-compatible', 'anthropic', 'google'] as const
type Provider = (typeof providers)[number]

const modelOf = (provider: Provider, { url, baseURL }: { url: string; baseURL: string }, settings: Partial<ModelSettings> = {}) =>
  createModel({ provider, model: 'm', apiKey: secret, baseURL: provider === 'google' ? url : baseURL, maxRetries: 0, ...settings })

describe('every request', () => {
  it.each(providers)('is sent by the SDK method of %s and by nothing else', async (provider) => {
    await using mock = await startStrictProvider({ script: () => 'ok' })
    const methods = {
      custom: [vi.spyOn(Completions.prototype, 'create')],
      'responses-compatible': [vi.spyOn(Responses.prototype, 'create')],
      anthropic: [vi.spyOn(Messages.prototype, 'create')],
      google: [
        vi.spyOn(Models.prototype, 'generateContentInternal' as never),
        vi.spyOn(Models.prototype, 'generateContentStreamInternal' as never),
      ],
    }[provider]
    const model = modelOf(provider, mock)
    for (const stream of [true, false, true]) expect(await model.generate({ messages: hello, stream })).toMatchObject({ text: 'ok' })
    expect(methods.reduce((calls, { mock: { calls: made } }) => calls + made.length, 0)).toBe(3)
    expect(mock.requests).toHaveLength(3)
  })
})

describe('a function as the key', () => {
  it.each(providers)('is called for each request to %s', async (provider) => {
    await using mock = await startStrictProvider({ script: () => 'ok' })
    let keys = 0
    const apiKey = async () => `key-number-${++keys}`
    const model = modelOf(provider, mock, { apiKey })
    for (let i = 0; i < 3; i++) await model.generate({ messages: hello })
    const sent = mock.requests.map(({ headers }) => (provider === 'google' ? headers['x-goog-api-key'] : headers.authorization))
    const before = provider === 'google' ? '' : 'Bearer '
    expect(sent).toEqual([1, 2, 3].map((number) => `${before}key-number-${number}`))
  })

  it.each(providers)('its key is not quoted in an error of %s', async (provider) => {
    await using server = await startServer((response, { headers }) => response.writeHead(400).end(JSON.stringify(headers)))
    const model = modelOf(provider, { url: server.baseURL, baseURL: server.baseURL }, { apiKey: () => 'a-token-of-somebody' })
    const error: unknown = await model.generate({ messages: hello }).catch((error: unknown) => error)
    expect(error).toMatchObject({ status: 400 })
    expect(String(error)).not.toContain('a-token-of-somebody')
  })

  it.each(providers)('if it fails, the error is one of access to %s, and nothing is sent', async (provider) => {
    await using mock = await startStrictProvider({ script: () => 'ok' })
    const generate = (apiKey: () => string) => modelOf(provider, mock, { apiKey }).generate({ messages: hello })
    const refused = generate(() => {
      throw new Error('login expired')
    })
    await expect(refused).rejects.toMatchObject({
      code: 'unauthorized',
      retryable: false,
      message: expect.stringMatching(/^Expected credentials for .*login expired/),
    })
    const unreachable = generate(() => {
      throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    })
    await expect(unreachable).rejects.toMatchObject({ code: 'connection_failed', retryable: true })
    expect(mock.requests).toHaveLength(0)
  })

  it('is sent to Azure as a token', async () => {
    await using server = await startServer((response) => eventStream(response).end(textEvents('ok')))
    const { origin } = new URL(server.baseURL)
    const getToken = async () => 'token-of-azure-ad'
    await createModel({ provider: 'azure', model: 'my-deployment', apiKey: getToken, baseURL: origin }).generate({ messages: hello })
    expect(server.requests[0]).toMatchObject({ url: '/openai/v1/chat/completions', headers: { authorization: 'Bearer token-of-azure-ad' } })
    expect(server.requests[0]?.headers).not.toHaveProperty('api-key')
  })

  it('may take any time, and is aborted with its request', async () => {
    const controller = new AbortController()
    const model = createModel({ provider: 'custom', model: 'm', baseURL: 'http://127.0.0.1:1', apiKey: () => new Promise(() => {}) })
    const answer = model.generate({ messages: hello, signal: controller.signal })
    setImmediate(() => controller.abort())
    await expect(answer).rejects.toMatchObject({ code: 'aborted' })
  })
})

describe('what an SDK prints', () => {
  it('is a warning of the response if it is about the provider that was asked', async () => {
    const printed = vi.spyOn(console, 'warn')
    const fetch = async () => Response.json({ type: 'message', content: [{ type: 'text', text: 'ok' }], stop_reason: 'end_turn' })
    const settings = { provider: 'anthropic', model: 'claude-sonnet-4-5', apiKey: 'sk-ant-key', fetch }
    const { warnings } = await createModel(settings).generate({ messages: hello, stream: false })
    expect(warnings).toEqual([expect.stringContaining('claude-sonnet-4-5')])
    const elsewhere = await createModel({ ...settings, baseURL: 'http://127.0.0.1:1' }).generate({ messages: hello, stream: false })
    expect(elsewhere).not.toHaveProperty('warnings')
    expect(printed).not.toHaveBeenCalled()
  })
})
