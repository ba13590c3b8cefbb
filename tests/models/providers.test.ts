import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { createModel } from '../../src/models/create-model.ts'
import { findPreset, type Providers, presetQuirks } from '../../src/models/presets.ts'
import { startStrictProvider } from './rules/strict-provider.ts'

const price = { input: 2, output: 10 }
const ask = { messages: [{ role: 'user' as const, content: 'go' }] }

describe('custom providers', () => {
  it('S4-16 are data: a base URL, a key and quirks', async () => {
    await using server = await startStrictProvider({ script: ['hello'] })
    const providers: Providers = {
      inhouse: { driver: 'openai', baseURL: server.baseURL, apiKeyOptional: true, quirks: { maxTokensField: 'max_completion_tokens' } },
    }
    const { text } = await createModel('inhouse/m', { providers }).generate({ ...ask, maxOutputTokens: 7 })
    expect(text).toBe('hello')
    expect(server.requests[0]?.body).toMatchObject({ model: 'm', max_completion_tokens: 7 })
  })

  it('override facts of known ones: quirks key by key, further models after the existing ones', () => {
    const providers: Providers = {
      openai: {
        baseURL: 'http://gateway:1/v1',
        quirks: { strictTools: false },
        models: [{ match: '^o3', quirks: { parallelToolCalls: true } }],
      },
    }
    const preset = findPreset('openai', providers)
    expect(preset).toMatchObject({ driver: 'openai', apiKeyEnv: 'OPENAI_API_KEY', baseURL: 'http://gateway:1/v1' })
    expect(preset.quirks).toMatchObject({ strictTools: false, developerRole: true })
    expect(presetQuirks(preset, 'o3').at(-1)).toEqual({ parallelToolCalls: true })
    expect(findPreset('openai').baseURL).toBe('https://api.openai.com/v1')
  })

  it('set prices and context windows by model; a model’s settings take precedence', async () => {
    const providers: Providers = {
      custom: {
        models: [
          { match: '^big', price, contextWindow: 2_000_000 },
          { match: '^big-2$', price: { input: 4, output: 20 } },
        ],
      },
    }
    const at = { provider: 'custom', baseURL: 'http://127.0.0.1:1' }
    const capabilities = (model: string, more = {}) => createModel({ ...at, ...more, model }, { providers }).capabilities
    expect(capabilities('big-1')).toEqual({ nativeTools: true, price, contextWindow: 2_000_000 })
    expect(capabilities('big-2')).toEqual({ nativeTools: true, price: { input: 4, output: 20 }, contextWindow: 2_000_000 })
    expect(capabilities('big-2', { price, contextWindow: 9 })).toEqual({ nativeTools: true, price, contextWindow: 9 })
    expect(capabilities('small')).toEqual({ nativeTools: true })

    await using server = await startStrictProvider({ script: [{ text: 'hi', usage: { inputTokens: 1_000_000, outputTokens: 100_000 } }] })
    const model = createModel({ ...at, baseURL: server.baseURL, model: 'big-1' }, { providers })
    const { usage } = await new AgentRunner({ model, limits: { costUsd: 5 } }).run('go')
    expect(usage.costUsd).toBeCloseTo(3, 9)
  })

  it.each([
    [{ x: 5 }, 'providers.x'],
    [{ x: { baseURL: 'http://h:1' } }, 'a map with a `driver`'],
    [{ x: { driver: 'openai', quirks: 'none' } }, 'providers.x.quirks'],
    [{ x: { driver: 'openai', models: {} } }, 'providers.x.models'],
    [{ x: { driver: 'openai', models: [{ match: '(' }] } }, 'providers.x.models[0]'],
    [{ x: { driver: 'openai', models: [{ match: 'a', price: { input: 1 } }] } }, 'providers.x.models[0].price'],
    [{ x: { driver: 'openai', models: [{ match: 'a', contextWindow: 0 }] } }, 'providers.x.models[0].contextWindow'],
    [{ x: { driver: 'telepathy' } }, 'no driver `telepathy`'],
  ])('refuses %j and says where', (providers, where) => {
    const given: Providers = JSON.parse(JSON.stringify(providers))
    expect(() => createModel('x/m', { providers: given })).toThrow(where)
  })

  it('are listed if a provider is unknown, and are refused with an invalid price', () => {
    expect(() => createModel('y/m', { providers: { inhouse: { driver: 'openai' } } })).toThrow(/Known: openai, .*, inhouse\./)
    expect(() => createModel({ provider: 'custom', model: 'm', price: { input: -1, output: 1 } })).toThrow(
      'Expected `price` to be US dollars',
    )
    expect(() => createModel({ provider: 'custom', model: 'm', contextWindow: 0.5 })).toThrow('Expected `contextWindow`')
  })
})
