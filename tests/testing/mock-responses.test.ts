import OpenAI from 'openai'
import { afterEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/core/messages.ts'
import { type MockProvider, type MockProviderOptions, startMockProvider } from '../../src/testing/index.ts'
import { refuseResponse } from '../../src/testing/mock/wires/responses-rules.ts'

const open: MockProvider[] = []
async function connect(options: MockProviderOptions): Promise<OpenAI> {
  const provider = await startMockProvider(options)
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
  it('streams what it gives whole', async () => {
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

  it('refuses over the wire what the real one would, in its words', async () => {
    const client = await connect({ script: ['ok'] })
    const input = [{ type: 'function_call_output' as const, call_id: 'call_1', output: '' }]
    await expect(client.responses.create({ ...request, input })).rejects.toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      message: expect.stringContaining('No tool call found for function call output with call_id call_1'),
    })
  })
})

describe('what the Responses API would refuse', () => {
  const said = { role: 'user', content: 'Hello' }
  const call = { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' }
  const output = { type: 'function_call_output', call_id: 'call_1', output: 'seen' }
  const thought = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'sealed' }
  const tool = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} }, strict: false }
  const inputs: [reason: RegExp, input: JsonObject[], more?: JsonObject][] = [
    [/No tool output found for function call call_1/, [said, call]],
    [/No tool call found for custom tool call output/, [said, call, { ...output, type: 'custom_tool_call_output' }]],
    [/Duplicate item found with call_id call_1/, [said, call, output, call, output]],
    [
      /Duplicate item found with id fc_1/,
      [{ ...call, id: 'fc_1' }, output, { ...call, id: 'fc_1', call_id: 'b' }, { ...output, call_id: 'b' }],
    ],
    [/begins with 'fc'/, [{ ...call, id: 'call_1' }, output]],
    [/without its required following item/, [said, thought, said]],
    [/without its required following item/, [said, thought]],
    [/Items are not persisted when `store` is set to false/, [{ ...thought, encrypted_content: null }, call, output], { store: false }],
    [/summary/, [{ type: 'reasoning', id: 'rs_1', encrypted_content: 'sealed' }, call, output]],
    [/Invalid value: 'tool'/, [{ role: 'tool', content: 'x' }]],
    [/Invalid value: 'tool_use'/, [{ type: 'tool_use', content: 'x' }]],
    [/input_text/, [{ role: 'user', content: [{ type: 'text', text: 'x' }] }]],
    [/output_text/, [{ role: 'assistant', content: [{ type: 'input_text', text: 'x' }] }]],
    [/content/, [{ role: 'user' }]],
    [/call_id/, [{ ...call, call_id: '' }]],
    [/maximum length 64/, [{ ...call, call_id: 'x'.repeat(65) }]],
    [/name/, [{ ...call, name: 'a b' }]],
    [/arguments/, [{ type: 'function_call', call_id: 'a', name: 'look' }]],
    [/input/, []],
    [/'messages'/, [said], { messages: [] }],
    [/max_output_tokens/, [said], { max_output_tokens: 15 }],
    [/stream_options/, [said], { stream_options: {} }],
    [/tools\[0\].function/, [said], { tools: [{ type: 'function', function: { name: 'look' } }] }],
    [/defined twice/, [said], { tools: [tool, tool] }],
    [/pattern/, [said], { tools: [{ ...tool, name: 'a b' }] }],
    [/type: "object"/, [said], { tools: [{ type: 'function', name: 'look' }] }],
    [/missing properties/, [said], { tools: [{ ...tool, parameters: { type: 'object' } }] }],
    [/anyOf/, [said], { tools: [{ ...tool, parameters: { type: 'object', properties: {}, anyOf: [] } }] }],
    [/not found in 'tools'/, [said], { tools: [tool], tool_choice: { type: 'function', name: 'other' } }],
    [/must be specified with 'tools'/, [said], { tool_choice: 'required' }],
  ]
  it.each(inputs)('%s', (reason, input, more = {}) => {
    expect(refuseResponse({ model: 'm', input, ...more })).toMatch(reason)
  })

  it('takes what is right', () => {
    const input = [said, thought, { ...call, id: 'fc_1' }, output, said]
    expect(refuseResponse({ model: 'm', input, store: false, tools: [tool, { type: 'web_search' }], tool_choice: 'auto' })).toBeUndefined()
    expect(refuseResponse({ model: 'm', input: [{ ...thought, encrypted_content: null }, call, output] })).toBeUndefined()
    expect(refuseResponse({ input })).toMatch(/model/)
  })
})
