import { describe, expect, it } from 'vitest'
import { anthropicQuirks } from '../../src/models/anthropic/quirks.ts'
import { createModel } from '../../src/models/create-model.ts'
import { googleQuirks } from '../../src/models/google/quirks.ts'
import { openaiModel } from '../../src/models/openai/driver.ts'
import { openAIQuirks } from '../../src/models/openai/quirks.ts'
import { responsesQuirks } from '../../src/models/openai-responses/quirks.ts'
import { findAPIKey, findBaseURL, findPreset, presetQuirks, providerNames } from '../../src/models/presets.ts'
import { eventStream, startServer, textEvents } from './local-server.ts'

const hello = { messages: [{ role: 'user' as const, content: 'Hello' }] }

describe('createModel', () => {
  it('S4-16 splits the name at the first slash', () => {
    const names: [string, string, string][] = [
      ['openai/gpt-5.2', 'openai', 'gpt-5.2'],
      ['ollama/qwen3:8b', 'ollama', 'qwen3:8b'],
      ['openrouter/anthropic/claude-sonnet-4', 'openrouter', 'anthropic/claude-sonnet-4'],
      ['demo', 'demo', 'demo'],
      ['demo/demo', 'demo', 'demo'],
    ]
    for (const [name, provider, model] of names) expect(createModel(name)).toMatchObject({ provider, model })
  })

  it.each([
    ['gpt-5.2', 'openai/gpt-5.2'],
    ['gpt5.2', 'openai/gpt-5.2'],
    ['claude-sonet-4-6', 'anthropic/claude-sonnet-4-6'],
  ])('suggests the provider of %s', (name, meant) => {
    expect(() => createModel(name)).toThrow(`Expected \`model\` to be 'provider/model' (did you mean '${meant}'?) with a provider of `)
    expect(() => createModel('no-such-thing-at-all')).toThrow("'provider/model' with a provider of ")
  })

  it('answers as the built-in model without a key or network', async () => {
    const { text, finishReason } = await createModel('demo').generate({ messages: [{ role: 'user', content: 'What is 6 times 7?' }] })
    expect(finishReason).toBe('stop')
    expect(text).not.toBe('')
  })

  it('checks the messages it gets, like a custom driver’s model', async () => {
    await using server = await startServer((response) => eventStream(response).end(textEvents('ok')))
    const settings = { provider: 'custom', model: 'm', baseURL: server.baseURL, maxRetries: 0 }
    for (const model of [createModel(settings), openaiModel(settings), createModel('demo')]) {
      for (const messages of ['Hello', [{ role: 'user' }], [null]]) {
        await expect(model.generate({ messages: messages as never })).rejects.toMatchObject({ code: 'invalid_message' })
      }
    }
    expect(server.requests).toHaveLength(0)
  })

  it('reports its capabilities before it is asked', () => {
    const settings = { provider: 'openrouter', model: 'm', contextWindow: 8000, price: { input: 1, output: 2 } }
    expect(createModel(settings).capabilities).toEqual({
      nativeTools: true,
      contextWindow: 8000,
      price: { input: 1, output: 2 },
      reportsCost: true,
    })
    expect(createModel({ provider: 'openai', model: 'm', functionCalling: false }).capabilities).toEqual({
      nativeTools: false,
      dialect: 'json',
      deprecated: expect.stringContaining('deprecated'),
    })
    expect(createModel({ provider: 'openai', model: 'm', dialect: 'hermes' }).capabilities).toEqual({
      nativeTools: false,
      dialect: 'hermes',
    })
    expect(createModel('vllm/m').capabilities).toEqual({ nativeTools: true, salvageTextCalls: true, structuredOutput: 'alone' })
    expect(createModel({ provider: 'vllm', model: 'm', salvageTextCalls: false }).capabilities).toEqual({
      nativeTools: true,
      structuredOutput: 'alone',
    })
  })

  it('refuses invalid settings at once, and says what it expected', () => {
    const cases: [Parameters<typeof createModel>[0], string, RegExp][] = [
      ['opnai/gpt-5', 'unknown_provider', /`opnai`.*openai, openai-responses, anthropic, google, vertex, azure, deepseek.*`custom`/],
      ['__proto__/x', 'unknown_provider', /__proto__/],
      ['gpt-5', 'invalid_option', /'provider\/model'/],
      ['openai/', 'invalid_option', /'provider\/model'/],
      ['/gpt-5', 'invalid_option', /'provider\/model'/],
      [{ provider: 'openai', model: '' }, 'invalid_option', /`model`/],
      [{ provider: '', model: 'm' }, 'invalid_option', /`provider`/],
      [{ provider: 'custom', model: 'm' }, 'invalid_option', /`baseURL`/],
      [{ provider: 'openai', model: 'm', baseURL: 'localhost:8000' }, 'invalid_option', /`baseURL`.*http/],
      [{ provider: 'openai', model: 'm', maxRetries: -1 }, 'invalid_option', /`maxRetries`/],
      [{ provider: 'openai', model: 'm', maxRetryDelayMs: Number.NaN }, 'invalid_option', /`maxRetryDelayMs`/],
      [{ provider: 'openai', model: 'm', streamIdleTimeoutMs: 0 }, 'invalid_option', /`streamIdleTimeoutMs`/],
      [
        { provider: 'openai', model: 'm', quirks: { maxTokenField: 'max_tokens' } },
        'invalid_option',
        /`quirks.maxTokenField`.*maxTokensField/,
      ],
      [{ provider: 'openai', model: 'm', quirks: { toolChoice: 'auto' } }, 'invalid_option', /`quirks.toolChoice`.*a list of 'auto'/],
      [{ provider: 'openai', model: 'm', quirks: { toolCallId: { pattern: '(', length: 9 } } }, 'invalid_option', /`quirks.toolCallId`/],
    ]
    for (const [model, code, message] of cases) {
      expect(() => createModel(model)).toThrow(expect.objectContaining({ code, message: expect.stringMatching(message) }))
    }
  })

  it('S4-17 reads the address from OpenAI’s environment variable with each request', async () => {
    await using server = await startServer((response) => eventStream(response).end(textEvents('ok')))
    const model = createModel({ provider: 'openai', model: 'm', apiKey: 'k' })
    process.env.OPENAI_BASE_URL = server.baseURL
    try {
      expect((await model.generate(hello)).text).toBe('ok')
    } finally {
      delete process.env.OPENAI_BASE_URL
    }
  })

  it('uses a key that is replaced while it runs', async () => {
    await using server = await startServer((response) => eventStream(response).end(textEvents('ok')))
    const model = createModel({ provider: 'groq', model: 'm', baseURL: server.baseURL })
    try {
      for (const key of ['first', 'second']) {
        process.env.GROQ_API_KEY = key
        await model.generate(hello)
      }
    } finally {
      delete process.env.GROQ_API_KEY
    }
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer first', 'Bearer second'])
  })
})

describe('config/providers.yaml', () => {
  it('has presets that are valid like custom ones', () => {
    for (const name of providerNames()) expect(findPreset(name, { [name]: {} })).toEqual(findPreset(name))
  })

  it('S4-27 has the base URLs of the providers', () => {
    const urls = {
      deepseek: 'https://api.deepseek.com',
      moonshot: 'https://api.moonshot.cn/v1',
      doubao: 'https://ark.cn-beijing.volces.com/api/v3',
      ollama: 'http://localhost:11434/v1',
      openai: 'https://api.openai.com/v1',
      vllm: 'http://localhost:8000/v1',
      lmstudio: 'http://localhost:1234/v1',
    }
    for (const [provider, baseURL] of Object.entries(urls))
      expect(findBaseURL({ provider, model: 'm' }, findPreset(provider))).toBe(baseURL)
  })

  it('S4-16 Q17 knows every provider, with quirks that are valid for any model', () => {
    const names = [
      'openai',
      'openai-chat',
      'azure',
      'deepseek',
      'moonshot',
      'doubao',
      'dashscope',
      'ollama',
      'vllm',
      'lmstudio',
      'llamacpp',
      'sglang',
      'minimax',
      'openrouter',
      'groq',
      'mistral',
      'xai',
      'custom',
    ]
    const others = ['openai-responses', 'responses-compatible', 'anthropic', 'anthropic-compatible', 'google', 'vertex', 'demo']
    expect(providerNames().toSorted()).toEqual([...names, ...others].toSorted())
    for (const name of names) {
      const preset = findPreset(name)
      expect(preset.driver).toBe('openai')
      for (const { quirks } of preset.models ?? []) openAIQuirks(preset.quirks, quirks)
      for (const model of ['qwq-plus', 'qwen2.5-coder', 'gpt-5-mini', 'o3', 'kimi-k2.6', 'kimi-k3', 'grok-4', 'deepseek-chat'])
        openAIQuirks(...presetQuirks(preset, model))
      if (!preset.apiKeyOptional) expect(preset.apiKeyEnv).toMatch(/_API_KEY$/)
    }
  })

  it('S4-16 knows the Responses API and compatible servers, with quirks that are valid for any model', () => {
    for (const name of ['openai-responses', 'responses-compatible']) {
      const preset = findPreset(name)
      expect(preset.driver).toBe('openai-responses')
      for (const { quirks } of preset.models ?? []) responsesQuirks(preset.quirks, quirks)
    }
    const { apiKeyEnv, baseURL } = findPreset('openai')
    expect(findPreset('openai-responses')).toMatchObject({ apiKeyEnv, baseURL })
    const reasons = (model: string) => responsesQuirks(...presetQuirks(findPreset('openai-responses'), model)).reasons
    expect(['o3', 'o4-mini', 'gpt-5', 'gpt-5-mini', 'gpt-5.2-pro', 'gpt-5.1-codex-max', 'codex-mini-latest'].map(reasons)).toEqual(
      Array(7).fill('always'),
    )
    expect(['gpt-5.1', 'gpt-5.2', 'gpt-5.4-mini', 'gpt-5.2-2025-12-11'].map(reasons)).toEqual(Array(4).fill('when-asked'))
    expect(['gpt-4.1', 'gpt-4o-mini', 'gpt-5-chat-latest', 'chatgpt-4o-latest'].map(reasons)).toEqual(Array(4).fill('never'))
    expect(['gpt-5.5', 'gpt-6-luna', 'gpt-5.2-chat-latest'].map(reasons)).toEqual(Array(3).fill('by-default'))
  })

  it('S4-17 knows the Gemini API and Vertex AI, with quirks that are valid for any model', () => {
    for (const name of ['google', 'vertex']) {
      const preset = findPreset(name)
      expect(preset.driver).toBe('google')
      for (const { quirks } of preset.models ?? []) googleQuirks(preset.quirks, quirks)
    }
    const quirks = (model: string) => googleQuirks(...presetQuirks(findPreset('google'), model))
    for (const model of ['gemini-3.8-flash', 'gemini-next-9', 'models/gemini-3-pro-preview', 'publishers/google/models/gemini-4']) {
      expect(quirks(model), model).toMatchObject({ includeThoughts: true, missingSignature: 'skip_thought_signature_validator' })
    }
    for (const model of ['gemini-2.0-flash', 'gemma-3-27b', 'gemini-2.5-flash-image', 'gemini-2.5-pro-preview-tts']) {
      expect(quirks(model), model).toMatchObject({ includeThoughts: false, missingSignature: null, reasoningEffort: {} })
    }
    expect(['gemini-3-flash-preview', 'gemini-2.5-flash'].map((model) => quirks(model).apiVersion)).toEqual(['beta', null])
  })

  it('S4-20 knows Anthropic and compatible servers, with quirks that are valid for any model', () => {
    for (const name of ['anthropic', 'anthropic-compatible']) {
      const preset = findPreset(name)
      expect(preset.driver).toBe('anthropic')
      for (const { quirks } of preset.models ?? []) anthropicQuirks(preset.quirks, quirks)
    }
    const thinks = (model: string) => anthropicQuirks(...presetQuirks(findPreset('anthropic'), model)).thinks
    expect(['claude-opus-5-5', 'claude-fable-5-1', 'claude-mythos-preview'].map(thinks)).toEqual(Array(3).fill('always'))
    expect(['claude-opus-5', 'claude-sonnet-5', 'claude-haiku-5-5', 'claude-next-9'].map(thinks)).toEqual(Array(4).fill('by-default'))
    const older = [
      'claude-opus-4-8',
      'claude-sonnet-4-6',
      'claude-haiku-4-5-20251001',
      'claude-sonnet-4-20250514',
      'claude-3-7-sonnet-latest',
    ]
    expect(older.map(thinks)).toEqual(Array(5).fill('when-asked'))
  })

  it('keeps an address with a path, and completes one without a path if that is known', () => {
    const azure = findPreset('azure')
    expect(findBaseURL({ provider: 'azure', model: 'm', baseURL: 'https://x.openai.azure.com' }, azure)).toBe(
      'https://x.openai.azure.com/openai/v1',
    )
    expect(findBaseURL({ provider: 'azure', model: 'm', baseURL: 'https://x.openai.azure.com/openai/v1/' }, azure)).toBe(
      'https://x.openai.azure.com/openai/v1/',
    )
    expect(findBaseURL({ provider: 'custom', model: 'm', baseURL: 'http://h:1' }, findPreset('custom'))).toBe('http://h:1')
  })

  it('S3-18 prefers the key of the settings', () => {
    expect(findAPIKey({ provider: 'openai', model: 'm', apiKey: ' mine ' }, findPreset('openai'))).toBe('mine')
    expect(findAPIKey({ provider: 'custom', model: 'm' }, findPreset('custom'))).toBe('none')
  })
})
