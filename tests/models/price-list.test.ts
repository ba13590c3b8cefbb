import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { parse } from 'yaml'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { createModel } from '../../src/models/create-model.ts'
import { withCost } from '../../src/models/usage.ts'
import { startServer, textEvents } from './local-server.ts'

interface Section {
  source: string
  models: Record<string, { source?: string; checked: string; price: object | object[]; contextWindow: number }>
}

const list = parse(readFileSync(new URL('../../config/prices.yaml', import.meta.url), 'utf8'), { merge: true }) as Record<string, Section>

afterEach(() => {
  vi.useRealTimers()
})

describe('the price list', () => {
  it('has the page and the date of every line, and valid prices', () => {
    const lines = Object.entries(list).flatMap(([provider, { source, models }]) =>
      Object.entries(models).map(([model, line]) => ({ provider, model, source, ...line })),
    )
    expect(lines.length).toBeGreaterThan(60)
    for (const { provider, model, source, checked, price, contextWindow } of lines) {
      expect(source, model).toMatch(/^https:\/\/(developers\.openai\.com|platform\.claude\.com|ai\.google\.dev)\//)
      expect(checked, model).toMatch(/^2026-\d{2}-\d{2}$/)
      for (const one of [price].flat()) {
        const { until, ...dollars } = one as { until?: string }
        if (until !== undefined) expect(until, model).toMatch(/^\d{4}-\d{2}-\d{2}$/)
        // Checked like a price from an application.
        expect(createModel({ provider: 'custom', model: 'm', baseURL: 'http://127.0.0.1:1', price: dollars as never })).toBeDefined()
      }
      expect(createModel(`${provider}/${model}`).capabilities, model).toMatchObject({ price: expect.anything(), contextWindow })
    }
  })

  it('gives a model’s price and context window, also for a dated version, unless they are overridden', () => {
    const facts = (model: string) => {
      const { price, contextWindow } = createModel(model).capabilities
      return { price, contextWindow }
    }
    const gpt = { price: { input: 1.75, cacheRead: 0.175, output: 14 }, contextWindow: 272_000 }
    for (const model of ['openai/gpt-5.2', 'openai-responses/gpt-5.2', 'openai/gpt-5.2-2025-12-11']) expect(facts(model)).toEqual(gpt)
    expect(facts('openai/gpt-4o-2024-05-13').price).toEqual({ input: 5, output: 15 })
    expect(facts('openai/gpt-4o-2024-08-06').price).toEqual({ input: 2.5, cacheRead: 1.25, output: 10 })
    expect(facts('anthropic/claude-haiku-4-5-20251001').price).toEqual({ input: 1, cacheRead: 0.1, cacheWrite: 1.25, output: 5 })
    expect(facts('google/models/gemini-2.5-flash-001').price).toEqual({ input: 0.3, cacheRead: 0.03, output: 2.5 })
    // Nothing is guessed: a fine-tuned model, one of another provider, one that only starts like a known one.
    for (const model of ['openai/ft:gpt-4o:me::x', 'azure/gpt-5.2', 'openai/gpt-5.2-mini', 'openai/constructor', 'vllm/gpt-4o'])
      expect(facts(model).price).toBeUndefined()
    const price = { input: 1, output: 2 }
    expect(createModel({ provider: 'openai', model: 'gpt-5.2', price }).capabilities).toMatchObject({ price, contextWindow: 272_000 })
    const providers = { openai: { models: [{ match: '^gpt-5\\.2$', price }] } }
    expect(createModel('openai/gpt-5.2', { providers }).capabilities.price).toEqual(price)
  })

  it('switches to the next price after a date', () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const inputPrice = () => createModel('google/gemini-3.7-flash').capabilities.price?.input
    vi.setSystemTime('2026-12-31T23:59:59.999Z')
    expect(inputPrice()).toBe(0.75)
    vi.setSystemTime('2027-01-01T00:00:00Z')
    expect(inputPrice()).toBe(1.5)
  })

  it('charges all of a long request at the long price', () => {
    const { capabilities } = createModel('google/gemini-2.5-pro')
    const usage = { inputTokens: 200_000, cacheReadTokens: 100_000, outputTokens: 10_000, totalTokens: 210_000 }
    expect(withCost(usage, capabilities).costUsd).toBeCloseTo(0.1 * 1.25 + 0.1 * 0.125 + 0.01 * 10, 10)
    expect(withCost({ ...usage, inputTokens: 200_001 }, capabilities).costUsd).toBeCloseTo(0.100001 * 2.5 + 0.1 * 0.25 + 0.01 * 15, 10)
  })

  it('lets a run be limited by cost, and kept within the window', async () => {
    await using server = await startServer((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(
        textEvents('Done.').replace(
          '"finish_reason":"stop"}]',
          '"finish_reason":"stop"}],"usage":{"prompt_tokens":1000000,"completion_tokens":0}',
        ),
      )
    })
    const model = { provider: 'openai', model: 'gpt-4.1-mini', apiKey: 'sk-test-key', baseURL: server.baseURL }
    const runner = new AgentRunner({ model, limits: { costUsd: 1 }, compaction: {} })
    expect(await runner.run('Hello')).toMatchObject({ stopReason: 'answered', usage: { costUsd: 0.4 } })
    const long = Array.from({ length: 60 }, (_, at) => [
      { role: 'user' as const, content: `${at} ${'word '.repeat(20_000)}` },
      { role: 'assistant' as const, content: 'I see.' },
    ]).flat()
    const { messages } = await runner.run('And now?', { messages: long })
    expect(messages).toHaveLength(122)
    // 60 messages of 25,000 tokens exceed three quarters of the window. The newest that fit into six tenths of that are kept.
    const sent = server.requests[1]?.body.messages as { content: string }[]
    expect(sent.filter(({ content }) => content.length > 50_000)).toHaveLength(Math.floor((0.75 * 0.6 * 1_047_576) / 25_010))
  })

  it('says how to set a missing price', () => {
    const limits = { costUsd: 1 }
    expect(() => new AgentRunner({ model: 'openai/gpt-99', limits })).toThrow(
      "`openai/gpt-99`, and any model that may take its place, a `price` in US dollars for a million tokens: createModel({ provider: 'openai', model: 'gpt-99', price: { input: 2, output: 8 } })",
    )
  })
})
