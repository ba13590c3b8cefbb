import OpenAI from 'openai'
import { afterEach, describe, expect, it } from 'vitest'
import type { MockProvider, MockProviderOptions } from '../../src/testing/index.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'

const open: MockProvider[] = []
async function connect(options: MockProviderOptions): Promise<OpenAI> {
  const provider = await startStrictProvider(options)
  open.push(provider)
  return new OpenAI({ apiKey: 'test', baseURL: provider.baseURL, maxRetries: 0 })
}
afterEach(async () => {
  await Promise.all(open.splice(0).map((provider) => provider.close()))
})

const turn = {
  reasoning: 'Hm. 思考',
  text: 'Grüße 🎌',
  toolCalls: [
    { id: 'call_a', name: 'add', arguments: { a: 1 } },
    { id: 'call_n', name: 'now', args: '' },
  ],
  interleave: true,
  usage: { inputTokens: 5, outputTokens: 6, cacheReadTokens: 2, reasoningTokens: 1 },
}
const request = { model: 'm', input: 'Hello', store: false, include: ['reasoning.encrypted_content' as const] }

describe('the Responses wire of the mock provider, read by the SDK', () => {
  it('streams what it sends without a stream', async () => {
    const client = await connect({ script: [turn, turn] })
    const types: string[] = []
    const numbers: number[] = []
    const stream = client.responses.stream(request)
    for await (const event of stream) {
      types.push(event.type)
      numbers.push(event.sequence_number)
    }
    const streamed = await stream.finalResponse()
    const whole = await client.responses.create(request)
    const contentOf = ({ output, usage, output_text: text }: { output: object[]; usage?: object; output_text: string }) =>
      JSON.parse(JSON.stringify({ output, usage, text }).replaceAll(/mock_\d|,?"parsed(_arguments)?":null/g, ''))
    expect(contentOf(streamed)).toEqual(contentOf(whole))
    expect(whole.output).toMatchObject([
      { type: 'reasoning', summary: [{ text: 'Hm. 思考' }], encrypted_content: expect.any(String) },
      { type: 'message', content: [{ type: 'output_text', text: 'Grüße 🎌' }] },
      { type: 'function_call', call_id: 'call_a', name: 'add', arguments: '{"a":1}' },
      { type: 'function_call', name: 'now', arguments: '' },
    ])
    expect(whole.usage).toMatchObject({ input_tokens: 5, output_tokens: 6, total_tokens: 11, input_tokens_details: { cached_tokens: 2 } })
    expect(numbers).toEqual(numbers.map((_number, at) => at))
    expect([types[0], types.at(-1)]).toEqual(['response.created', 'response.completed'])
    for (const kind of ['output_item', 'content_part', 'reasoning_summary_part']) {
      const of = (what: string) => types.filter((type) => type === `response.${kind}.${what}`).length
      expect(of('added'), kind).toBe(of('done'))
    }
  })

  it('says how a turn ended, and why', async () => {
    const client = await connect({
      script: [
        { text: 'cut', finishReason: 'length' },
        { text: 'No.', finishReason: 'refusal' },
        { text: '', finishReason: 'content_filter' },
        { text: '', finishReason: 'error' },
      ],
    })
    expect(await client.responses.create(request)).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
    })
    expect(await client.responses.create(request)).toMatchObject({ output: [{ content: [{ type: 'refusal', refusal: 'No.' }] }] })
    expect(await client.responses.create(request)).toMatchObject({ incomplete_details: { reason: 'content_filter' } })
    expect(await client.responses.create(request)).toMatchObject({ status: 'failed', error: { code: 'server_error' } })
  })

  it('refuses what the real API would, in its words', async () => {
    const client = await connect({ script: ['ok'] })
    const input = [{ type: 'function_call_output' as const, call_id: 'call_1', output: '' }]
    await expect(client.responses.create({ ...request, input })).rejects.toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      message: expect.stringContaining('No tool call found for function call output with call_id call_1'),
    })
  })
})
