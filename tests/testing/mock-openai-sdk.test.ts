import OpenAI from 'openai'
import { afterEach, describe, expect, it } from 'vitest'
import type { Framing, MockFault, MockProvider, MockProviderOptions } from '../../src/testing/index.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'

const open: MockProvider[] = []
async function connect(options: MockProviderOptions, maxRetries = 0): Promise<{ provider: MockProvider; client: OpenAI }> {
  const provider = await startStrictProvider(options)
  open.push(provider)
  return { provider, client: new OpenAI({ apiKey: 'test', baseURL: provider.baseURL, maxRetries }) }
}
afterEach(async () => {
  await Promise.all(open.splice(0).map((provider) => provider.close()))
})

const request = { model: 'm', messages: [{ role: 'user' as const, content: 'Hello' }] }
const turn = {
  text: 'Grüße 🎌',
  toolCalls: [
    { name: 'add', arguments: { a: 1 } },
    { name: 'now', args: '' },
  ],
  interleave: true,
  usage: { inputTokens: 5, outputTokens: 6, cacheReadTokens: 2, reasoningTokens: 1 },
}

/** A streamed response, assembled from the SDK's chunks. */
async function collect(client: OpenAI) {
  const stream = await client.chat.completions.create({ ...request, stream: true, stream_options: { include_usage: true } })
  const whole = {
    text: '',
    calls: [] as { id?: string; name?: string; json: string }[],
    finish: '',
    usage: {} as object | null | undefined,
  }
  for await (const chunk of stream) {
    whole.usage = chunk.usage ?? whole.usage
    const [choice] = chunk.choices
    whole.text += choice?.delta.content ?? ''
    for (const piece of choice?.delta.tool_calls ?? []) {
      whole.calls[piece.index] ??= {
        ...(piece.id && { id: piece.id }),
        ...(piece.function?.name && { name: piece.function.name }),
        json: '',
      }
      const call = whole.calls[piece.index]
      if (call) call.json += piece.function?.arguments ?? ''
    }
    whole.finish = choice?.finish_reason ?? whole.finish
  }
  return whole
}

const whole = {
  text: 'Grüße 🎌',
  calls: [
    { id: 'call_1', name: 'add', json: '{"a":1}' },
    { id: 'call_2', name: 'now', json: '' },
  ],
  finish: 'tool_calls',
  usage: {
    prompt_tokens: 5,
    completion_tokens: 6,
    total_tokens: 11,
    prompt_tokens_details: { cached_tokens: 2 },
    completion_tokens_details: { reasoning_tokens: 1 },
  },
}

describe('the mock provider through the openai SDK', () => {
  it('streams', async () => {
    const { client, provider } = await connect({ script: [turn] })
    expect(await collect(client)).toEqual(whole)
    expect(provider.requests[0]?.headers.authorization).toBe('Bearer test')
  })

  it('answers without a stream and lists models', async () => {
    const { client } = await connect({ script: [turn], models: ['a', 'b'] })
    const { choices, usage } = await client.chat.completions.create(request)
    expect([choices[0]?.message.content, choices[0]?.message.tool_calls?.length, usage?.total_tokens]).toEqual(['Grüße 🎌', 2, 11])
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['a', 'b'])
  })

  it.for<MockFault>([
    { splitBytes: 1 },
    { splitBytes: 7 },
    { splitBytes: 'random', seed: 5 },
    { gzip: true },
    { gzip: true, splitBytes: 3 },
    ...(['crlf', 'cr', 'no-space', 'comments', 'no-final-blank', 'no-done', 'double-done', 'bom', 'multi-data'] as Framing[]).map(
      (framing) => ({ framing }),
    ),
  ])('streams the same with %o', async (fault) => {
    const { client } = await connect({ script: [{ ...turn, fault }] })
    expect(await collect(client)).toEqual(whole)
  })

  it('fails as the SDK expects a provider to fail', async () => {
    const errors: [MockFault, string][] = [
      [{ status: 401 }, 'AuthenticationError'],
      [{ status: 429 }, 'RateLimitError'],
      [{ status: 500 }, 'InternalServerError'],
      [{ contextOverflow: true }, 'BadRequestError'],
      [{ resetAfterBytes: 0 }, 'APIConnectionError'],
    ]
    for (const [fault, name] of errors) {
      const { client } = await connect({ faults: fault })
      const thrown = await client.chat.completions.create(request).catch((error: unknown) => error)
      expect((thrown as object).constructor.name).toBe(name)
    }
    const { client } = await connect({ script: [{ text: 'Half', fault: { errorInStream: true } }] })
    await expect(collect(client)).rejects.toThrow('The server had an error')
  })

  it('is retried by the SDK', async () => {
    const { client, provider } = await connect(
      { script: [turn], faults: [{ status: 503, headers: { 'retry-after-ms': '1' } }, { resetAfterBytes: 0 }] },
      2,
    )
    expect((await collect(client)).text).toBe('Grüße 🎌')
    expect(provider.requests).toHaveLength(3)
  })

  it('sees the SDK abort', async () => {
    const { client, provider } = await connect({ script: [{ text: 'Half', hang: true }] })
    const stream = await client.chat.completions.create({ ...request, stream: true })
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break
    expect((await provider.waitForEnd()).aborted).toBe(true)
  })
})
