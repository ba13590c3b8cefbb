import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { JsonObject, Usage } from '../../src/core/messages.ts'
import type { ModelResponse } from '../../src/models/chat-model.ts'
import { createModel } from '../../src/models/create-model.ts'
import type { ModelSettings } from '../../src/models/settings.ts'
import { UsageReport } from '../../src/models/usage.ts'
import { chunk, completion, eventStream, events, sendJson, startServer } from '../models/local-server.ts'
import { hello } from '../models/one-request.ts'

/** One of the four APIs, with usage reports in its own places. */
interface Wire {
  provider: string
  stream(reports: readonly JsonObject[]): string
  whole(usage: JsonObject): JsonObject
}

const candidates = [{ index: 0, content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }]
const item = { id: 'm', type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] }
const message = { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [{ type: 'text', text: 'Hi' }] }

const wires: readonly Wire[] = [
  {
    provider: 'custom',
    stream: (reports) =>
      events(chunk({ content: 'Hi' }, 'stop'), ...reports.map((usage) => ({ ...chunk({}), choices: [], usage })), '[DONE]'),
    whole: (usage) => ({ ...completion({ content: 'Hi' }), usage }),
  },
  {
    provider: 'responses-compatible',
    stream: (reports) => {
      const [last = {}, ...earlier] = reports.toReversed()
      const told = earlier.toReversed().map((usage) => ({ type: 'response.in_progress', response: { id: 'r', usage } }))
      const end = { type: 'response.completed', response: { id: 'r', status: 'completed', output: [item], usage: last } }
      return events(...told, { type: 'response.output_item.done', output_index: 0, item }, end)
    },
    whole: (usage) => ({ id: 'r', object: 'response', status: 'completed', output: [item], usage }),
  },
  {
    provider: 'anthropic-compatible',
    stream: ([first = {}, ...later]) =>
      events(
        { type: 'message_start', message: { ...message, usage: first } },
        ...later.map((usage) => ({ type: 'message_delta', delta: {}, usage })),
        { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
        { type: 'message_stop' },
      ),
    whole: (usage) => ({ ...message, stop_reason: 'end_turn', usage }),
  },
  {
    provider: 'google',
    stream: (reports) => events({ candidates }, ...reports.map((usageMetadata) => ({ usageMetadata }))),
    whole: (usageMetadata) => ({ candidates, usageMetadata }),
  },
]

async function ask(
  wire: Wire,
  reports: readonly JsonObject[],
  stream: boolean,
  settings: Partial<ModelSettings> = {},
): Promise<ModelResponse> {
  await using server = await startServer((response) =>
    stream ? eventStream(response).end(wire.stream(reports)) : sendJson(response, wire.whole(reports[0] ?? {})),
  )
  const baseURL = server.baseURL
  const model = createModel({ provider: wire.provider, model: 'm', apiKey: 'k', baseURL, maxRetries: 0, ...settings })
  return await model.generate({ messages: hello, stream })
}

const of = (inputTokens: number, outputTokens: number, more: Partial<Usage> = {}): Usage => ({
  inputTokens,
  outputTokens,
  totalTokens: inputTokens + outputTokens,
  ...more,
})

/** A report, and its meaning. */
const reports: [name: string, report: JsonObject, usage: Usage][] = [
  ['of Chat Completions', { prompt_tokens: 12, completion_tokens: 20, total_tokens: 32 }, of(12, 20)],
  [
    'with a cache inside the prompt',
    { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120, prompt_tokens_details: { cached_tokens: 64 } },
    of(100, 20, { cacheReadTokens: 64 }),
  ],
  [
    'with a cache beside the prompt, by the total',
    { prompt_tokens: 12, completion_tokens: 20, total_tokens: 50_032, cache_read_input_tokens: 50_000 },
    of(50_012, 20, { cacheReadTokens: 50_000 }),
  ],
  [
    'with a cache beside the prompt that was also written, by the total',
    { prompt_tokens: 900, completion_tokens: 20, total_tokens: 1_620, cache_read_input_tokens: 500, cache_creation_input_tokens: 200 },
    of(1_600, 20, { cacheReadTokens: 500, cacheWriteTokens: 200 }),
  ],
  [
    'with a cache beside the prompt and reasoning beside the answer',
    {
      prompt_tokens: 900,
      completion_tokens: 20,
      total_tokens: 1_480,
      prompt_tokens_details: { cached_tokens: 500 },
      completion_tokens_details: { reasoning_tokens: 60 },
    },
    of(1_400, 80, { cacheReadTokens: 500, reasoningTokens: 60 }),
  ],
  [
    'with a cache that is larger than the prompt, without a total',
    { prompt_tokens: 12, completion_tokens: 20, prompt_tokens_details: { cached_tokens: 500 } },
    of(512, 20, { cacheReadTokens: 500 }),
  ],
  [
    'with a cache inside the prompt under Anthropic’s name',
    { prompt_tokens: 600, completion_tokens: 20, total_tokens: 620, cache_read_input_tokens: 500 },
    of(600, 20, { cacheReadTokens: 500 }),
  ],
  [
    'with reasoning beside the answer, in the total alone',
    { prompt_tokens: 100, completion_tokens: 20, total_tokens: 420, prompt_tokens_details: { cached_tokens: 64 } },
    of(100, 320, { cacheReadTokens: 64 }),
  ],
  ['without the prompt', { completion_tokens: 20, total_tokens: 32 }, of(12, 20)],
  ['without the answer', { prompt_tokens: 12, total_tokens: 32 }, of(12, 20)],
  ['of DeepSeek', { prompt_tokens: 100, completion_tokens: 20, prompt_cache_hit_tokens: 64 }, of(100, 20, { cacheReadTokens: 64 })],
  [
    'of Responses',
    {
      input_tokens: 100,
      output_tokens: 20,
      total_tokens: 120,
      input_tokens_details: { cached_tokens: 64 },
      output_tokens_details: { reasoning_tokens: 5 },
    },
    of(100, 20, { cacheReadTokens: 64, reasoningTokens: 5 }),
  ],
  [
    'of Messages',
    { input_tokens: 12, output_tokens: 20, cache_read_input_tokens: 8, cache_creation_input_tokens: 4 },
    of(24, 20, { cacheReadTokens: 8, cacheWriteTokens: 4 }),
  ],
  [
    'of Messages, with a total that leaves the cache out',
    { input_tokens: 12, output_tokens: 20, total_tokens: 32, cache_read_input_tokens: 50_000 },
    of(50_012, 20, { cacheReadTokens: 50_000 }),
  ],
  [
    'of Bedrock',
    { inputTokens: 12, outputTokens: 20, totalTokens: 532, cacheReadInputTokens: 500, cacheWriteInputTokens: 0 },
    of(512, 20, { cacheReadTokens: 500, cacheWriteTokens: 0 }),
  ],
  [
    'in camel case',
    { promptTokens: 12, completionTokens: 20, totalTokens: 32, promptTokensDetails: { cachedTokens: 8 } },
    of(12, 20, { cacheReadTokens: 8 }),
  ],
  [
    'with a cache inside the input, in camel case',
    { inputTokens: 12, outputTokens: 20, cachedInputTokens: 8 },
    of(12, 20, { cacheReadTokens: 8 }),
  ],
  [
    'of Gemini',
    { promptTokenCount: 100, toolUsePromptTokenCount: 5, candidatesTokenCount: 20, thoughtsTokenCount: 7, cachedContentTokenCount: 64 },
    of(105, 27, { cacheReadTokens: 64, reasoningTokens: 7 }),
  ],
  ['of Ollama', { prompt_eval_count: 12, eval_count: 20 }, of(12, 20)],
  [
    'under two sets of names',
    { prompt_tokens: 512, completion_tokens: 20, input_tokens: 12, output_tokens: 20, cache_read_input_tokens: 500 },
    of(512, 20, { cacheReadTokens: 500 }),
  ],
]

describe.each(wires)('usage: $provider', (wire) => {
  it.each(reports)('F22 Q10 a report %s', async (_name, report, usage) => {
    for (const stream of [true, false]) expect((await ask(wire, [report], stream)).usage, `streaming: ${stream}`).toEqual(usage)
  })

  it('F22 a later report that is empty or all zeros resets nothing', async () => {
    const first = { prompt_tokens: 12, completion_tokens: 20, total_tokens: 32, prompt_tokens_details: { cached_tokens: 8 } }
    const zeros = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, prompt_tokens_details: { cached_tokens: 0 } }
    for (const later of [{}, zeros]) expect((await ask(wire, [first, later], true)).usage).toEqual(of(12, 20, { cacheReadTokens: 8 }))
  })

  it('F22 Q10 the last of several reports counts, and the earlier ones fill its gaps', async () => {
    const begun = { input_tokens: 12, output_tokens: 1, cache_read_input_tokens: 8 }
    expect((await ask(wire, [begun, { output_tokens: 20 }], true)).usage).toEqual(of(20, 20, { cacheReadTokens: 8 }))
    expect(
      (await ask(wire, [{ prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 }, { completion_tokens: 20 }], true)).usage,
    ).toEqual(of(12, 20))
    const again = { prompt_tokens: 14, completion_tokens: 20, total_tokens: 34 }
    expect((await ask(wire, [{ prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 }, again], true)).usage).toEqual(of(14, 20))
  })

  it('F22 a report of only zeros is ignored', async () => {
    for (const stream of [true, false]) {
      const { usage } = await ask(wire, [{ input_tokens: 0, output_tokens: 0, total_tokens: 0 }], stream)
      expect(usage).toBeUndefined()
    }
  })

  it('F22 the cost includes cached input at its own price, and not as output', async () => {
    const [, report = {}] = reports[2] ?? []
    await using server = await startServer((response) => sendJson(response, wire.whole(report)))
    const price = { input: 1, output: 10, cacheRead: 0.1 }
    const model = createModel({ provider: wire.provider, model: 'm', apiKey: 'k', baseURL: server.baseURL, price })
    const { usage } = await new AgentRunner({ model, stream: false }).run('go')
    expect(usage.costUsd).toBeCloseTo((12 * 1 + 50_000 * 0.1 + 20 * 10) / 1_000_000, 10)
  })
})

describe('UsageReport', () => {
  const names = fc.constantFrom(
    'prompt_tokens',
    'input_tokens',
    'completion_tokens',
    'outputTokens',
    'total_tokens',
    'cache_read_input_tokens',
    'cached_tokens',
    'cacheWriteInputTokens',
    'thoughtsTokenCount',
    'reasoning_tokens',
    'prompt_tokens_details',
  )
  const counts = fc.oneof(
    fc.nat({ max: 1000 }),
    fc.constantFrom<JsonObject[string]>(0, null, -3, 'x', Number.NaN, [], {}, { cached_tokens: 7 }),
  )
  const anyReports = fc.array(fc.dictionary(names, counts), { maxLength: 4 })

  it('F22 adds up, whatever is reported: the cache is part of the input, and the total is both', () => {
    fc.assert(
      fc.property(anyReports, (all) => {
        const report = new UsageReport()
        for (const one of all) report.read(one as JsonObject)
        const usage = report.total()
        if (usage === undefined) return
        const { inputTokens, outputTokens, totalTokens, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage
        expect(totalTokens).toBe(inputTokens + outputTokens)
        expect(cacheReadTokens + cacheWriteTokens).toBeLessThanOrEqual(inputTokens)
        for (const value of Object.values(usage)) expect(value).toBeGreaterThanOrEqual(0)
      }),
      { numRuns: 1000 },
    )
  })

  it('F22 ignores a report without counts', () => {
    fc.assert(
      fc.property(anyReports, (all) => {
        const [report, other] = [new UsageReport(), new UsageReport()]
        for (const one of all) {
          report.read(one as JsonObject)
          other.read(one as JsonObject)
        }
        const zeros: JsonObject = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, cached_tokens: 0 }
        for (const nothing of [{}, null, zeros]) other.read(nothing)
        const { cacheReadTokens: _, ...usage } = report.total() ?? {}
        const { cacheReadTokens: _also, ...same } = other.total() ?? {}
        expect(same).toEqual(usage)
      }),
      { numRuns: 500 },
    )
  })

  it('reads the reported cost of a request, if it is in US dollars', () => {
    const report = { prompt_tokens: 12, completion_tokens: 20, cost: 0.25 }
    const [paid, free] = [new UsageReport(true), new UsageReport()]
    for (const one of [paid, free]) one.read(report)
    expect([paid.total()?.costUsd, free.total()?.costUsd]).toEqual([0.25, undefined])
  })
})
