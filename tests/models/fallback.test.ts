import { execFileSync } from 'node:child_process'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { ModelError } from '../../src/core/errors.ts'
import type { ChatModel } from '../../src/models/chat-model.ts'
import { fallbackModel } from '../../src/models/combined/fallback.ts'
import { createModel } from '../../src/models/create-model.ts'
import type { MockProvider } from '../../src/testing/index.ts'
import type { MockFault } from '../../src/testing/mock/fault.ts'
import { startStrictProvider } from './rules/strict-provider.ts'

afterEach(() => {
  vi.useRealTimers()
})

const ask = { messages: [{ role: 'user' as const, content: 'go' }] }
const open = ({ baseURL }: MockProvider, model = 'a', more = {}): ChatModel =>
  createModel({ provider: 'custom', model, baseURL, apiKey: 'k', maxRetries: 0, ...more })
const price = { input: 1, output: 10 }

describe('several models as one', () => {
  it('look up a missing package once', () => {
    const script = `
      import { registerHooks } from 'node:module'
      let asked = 0
      registerHooks({ resolve: (name, context, next) => {
        if (name !== '@google/genai') return next(name, context)
        asked++
        throw Object.assign(new Error('x'), { code: 'ERR_MODULE_NOT_FOUND' })
      } })
      const { createModel } = await import(${JSON.stringify(new URL('../../src/models/create-model.ts', import.meta.url).href)})
      const model = () => createModel({ provider: 'google', model: 'gemini-2.5-flash', apiKey: 'k' })
      const codes = []
      for (const one of [model(), model()]) for (let run = 0; run < 2; run++) await one.prepare().catch(({ code }) => codes.push(code))
      console.log(JSON.stringify({ asked, codes }))`
    const told: unknown = JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }))
    expect(told).toEqual({ asked: 1, codes: Array(4).fill('missing_dependency') })
  })

  it('prepare models only up to the first one that can be asked', async () => {
    const made: string[] = []
    const candidate = (name: string, failure?: Error): ChatModel => ({
      provider: 'custom',
      model: name,
      capabilities: { nativeTools: true },
      prepare: async () => {
        made.push(name)
        if (failure !== undefined) throw failure
      },
      generate: () => expect.unreachable(),
    })
    const fails = new Error('no key')
    await fallbackModel([candidate('a', fails), candidate('b'), candidate('c')]).prepare?.()
    expect(made.splice(0)).toEqual(['a', 'b'])
    await expect(fallbackModel([candidate('a', fails), candidate('b', new Error('nor here'))]).prepare?.()).rejects.toBe(fails)
  })

  it('ask a failed model last for a while, then first again', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    await using one = await startStrictProvider({ script: () => 'one', faults: ({ index }) => (index === 0 ? { status: 503 } : undefined) })
    await using two = await startStrictProvider({ script: () => 'two' })
    const model = fallbackModel([open(one), open(two, 'b')], { cooldownMs: 1000 })
    const answers = []
    for (const pause of [0, 0, 999, 1]) {
      vi.advanceTimersByTime(pause)
      answers.push((await model.generate(ask)).text)
    }
    expect(answers).toEqual(['two', 'two', 'two', 'one'])
    expect(one.requests).toHaveLength(2)
  })

  it('respect a longer retry-after', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    const limited: MockFault = { status: 429, headers: { 'retry-after': '5' } }
    await using one = await startStrictProvider({ script: () => 'one', faults: ({ index }) => (index === 0 ? limited : undefined) })
    await using two = await startStrictProvider({ script: () => 'two' })
    const model = fallbackModel([open(one), open(two, 'b')], { cooldownMs: 1000 })
    const answers = []
    for (const pause of [0, 4999, 1]) {
      vi.advanceTimersByTime(pause)
      answers.push((await model.generate(ask)).text)
    }
    expect(answers).toEqual(['two', 'two', 'one'])
  })

  it('still ask a failed model if no other is left', async () => {
    const fault = ({ index }: { index: number }): MockFault | undefined => (index === 0 ? { status: 503 } : undefined)
    await using one = await startStrictProvider({ script: () => 'one', faults: fault })
    await using two = await startStrictProvider({ script: () => 'two', faults: fault })
    const model = fallbackModel([open(one), open(two, 'b')])
    await expect(model.generate(ask)).rejects.toMatchObject({ code: 'provider_error', status: 503 })
    expect((await model.generate(ask)).text).toBe('one')
  })

  it('keep the order after a request that one model refuses', async () => {
    await using one = await startStrictProvider({
      script: () => 'one',
      faults: ({ index }) => (index === 0 ? { contextOverflow: true } : undefined),
    })
    await using two = await startStrictProvider({ script: () => 'two' })
    const model = fallbackModel([open(one), open(two, 'b')])
    expect((await model.generate(ask)).text).toBe('two')
    expect((await model.generate(ask)).text).toBe('one')
  })

  it('say which model answered, use its price, and count the usage of those that failed', async () => {
    const usage = { inputTokens: 1_000_000, outputTokens: 100_000 }
    await using one = await startStrictProvider({ script: [{ text: 'cut', usage, finishReason: 'error' }] })
    await using two = await startStrictProvider({ script: [{ text: 'two', usage }] })
    const runner = new AgentRunner({
      models: [open(one, 'a', { price }), open(two, 'b', { price: { input: 2, output: 20 } })],
      limits: { costUsd: 100 },
    })
    const result = await runner.run('go')
    expect(result).toMatchObject({ output: 'two', stopReason: 'answered' })
    expect(result.steps).toMatchObject([{ provider: 'custom', model: 'b' }])
    expect(result.usage).toMatchObject({ inputTokens: 2_000_000, outputTokens: 200_000 })
    expect(result.usage.costUsd).toBeCloseTo(2 + 4, 6)
  })

  it('count the usage of failed models even if all fail, or if the one that answers reports none', async () => {
    const usage = { inputTokens: 1_000_000, outputTokens: 100_000 }
    const cut = { text: 'cut', usage, finishReason: 'error' as const }
    await using one = await startStrictProvider({ script: () => cut })
    await using two = await startStrictProvider({ script: [cut, { text: 'two' }] })
    const silent: ChatModel = {
      provider: 'p',
      model: 'm',
      capabilities: { nativeTools: true },
      generate: (_, sink) => {
        sink?.reasoning?.('shown')
        throw new ModelError('stream_cut', 'broken', { provider: 'p', retryable: true })
      },
    }
    const first = open(one, 'a', { price })
    await expect(fallbackModel([first, silent]).generate(ask, { reasoning() {} })).rejects.toMatchObject({
      code: 'stream_cut',
      partial: { usage: { totalTokens: 1_100_000, costUsd: 2 } },
    })
    const shown = fallbackModel([first, silent]).generate(ask, { text() {} })
    await expect(shown).rejects.toMatchObject({ partial: { text: 'cut', usage: { costUsd: 2 } } })
    const second = open(two, 'b', { price })
    await expect(fallbackModel([first, second]).generate(ask)).rejects.toMatchObject({ partial: { usage: { costUsd: 4 } } })

    const unreported: ChatModel = { ...silent, generate: async () => ({ text: 'ok', toolCalls: [], finishReason: 'stop' }) }
    const answered = await fallbackModel([first, unreported]).generate(ask)
    expect(answered.usage?.totalTokens).toBeGreaterThan(1_100_000)
    expect(answered.warnings).toContainEqual(expect.stringContaining('estimated'))
  })

  it('have the capabilities that all of them share', async () => {
    const at = { provider: 'custom', baseURL: 'http://127.0.0.1:1', apiKey: 'k' }
    const both = fallbackModel([
      { ...at, model: 'a', contextWindow: 8000, price },
      { ...at, model: 'b', contextWindow: 4000 },
    ])
    expect(both.capabilities).toEqual({ nativeTools: true, contextWindow: 4000 })
    expect(fallbackModel([{ ...at, model: 'a', price }]).capabilities).toEqual({ nativeTools: true, reportsCost: true })
    expect(both).toMatchObject({ provider: 'custom', model: 'a' })
  })

  it('refuse invalid and mixed lists, and `model` beside `models`', () => {
    const at = { provider: 'custom', baseURL: 'http://127.0.0.1:1', apiKey: 'k', model: 'a' }
    expect(() => fallbackModel([])).toThrow('Expected `models` to be an array of models, not empty')
    expect(() => fallbackModel([at, { ...at, functionCalling: false }])).toThrow('all support native calls or all use the same dialect')
    expect(() => fallbackModel([at], { cooldownMs: -1 })).toThrow('cooldownMs')
    expect(() => fallbackModel(['nobody/x'])).toThrow('Expected a known provider')
    expect(() => new AgentRunner({ model: at, models: [at] })).toThrow('Expected `models` to be absent when `model` is given')
    expect(() => new AgentRunner({})).toThrow("Expected `model` to be a model, 'provider/model' or settings")
  })
})
