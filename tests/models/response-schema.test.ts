import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { JsonObject } from '../../src/core/messages.ts'
import type { ModelRequest } from '../../src/models/chat-model.ts'
import { fallbackModel } from '../../src/models/combined/fallback.ts'
import { switchableModel } from '../../src/models/combined/switchable.ts'
import { createModel } from '../../src/models/create-model.ts'
import type { ModelSettings } from '../../src/models/settings.ts'
import type { MockProvider } from '../../src/testing/index.ts'
import { hello } from './one-request.ts'
import { startStrictProvider } from './rules/strict-provider.ts'
import { closed } from './schemas.ts'

const schema = closed({ city: { type: 'string' }, degrees: { type: 'number' } })
const responseSchema = { name: 'weather', schema }
const open = { name: 'weather', schema: { type: 'object', properties: { city: { type: 'string', minLength: 1 } } } }
const tools = [{ type: 'function' as const, function: { name: 'look', parameters: { type: 'object', properties: {} } } }]

const addresses: Record<string, (server: MockProvider) => string> = { anthropic: ({ url }) => url, google: ({ url }) => url }

/** The request as sent, and the warnings of the response. The mock provider refuses what the API would refuse. */
async function sent(model: string, request: Partial<ModelRequest>, settings: Partial<ModelSettings> = {}) {
  await using server = await startStrictProvider({ script: ['{}'] })
  const provider = model.slice(0, model.indexOf('/'))
  const baseURL = (addresses[provider] ?? (({ baseURL }) => baseURL))(server)
  const all = { provider, model: model.slice(provider.length + 1), apiKey: 'sk-ant-test', baseURL, maxRetries: 0, ...settings }
  const { warnings = [] } = await createModel(all).generate({ messages: hello, ...request })
  const [only] = server.requests
  if (only === undefined || server.requests.length > 1) throw new Error(`expected one request, got ${server.requests.length}`)
  return { body: only.body, config: only.body.generationConfig as JsonObject, warnings }
}

const namesOf = (model: string) => {
  const [provider = '', ...name] = model.split('/')
  return { provider, model: name.join('/') }
}

const taken = (model: string, settings: Partial<ModelSettings> = {}) =>
  createModel({ ...namesOf(model), ...settings }).capabilities.structuredOutput

describe('the schema of a response', () => {
  it('of a Chat Completions model is a response format, strict if possible', async () => {
    const strict = await sent('openai/gpt-4o', { responseSchema: { ...responseSchema, schema: { $schema: 'x', ...schema } }, tools })
    expect(strict.body.response_format).toEqual({ type: 'json_schema', json_schema: { name: 'weather', schema, strict: true } })
    expect(strict.body.tools).toHaveLength(1)
    expect(strict.warnings).toEqual([])
    const loose = await sent('openai/gpt-4o', { responseSchema: { ...open, name: 'the weather' } })
    expect(loose.body.response_format).toEqual({
      type: 'json_schema',
      json_schema: { name: 'the_weather', schema: open.schema, strict: false },
    })
    expect((await sent('openai/gpt-4o', {})).body).not.toHaveProperty('response_format')
  })

  it.each(['openai/gpt-4o', 'openai-responses/gpt-5.2', 'anthropic/claude-opus-4-6', 'google/gemini-3-pro'])(
    'is JSON Schema: %s refuses another before anything is sent',
    async (name) => {
      const model = createModel({ ...namesOf(name), apiKey: 'sk-ant-test', baseURL: 'http://127.0.0.1:9', maxRetries: 0 })
      const zod: object = z.object({ city: z.string() })
      const request = { messages: hello, responseSchema: { name: 'weather', schema: zod as JsonObject } }
      await expect(model.generate(request)).rejects.toThrow(
        'Expected `responseSchema.schema` to be a JSON Schema; a run\'s `output` takes a Standard Schema as well, got `"a Standard Schema"`',
      )
    },
  )

  it('of a Responses model is the format of its text, beside other text options', async () => {
    const { body, warnings } = await sent('openai-responses/gpt-5.2', { responseSchema, tools })
    expect(body.text).toEqual({ format: { type: 'json_schema', name: 'weather', schema, strict: true } })
    expect(warnings).toEqual([])
    const verbose = await sent('openai-responses/gpt-5.2', { responseSchema: open, providerOptions: { text: { verbosity: 'low' } } })
    expect(verbose.body.text).toEqual({
      format: { type: 'json_schema', name: 'weather', schema: open.schema, strict: false },
      verbosity: 'low',
    })
    expect((await sent('openai-responses/gpt-5.2', {})).body).not.toHaveProperty('text')
  })

  it('of a Messages model is the format of its output, beside the effort', async () => {
    const { body, warnings } = await sent('anthropic/claude-opus-4-8', { responseSchema: open, reasoningEffort: 'low', tools })
    expect(body.output_config).toEqual({
      effort: 'low',
      format: {
        type: 'json_schema',
        schema: { type: 'object', properties: { city: { type: 'string', description: '(minLength: 1)' } }, additionalProperties: false },
      },
    })
    expect(warnings).toEqual([])
    const given = await sent('anthropic/claude-opus-4-8', {
      responseSchema,
      reasoningEffort: 'low',
      providerOptions: { output_config: { effort: 'max' } },
    })
    expect(given.body.output_config).toEqual({ effort: 'max', format: { type: 'json_schema', schema } })
    expect((await sent('anthropic/claude-opus-4-8', {})).body).not.toHaveProperty('output_config')
  })

  it('of a Messages model is left out with the reason if its subset can’t express it', async () => {
    const map = { name: 'map', schema: { type: 'object', additionalProperties: { type: 'string' } } }
    const { body, warnings } = await sent('anthropic/claude-opus-4-8', { responseSchema: map })
    expect(body).not.toHaveProperty('output_config')
    expect(warnings).toEqual([
      '`responseSchema` was left out: anthropic/claude-opus-4-8 does not support one that has an object that allows any properties',
    ])
  })

  it('of a Gemini model is in the generation config, in its OpenAPI subset if necessary', async () => {
    const { config, warnings } = await sent('google/gemini-3-pro-preview', { responseSchema: open, tools, temperature: 1 })
    expect(config).toMatchObject({ responseMimeType: 'application/json', responseJsonSchema: open.schema, temperature: 1 })
    expect(warnings).toEqual([])
    const older = (await sent('google/gemini-1.5-flash', { responseSchema: open })).config
    expect(older).toEqual({
      responseMimeType: 'application/json',
      responseSchema: { type: 'OBJECT', properties: { city: { type: 'STRING', minLength: 1 } } },
    })
    const empty = (await sent('google/gemini-1.5-flash', { responseSchema: { name: 'any', schema: { type: 'object' } } })).config
    expect(empty).toEqual({ responseMimeType: 'application/json' })
  })

  it('is left out with a warning if the model does not accept it', async () => {
    for (const model of [
      'openai/gpt-4-turbo',
      'deepseek/deepseek-chat',
      'openai-responses/gpt-4',
      'anthropic/claude-opus-4-1',
      'google/gemma-3',
    ]) {
      const { body, warnings } = await sent(model, { responseSchema })
      expect(JSON.stringify(body), model).not.toMatch(/json_schema|"city"|application\/json/)
      expect(warnings, model).toEqual([`\`responseSchema\` was left out: ${model} does not support it`])
    }
  })

  it('is left out with a warning beside tools if the model only accepts it alone', async () => {
    for (const model of ['vllm/qwen3', 'google/gemini-2.5-pro', 'xai/grok-3']) {
      const alone = await sent(model, { responseSchema, tools: [] })
      expect(JSON.stringify(alone.body), model).toContain('"city"')
      expect(alone.warnings).toEqual([])
      const { body, warnings } = await sent(model, { responseSchema, tools })
      expect(JSON.stringify(body), model).not.toMatch(/json_schema|"city"|application\/json/)
      expect(warnings, model).toEqual([`\`responseSchema\` was left out: ${model} does not support it beside tools`])
    }
    // Tools that the provider runs itself count too.
    const search = await sent('google/gemini-2.5-pro', { responseSchema, providerOptions: { tools: [{ googleSearch: {} }] } })
    expect(search.config).not.toHaveProperty('responseMimeType')
    expect(search.warnings).toHaveLength(1)
  })

  it('is overridden by the same field in `providerOptions`', async () => {
    const theirs = { type: 'json_schema', json_schema: { name: 'own', schema: {} } }
    const chat = await sent('openai/gpt-4o', { responseSchema, providerOptions: { response_format: theirs } })
    expect(chat.body.response_format).toEqual(theirs)
    const text = { format: { type: 'json_object' } }
    expect((await sent('openai-responses/gpt-5.2', { responseSchema, providerOptions: { text } })).body.text).toEqual(text)
    const output = { format: { type: 'json_schema', schema: closed({}) } }
    const messages = await sent('anthropic/claude-opus-4-8', { responseSchema, providerOptions: { output_config: output } })
    expect(messages.body.output_config).toEqual(output)
    const own = { responseMimeType: 'application/json', responseSchema: { type: 'OBJECT' } }
    const gemini = await sent('google/gemini-3-pro-preview', { responseSchema, providerOptions: { generationConfig: own } })
    expect(gemini.config).toMatchObject(own)
    expect(gemini.config).not.toHaveProperty('responseJsonSchema')
    const plain = { responseMimeType: 'text/plain' }
    const words = await sent('google/gemini-3-pro-preview', { responseSchema, providerOptions: { generationConfig: plain } })
    expect(words.config).toMatchObject(plain)
    expect(words.config).not.toHaveProperty('responseJsonSchema')
    for (const { warnings } of [chat, messages, gemini, words]) expect(warnings).toEqual([])
  })

  it('is decided by the quirk, which says what it may be', async () => {
    const on = { quirks: { structuredOutput: 'with-tools' } }
    const { body } = await sent('openrouter/some/model', { responseSchema, tools }, on)
    expect(body).toHaveProperty('response_format')
    for (const provider of ['custom', 'responses-compatible', 'anthropic-compatible', 'vertex']) {
      expect(taken(`${provider}/m`, { baseURL: 'http://127.0.0.1:1', quirks: { structuredOutput: 'alone' } }), provider).toBe('alone')
      expect(taken(`${provider}/m`, { baseURL: 'http://127.0.0.1:1', quirks: { structuredOutput: null } }), provider).toBeUndefined()
      expect(() => taken(`${provider}/m`, { baseURL: 'http://127.0.0.1:1', quirks: { structuredOutput: 'always' } })).toThrow(
        "Expected `quirks.structuredOutput` to be 'alone', 'with-tools' or null",
      )
    }
  })
})

describe('which models accept a schema', () => {
  it.each<['alone' | 'with-tools' | undefined, ...string[]]>([
    [
      'with-tools',
      'openai/gpt-4o',
      'openai/gpt-4o-2024-08-06',
      'openai/gpt-4o-mini',
      'openai/gpt-4.1-nano',
      'openai/gpt-5.2',
      'openai/o3-mini',
    ],
    [undefined, 'openai/gpt-4o-2024-05-13', 'openai/gpt-4', 'openai/gpt-4-turbo', 'openai/gpt-3.5-turbo', 'openai/chatgpt-4o-latest'],
    [undefined, 'openai/o1-mini', 'openai/gpt-4o-audio-preview', 'openai/ft:gpt-4o-2024-08-06:a::b', 'openai/m'],
    ['with-tools', 'azure/gpt-4o', 'azure/gpt-5-mini'],
    [undefined, 'azure/gpt-35-turbo', 'azure/gpt-4', 'azure/my-deployment'],
    [
      'with-tools',
      'openai-responses/gpt-4o',
      'openai-responses/gpt-4.1',
      'openai-responses/gpt-5.2',
      'openai-responses/o3',
      'openai-responses/m',
    ],
    [undefined, 'openai-responses/gpt-4', 'openai-responses/gpt-4-turbo', 'openai-responses/gpt-3.5-turbo', 'openai-responses/o1-preview'],
    [
      'with-tools',
      'anthropic/claude-sonnet-4-5',
      'anthropic/claude-haiku-4-5-20251001',
      'anthropic/claude-opus-4-5',
      'anthropic/claude-opus-5',
    ],
    [
      undefined,
      'anthropic/claude-3-7-sonnet-latest',
      'anthropic/claude-sonnet-4-20250514',
      'anthropic/claude-opus-4-1',
      'anthropic/claude-opus-4-0',
    ],
    [
      'with-tools',
      'google/gemini-3-pro-preview',
      'google/gemini-3-flash-preview',
      'vertex/gemini-3.1-pro-preview',
      'google/gemini-flash-latest',
    ],
    ['alone', 'google/gemini-2.5-pro', 'google/gemini-2.0-flash', 'vertex/gemini-2.5-flash', 'google/gemini-1.5-pro'],
    [undefined, 'google/gemma-3-27b-it', 'google/gemini-2.5-flash-image', 'google/gemini-2.5-flash-preview-tts'],
    ['alone', 'mistral/mistral-large-latest', 'ollama/qwen3', 'vllm/m', 'lmstudio/m', 'xai/grok-3', 'xai/grok-code-fast-1'],
    ['with-tools', 'xai/grok-4', 'xai/grok-4-1-fast', 'xai/grok-4.20'],
    [
      undefined,
      'deepseek/deepseek-chat',
      'groq/openai/gpt-oss-120b',
      'openrouter/openai/gpt-4o',
      'moonshot/kimi-k2.5',
      'dashscope/qwen-plus',
    ],
    [undefined, 'doubao/m', 'ollama/gpt-oss:120b-cloud', 'demo/demo'],
  ])('%s: %s …', (expected, ...models) => {
    const at = { baseURL: 'http://127.0.0.1:1' }
    expect(models.map((model) => [model, taken(model, at)])).toEqual(models.map((model) => [model, expected]))
  })

  it('a model without native calls only accepts it alone, because its calls are text', () => {
    expect(taken('openai/gpt-4o', { dialect: 'hermes' })).toBe('alone')
    expect(taken('google/gemini-3-pro-preview', { functionCalling: false })).toBe('alone')
    expect(taken('openai/gpt-4', { dialect: 'hermes' })).toBeUndefined()
  })

  it('fallback models support what all of them support; a switchable model supports what its current one does', () => {
    const both = (...models: string[]) => fallbackModel(models).capabilities.structuredOutput
    expect(both('openai/gpt-4o', 'xai/grok-4')).toBe('with-tools')
    expect(both('openai/gpt-4o', 'xai/grok-3')).toBe('alone')
    expect(both('xai/grok-3', 'openai/gpt-4o')).toBe('alone')
    expect(both('xai/grok-3', 'openai/gpt-4', 'openai/gpt-4o')).toBeUndefined()
    const model = switchableModel('openai/gpt-4o')
    expect(model.capabilities.structuredOutput).toBe('with-tools')
    model.switchTo('openai/gpt-4')
    expect(model.capabilities.structuredOutput).toBeUndefined()
  })
})
