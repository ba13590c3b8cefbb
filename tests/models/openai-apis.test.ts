import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { Json, JsonObject } from '../../src/core/messages.ts'
import type { Sampling } from '../../src/models/chat-model.ts'
import { createModel } from '../../src/models/create-model.ts'
import type { ModelSettings } from '../../src/models/settings.ts'
import { type MockProvider, scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { refuseForModel } from './rules/openai-models.ts'
import { refuseIllegal, startStrictProvider } from './rules/strict-provider.ts'

const add = defineTool({
  name: 'add',
  description: 'Adds.',
  parameters: { type: 'object', properties: { a: { type: 'number' } } },
  execute: ({ a }: JsonObject) => Number(a) + 1,
})

const usage = { inputTokens: 10, outputTokens: 5 }
const ok = { text: 'ok', usage }

const hello = { messages: [{ role: 'user' as const, content: 'Hello' }] }
const definition = { type: 'function' as const, function: { name: 'add', parameters: add.parameters } }

/** OpenAI as far as it is known: one server that refuses what its models refuse. */
function startOpenAI(): Promise<MockProvider> {
  return startStrictProvider({
    refuse: (request) => refuseIllegal(request) ?? refuseForModel(request),
    script: ({ body }) =>
      JSON.stringify(body).includes('"call_')
        ? { text: 'It is 2.', usage }
        : { toolCalls: [{ id: 'call_1', name: 'add', arguments: { a: 1 } }], usage },
  })
}

/** Reaches the mock at any address, and records the address. */
function fetchAt({ url }: MockProvider, asked: string[] = []): typeof fetch {
  return (input, init) => {
    asked.push(String(input))
    return fetch(new URL(new URL(String(input)).pathname.replace('/openai/v1', '/v1'), url), init)
  }
}

const models = [
  ['gpt-4.1', 'chat-completions'],
  ['gpt-5', 'chat-completions'],
  ['gpt-5-mini', 'chat-completions'],
  ['gpt-5-chat-latest', 'chat-completions'],
  ['gpt-5.1', 'chat-completions'],
  ['gpt-5.2', 'chat-completions'],
  ['o3', 'chat-completions'],
  ['o4-mini', 'chat-completions'],
  ['gpt-5.4', 'responses'],
  ['gpt-5.4-mini', 'responses'],
  ['gpt-5.5', 'responses'],
  ['gpt-5.6', 'responses'],
  ['gpt-5.6-terra', 'responses'],
  ['gpt-5.10', 'responses'],
  ['gpt-6-astra', 'responses'],
  ['gpt-6.1-sol', 'responses'],
  ['gpt-7', 'responses'],
  ['gpt-5-codex', 'responses'],
  ['gpt-5.1-codex', 'responses'],
  ['gpt-5.3-codex', 'responses'],
  ['codex-mini-latest', 'responses'],
  ['gpt-5-pro', 'responses'],
  ['gpt-5.4-pro', 'responses'],
  ['o3-pro', 'responses'],
  ['o4-mini-deep-research', 'responses'],
] as const

const efforts = [undefined, 'none', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const
const sampling: Sampling = { temperature: 0.2, topP: 0.9, stop: ['User:'], frequencyPenalty: 1, presencePenalty: 1 }

describe('F1 the provider openai at its own address', () => {
  it.each(models)('F1 asks %s over the %s API, whatever the request', async (model, api) => {
    await using server = await startOpenAI()
    const asked: string[] = []
    const openai = createModel({ provider: 'openai', model, apiKey: 'k', maxRetries: 0, fetch: fetchAt(server, asked) })
    expect(openai.api).toBe(api)
    for (const reasoningEffort of efforts) {
      // What a model refuses beside an effort are tools or sampling, never one because of the other.
      for (const more of [{}, { tools: [definition], ...sampling }]) {
        const asking = { ...hello, ...more, ...(reasoningEffort === undefined ? {} : { reasoningEffort }) }
        await expect(openai.generate(asking), JSON.stringify(asking)).resolves.toHaveProperty('finishReason')
      }
    }
    const { error, steps } = await new AgentRunner({ model: openai, tools: [add] }).run('1 + 1?')
    expect(error).toBeUndefined()
    expect(steps).toMatchObject(Array(2).fill({ provider: 'openai', api }))
    const path = api === 'responses' ? 'responses' : 'chat/completions'
    expect(new Set(asked)).toEqual(new Set([`https://api.openai.com/v1/${path}`]))
  })

  it('F1 reports what it leaves out and what it maps', async () => {
    await using server = await startOpenAI()
    const warned = async (settings: Partial<ModelSettings> & { model: string }, request: Sampling, tools = [definition]) => {
      const model = createModel({ provider: 'openai', apiKey: 'k', fetch: fetchAt(server), ...settings })
      const { warnings = [] } = await model.generate({ ...hello, tools, ...request })
      const { body } = server.requests.at(-1) ?? {}
      return { effort: body?.reasoning_effort ?? (body?.reasoning as JsonObject | undefined)?.effort, warnings }
    }
    const sentAs = (asked: string, sent: string, model: string) =>
      `\`reasoningEffort: '${asked}'\` was sent as '${sent}', the nearest that ${model} takes`
    expect(await warned({ model: 'gpt-5.6' }, { reasoningEffort: 'minimal' })).toEqual({
      effort: 'low',
      warnings: [sentAs('minimal', 'low', 'openai/gpt-5.6')],
    })
    expect(await warned({ model: 'gpt-6-astra' }, { reasoningEffort: 'none', temperature: 0.2 })).toEqual({
      effort: 'low',
      warnings: [sentAs('none', 'low', 'openai/gpt-6-astra'), '`temperature` was left out: openai/gpt-6-astra does not support it'],
    })
    expect(await warned({ model: 'gpt-5.2' }, { reasoningEffort: 'high', temperature: 0.2 })).toEqual({
      effort: 'high',
      warnings: ['`temperature` was left out: it can’t be combined with reasoning'],
    })
    expect(await warned({ model: 'gpt-5.2' }, { reasoningEffort: 'none', temperature: 0.2 })).toEqual({ effort: 'none', warnings: [] })
    const without = (model: string) => [
      `${model} was asked without reasoning: over Chat Completions it does not accept both reasoning and tools. \`api: 'responses'\` accepts both`,
    ]
    const chat = { provider: 'openai-chat' }
    expect(await warned({ ...chat, model: 'gpt-5.4' }, {})).toEqual({ effort: undefined, warnings: [] })
    expect(await warned({ ...chat, model: 'gpt-5.4' }, { reasoningEffort: 'high' })).toEqual({
      effort: undefined,
      warnings: without('openai-chat/gpt-5.4'),
    })
    expect(await warned({ ...chat, model: 'gpt-5.6' }, {})).toEqual({ effort: 'none', warnings: without('openai-chat/gpt-5.6') })
    expect(await warned({ ...chat, model: 'gpt-5.6' }, { reasoningEffort: 'low' }, [])).toEqual({ effort: 'low', warnings: [] })
    const gateway = { provider: 'custom', baseURL: 'https://gateway.example/v1', model: 'openai/gpt-6' }
    expect(await warned(gateway, { reasoningEffort: 'minimal', temperature: 0.2 })).toEqual({
      effort: 'low',
      warnings: [sentAs('minimal', 'low', 'custom/openai/gpt-6'), '`temperature` was left out: custom/openai/gpt-6 does not support it'],
    })
    expect(await warned({ ...chat, model: 'ft:gpt-5.4-mini:acme::1' }, { reasoningEffort: 'low' })).toHaveProperty('effort', undefined)
    expect(await warned({ ...chat, model: 'ft:gpt-4.1:acme::1' }, { reasoningEffort: 'low' })).toHaveProperty('effort', undefined)
  })

  it.each(models.filter(([model]) => !/codex|pro|deep-research|gpt-[67]/.test(model)))(
    'F1 openai-chat asks %s over Chat Completions, with tools',
    async (model) => {
      await using server = await startOpenAI()
      const chat = createModel({ provider: 'openai-chat', model, apiKey: 'k', maxRetries: 0, fetch: fetchAt(server) })
      for (const reasoningEffort of efforts) {
        const asking = { ...hello, tools: [definition], ...sampling, ...(reasoningEffort === undefined ? {} : { reasoningEffort }) }
        await expect(chat.generate(asking), JSON.stringify(asking)).resolves.toMatchObject({ finishReason: 'tool_calls' })
      }
      expect(new Set(server.requests.map(({ path }) => path))).toEqual(new Set(['/v1/chat/completions']))
    },
  )

  it('F1 uses the address in the environment at the time of the request', async () => {
    await using server = await startStrictProvider({ script: () => ok })
    onTestFinished(() => void vi.unstubAllEnvs())
    const asked: string[] = []
    const model = createModel({ provider: 'openai', model: 'gpt-5.6', apiKey: 'k', fetch: fetchAt(server, asked) })
    const ask = async (baseURL: string) => {
      vi.stubEnv('OPENAI_BASE_URL', baseURL)
      await model.generate(hello)
      return [model.api, asked.at(-1)]
    }
    expect(await ask('')).toEqual(['responses', 'https://api.openai.com/v1/responses'])
    expect(await ask('https://gateway.example.com/v1')).toEqual(['chat-completions', 'https://gateway.example.com/v1/chat/completions'])
    expect(await ask('https://eu.api.openai.com/v1')).toEqual(['responses', 'https://eu.api.openai.com/v1/responses'])
    expect(await ask('https://notapi.openai.com/v1')).toEqual(['chat-completions', 'https://notapi.openai.com/v1/chat/completions'])
  })

  it('F1 follows the setting `api` at any address, including Azure’s', async () => {
    await using server = await startOpenAI()
    const asked: string[] = []
    const fetch = fetchAt(server, asked)
    const cases: [Partial<ModelSettings>, api: string, url: string][] = [
      [
        { provider: 'openai', baseURL: 'https://gateway.example.com/v1' },
        'chat-completions',
        'https://gateway.example.com/v1/chat/completions',
      ],
      [
        { provider: 'openai', baseURL: 'https://gateway.example.com/v1', api: 'responses' },
        'responses',
        'https://gateway.example.com/v1/responses',
      ],
      [{ provider: 'openai', api: 'chat-completions' }, 'chat-completions', 'https://api.openai.com/v1/chat/completions'],
      [
        { provider: 'azure', baseURL: 'https://x.openai.azure.com' },
        'chat-completions',
        'https://x.openai.azure.com/openai/v1/chat/completions',
      ],
      [
        { provider: 'azure', baseURL: 'https://x.openai.azure.com', api: 'responses' },
        'responses',
        'https://x.openai.azure.com/openai/v1/responses',
      ],
    ]
    for (const [settings, api, url] of cases) {
      const model = { provider: 'openai', model: 'gpt-5.6', apiKey: 'k', fetch, ...settings }
      const { error, steps } = await new AgentRunner({ model, tools: [add] }).run('1 + 1?')
      expect(error).toBeUndefined()
      expect(steps).toMatchObject([{ api }, { api }])
      expect(asked.at(-1)).toBe(url)
    }
    expect(server.requests.at(-1)?.headers).toMatchObject({ 'api-key': 'k' })
  })

  it('F1 refuses the name of an API that the provider does not have', () => {
    const at = { model: 'm', apiKey: 'k' }
    expect(() => createModel({ ...at, provider: 'openai', api: 'messages' })).toThrow(
      /Expected `api` to be 'chat-completions' or 'responses' for the provider `openai`, got `"messages"`/,
    )
    expect(() => createModel({ ...at, provider: 'anthropic', api: 'responses' })).toThrow("Expected `api` to be 'messages'")
    expect(() => createModel({ ...at, provider: 'openai', api: 1 as never })).toThrow('Expected `api`')
  })

  it('F1 reads other APIs and their models from `providers`', async () => {
    await using server = await startStrictProvider({ script: () => ok })
    const apis = { messages: { as: 'anthropic-compatible', host: '127.0.0.1', models: '^claude' } }
    const providers = { gateway: { driver: 'openai', baseURL: server.url, apiKeyOptional: true, apis } }
    const apiOf = (model: string) => createModel(`gateway/${model}`, { providers }).api
    expect([apiOf('claude-x'), apiOf('other')]).toEqual(['messages', 'chat-completions'])
    await createModel('gateway/claude-x', { providers }).generate(hello)
    expect(server.requests[0]?.path).toBe('/v1/messages')
    for (const broken of [{ a: {} }, { a: { as: 'openai', models: '(' } }, { a: { as: 'openai', host: 1 } }, 'responses'])
      expect(() => createModel('gateway/m', { providers: { gateway: { ...providers.gateway, apis: broken as never } } })).toThrow(
        'providers.gateway.apis',
      )
  })
})

describe('F1 the API of a step', () => {
  it('F1 is that of the model that answered, and absent for custom models', async () => {
    await using server = await startStrictProvider({ script: () => ok })
    await using down = await startStrictProvider({ script: [], faults: { status: 503 } })
    const at = ({ url, baseURL }: MockProvider, provider: string) => ({
      provider,
      model: 'gpt-4o',
      apiKey: 'sk-ant-k',
      baseURL: provider.startsWith('openai') ? baseURL : url,
      maxRetries: 0,
    })
    const apis = { openai: 'chat-completions', 'openai-responses': 'responses', anthropic: 'messages', google: 'generate-content' }
    for (const [provider, api] of Object.entries(apis)) {
      const { steps } = await new AgentRunner({ model: at(server, provider) }).run('Hello')
      expect(steps).toMatchObject([{ api }])
    }
    const models = [at(down, 'openai'), at(server, 'anthropic')]
    expect((await new AgentRunner({ models }).run('Hello')).steps).toMatchObject([{ provider: 'anthropic', api: 'messages' }])
    const models2 = [at(down, 'openai'), scriptedModel(['ok'])]
    expect((await new AgentRunner({ models: models2 }).run('Hello')).steps[0]).not.toHaveProperty('api')
    expect((await new AgentRunner({ model: scriptedModel(['ok']) }).run('Hello')).steps[0]).not.toHaveProperty('api')
  })

  it('F1 may change within a conversation', async () => {
    await using server = await startStrictProvider({
      script: ({ body }) =>
        JSON.stringify(body).includes('call_')
          ? 'Done.'
          : { reasoning: 'Hm.', text: 'I add. ', toolCalls: [{ id: 'call_1', name: 'add', arguments: { a: 1 } }] },
    })
    let messages: Awaited<ReturnType<AgentRunner['run']>>['messages'] = []
    const seen: (string | undefined)[] = []
    for (const name of [
      'openai/gpt-4.1',
      'openai/gpt-5.6',
      'openai-chat/gpt-5.4',
      'openai/gpt-6-astra',
      'openai-responses/gpt-5.2',
      'openai/gpt-4.1',
    ]) {
      const [provider = '', model = ''] = name.split('/')
      const settings = { provider, model, apiKey: 'k', maxRetries: 0, fetch: fetchAt(server) }
      const result = await new AgentRunner({ model: settings, tools: [add] }).run('1 + 1?', { messages })
      expect(result.error, name).toBeUndefined()
      messages = result.messages
      seen.push(result.steps.at(-1)?.api)
    }
    expect(seen).toEqual(['chat-completions', 'responses', 'chat-completions', 'responses', 'responses', 'chat-completions'])
  })
})

describe('F1 efforts', () => {
  it.each([
    ['xai', 'grok-4.3', 'minimal', { reasoning_effort: 'low' }],
    ['xai', 'grok-4.5', 'none', { reasoning_effort: 'low' }],
    ['xai', 'grok-3-mini', 'medium', { reasoning_effort: 'high' }],
    ['groq', 'openai/gpt-oss-120b', 'none', { reasoning_effort: 'low' }],
    ['groq', 'qwen/qwen3-32b', 'high', { reasoning_effort: 'default' }],
    ['mistral', 'mistral-small-latest', 'low', { reasoning_effort: 'high' }],
    ['deepseek', 'deepseek-v4-pro', 'medium', { reasoning_effort: 'high' }],
    ['ollama', 'qwen3:8b', 'minimal', { reasoning_effort: 'low' }],
    ['vllm', 'gpt-oss-20b', 'xhigh', { reasoning_effort: 'high' }],
    ['lmstudio', 'gpt-oss-20b', 'minimal', { reasoning_effort: 'low' }],
    ['moonshot', 'kimi-k3', 'none', { reasoning_effort: 'low' }],
    ['doubao', 'doubao-seed', 'xhigh', { reasoning_effort: 'high' }],
    ['anthropic', 'claude-opus-5', 'minimal', { output_config: { effort: 'low' } }],
    ['anthropic', 'claude-fable-5', 'none', { output_config: { effort: 'low' } }],
    ['anthropic-compatible', 'm', 'xhigh', { thinking: { type: 'enabled', budget_tokens: 6144 } }],
    ['google', 'gemini-3.8-flash', 'xhigh', { generationConfig: { thinkingConfig: { thinkingLevel: 'HIGH' } } }],
    ['google', 'gemini-2.5-pro', 'none', { generationConfig: { thinkingConfig: { thinkingBudget: 512 } } }],
  ] as const)('F1 %s/%s gets the effort nearest to %s, with a warning', async (provider, model, reasoningEffort, sent) => {
    await using server = await startStrictProvider({ script: () => ok })
    const isAtRoot = /anthropic|google/.test(provider)
    const settings = { provider, model, apiKey: 'sk-ant-k', baseURL: isAtRoot ? server.url : server.baseURL }
    const { warnings } = await createModel(settings).generate({ ...hello, reasoningEffort })
    expect(server.requests[0]?.body).toMatchObject(sent)
    expect(warnings).toEqual([expect.stringMatching(new RegExp(`^\`reasoningEffort: '${reasoningEffort}'\` was sent as '`))])
  })

  it.each([
    ['xai', 'grok-4'],
    ['groq', 'llama-3.3-70b-versatile'],
    ['mistral', 'codestral-latest'],
    ['openai', 'gpt-4.1'],
  ])('F1 %s/%s, which supports no effort, gets none, with a warning', async (provider, model) => {
    await using server = await startStrictProvider({ script: () => ok })
    const settings = { provider, model, apiKey: 'k', baseURL: server.baseURL }
    const { warnings } = await createModel(settings).generate({ ...hello, reasoningEffort: 'high' })
    expect(server.requests[0]?.body).not.toHaveProperty('reasoning_effort')
    expect(warnings).toEqual([`\`reasoningEffort: 'high'\` was left out: ${provider}/${model} does not support it`])
  })

  it.each([
    ['openai', 'gpt-5.2', 'xhigh'],
    ['custom', 'm', 'max'],
  ])('F1 `max`, which only JavaScript can ask for, is the highest: %s/%s gets %s', async (provider, model, sent) => {
    await using server = await startStrictProvider({ script: () => ok })
    const settings = { provider, model, apiKey: 'k', baseURL: server.baseURL }
    await createModel(settings).generate({ ...hello, reasoningEffort: 'max' as never })
    expect(server.requests[0]?.body.reasoning_effort).toBe(sent)
  })

  it('F1 are refused in quirks if invalid', () => {
    const wrong: Json[] = [['max'], { max: {} }, { low: 1 }, 'low']
    for (const reasoningEffort of wrong)
      expect(() => createModel({ provider: 'openai', model: 'm', quirks: { reasoningEffort } })).toThrow(
        'Expected `quirks.reasoningEffort`',
      )
    expect(() => createModel({ provider: 'openai', model: 'm', quirks: { effortWithTools: 'low' } })).toThrow('quirks.effortWithTools')
    expect(() => createModel({ provider: 'openai', model: 'm', quirks: { reasons: 'sometimes' } })).toThrow('quirks.reasons')
  })
})
