import { describe, expect, it } from 'vitest'
import type { ChatMessage, JsonObject } from '../../src/core/messages.ts'
import type { ModelRequest } from '../../src/models/chat-model.ts'
import { createModel } from '../../src/models/create-model.ts'
import type { ModelSettings } from '../../src/models/settings.ts'
import type { MockRequest } from '../../src/testing/mock/recorder.ts'
import type { ToolDefinition } from '../../src/tools/tool.ts'
import { hello } from './one-request.ts'
import { startStrictProvider } from './rules/strict-provider.ts'

/** Sends one request, which the API must accept. */
async function sent(
  request: Partial<ModelRequest>,
  settings: Partial<ModelSettings> = {},
): Promise<{ body: JsonObject; items: JsonObject[]; request: MockRequest; warnings: string[] }> {
  await using server = await startStrictProvider({ script: ['ok'] })
  const model = createModel({ provider: 'openai-responses', model: 'gpt-5.2', apiKey: 'test-key', baseURL: server.baseURL, ...settings })
  const { warnings = [] } = await model.generate({ messages: hello, ...request })
  const [seen] = server.requests
  if (seen === undefined || server.requests.length > 1) throw new Error(`expected one request, got ${server.requests.length}`)
  return { body: seen.body, items: seen.body.input as JsonObject[], request: seen, warnings }
}

const tool = (name: string, parameters?: Record<string, unknown>, strict?: boolean): ToolDefinition => ({
  type: 'function',
  function: { name, description: `Does ${name}.`, ...(parameters ? { parameters } : {}), ...(strict === undefined ? {} : { strict }) },
})
const call = (id: string, name = 'look', json = '{}') => ({ id, type: 'function' as const, function: { name, arguments: json } })
const calls = (...toolCalls: ReturnType<typeof call>[]): ChatMessage => ({ role: 'assistant', content: '', toolCalls })
const result = (toolCallId: string, content: ChatMessage['content'] = 'seen'): ChatMessage => ({ role: 'tool', content, toolCallId })

describe('requests of the Responses API', () => {
  it('depend on nothing that the server stores', async () => {
    const { body, request } = await sent({})
    expect(request).toMatchObject({ method: 'POST', path: '/v1/responses' })
    expect(body).toEqual({
      model: 'gpt-5.2',
      stream: true,
      store: false,
      include: ['reasoning.encrypted_content'],
      input: [{ role: 'user', content: 'Hello' }],
    })
    expect((await sent({ stream: false })).body.stream).toBe(false)
    // A model that does not reason has nothing to encrypt, and refuses the field.
    expect((await sent({}, { model: 'gpt-4.1' })).body).not.toHaveProperty('include')
    const compatible = (await sent({}, { provider: 'responses-compatible', model: 'local' })).body
    expect(Object.keys(compatible)).toEqual(['model', 'stream', 'input'])
  })

  it('keep system messages in place, as the developer’s', async () => {
    const messages: ChatMessage[] = [{ role: 'system', content: 'One.' }, ...hello, { role: 'system', content: 'Two.' }, ...hello]
    expect((await sent({ messages })).items.map(({ role }) => role)).toEqual(['developer', 'user', 'developer', 'user'])
    expect((await sent({ messages }, { quirks: { developerRole: false } })).items.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'system',
      'user',
    ])
  })

  it('S2-48 have text, calls and results as items, by the id of the call', async () => {
    const messages: ChatMessage[] = [
      ...hello,
      { role: 'assistant', content: 'I look.', toolCalls: [call('call_1', 'look', '{"at":1}'), call('call_2', 'look', '')] },
      result('call_1'),
      result('call_2', ''),
      { role: 'assistant', content: '' },
      { role: 'assistant', content: 'Seen.' },
      ...hello,
    ]
    expect((await sent({ messages })).items.slice(1, -1)).toEqual([
      { role: 'assistant', content: 'I look.' },
      { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{"at":1}' },
      { type: 'function_call', call_id: 'call_2', name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'seen' },
      { type: 'function_call_output', call_id: 'call_2', output: '' },
      { role: 'assistant', content: 'Seen.' },
    ])
  })

  it('Q16 return arguments that are not an object unchanged only to OpenAI', async () => {
    const written = ['{"x":', '[1]', ' ', '{"x":1}']
    const messages = [
      ...hello,
      calls(...written.map((json, at) => call(`call_${at}`, 'look', json))),
      ...written.map((_, at) => result(`call_${at}`)),
    ]
    const sentTo = async (provider: string) => (await sent({ messages }, { provider })).items.slice(1, 5).map((item) => item.arguments)
    expect(await sentTo('openai-responses')).toEqual(['{"x":', '[1]', '{}', '{"x":1}'])
    expect(await sentTo('responses-compatible')).toEqual(['{}', '{}', '{}', '{"x":1}'])
    expect(messages[1]).toMatchObject({ toolCalls: [{ function: { arguments: '{"x":' } }, {}, {}, {}] })
  })

  it('H18 H47 replace ids and names of another provider, alike in call and result', async () => {
    const ids = ['functions.look:0', 'x'.repeat(65), 'ä ✨', 'toolu_01-ok']
    const messages = [...hello, calls(...ids.map((id) => call(id, 'search.web/v2 ✨'))), ...ids.map((id) => result(id))]
    const { items } = await sent({ messages })
    const sentIds = items.slice(1, 5).map(({ call_id: id }) => String(id))
    expect(new Set(sentIds).size).toBe(4)
    expect(sentIds[3]).toBe('toolu_01-ok')
    for (const id of sentIds) expect(id).toMatch(/^[\w-]{1,64}$/)
    expect(items.slice(5).map(({ call_id: id }) => id)).toEqual(sentIds)
    expect(items[1]?.name).toBe('search_web_v2__')
  })

  it('have images and files, by URL and as bytes, in messages and results', async () => {
    const parts: ChatMessage['content'] = [
      { type: 'text', text: 'Look:' },
      { type: 'image', url: 'https://example.com/a.png' },
      { type: 'image', data: 'aGk=', mediaType: 'image/png' },
      { type: 'file', url: 'https://example.com/a.pdf' },
      { type: 'file', data: 'aGk=', mediaType: 'application/pdf', name: 'a.pdf' },
      { type: 'file', url: 'data:application/pdf;base64,aGk=' },
    ]
    const expected = [
      { type: 'input_text', text: 'Look:' },
      { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'auto' },
      { type: 'input_image', image_url: 'data:image/png;base64,aGk=', detail: 'auto' },
      { type: 'input_file', file_url: 'https://example.com/a.pdf' },
      { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,aGk=' },
      { type: 'input_file', filename: 'file', file_data: 'data:application/pdf;base64,aGk=' },
    ]
    const messages: ChatMessage[] = [{ role: 'user', content: parts }, calls(call('a')), result('a', parts)]
    const { items, warnings } = await sent({ messages })
    expect(items[0]?.content).toEqual(expected)
    expect(items[2]?.output).toEqual(expected)
    expect(warnings).toEqual([])
    const plain = await sent({ messages }, { provider: 'responses-compatible' })
    expect(plain.items[2]?.output).toBe(
      'Look:\n[image 1, shown below]\n[image 2, shown below]\n[file not shown]\n[file not shown]\n[file not shown]',
    )
    expect(plain.items[0]?.content).toMatchObject([{}, expected[1], expected[2], { type: 'input_text', text: '[file not shown]' }, {}, {}])
    expect(plain.warnings).toHaveLength(2)
  })

  it('convert frozen messages once, and send them identically each time', async () => {
    await using server = await startStrictProvider({ script: () => 'ok' })
    const model = createModel({ provider: 'openai-responses', model: 'gpt-5.2', apiKey: 'k', baseURL: server.baseURL })
    const messages = [...hello, calls(call('a')), result('a'), ...hello].map((message) => Object.freeze({ ...message }))
    for (let round = 0; round < 2; round++) await model.generate({ messages })
    expect(server.requests[1]?.rawBody).toBe(server.requests[0]?.rawBody)
  })
})

describe('tools', () => {
  it('S2-22 are flat, always have an object schema, and are strict only if they say so', async () => {
    const object = { type: 'object', properties: { a: { type: 'string' } } }
    const { body, warnings } = await sent({ tools: [tool('plain'), tool('loose', object), tool('strict', object, true)] })
    expect(body.tools).toEqual([
      { type: 'function', name: 'plain', description: 'Does plain.', parameters: { type: 'object', properties: {} }, strict: false },
      { type: 'function', name: 'loose', description: 'Does loose.', parameters: object, strict: false },
      { type: 'function', name: 'strict', description: 'Does strict.', parameters: object, strict: true },
    ])
    expect(warnings).toEqual([])
    const compatible = await sent({ tools: [tool('strict', object, true)] }, { provider: 'responses-compatible' })
    expect(compatible.body.tools).toMatchObject([{ name: 'strict' }])
    expect(compatible.request.rawBody).not.toContain('"strict":')
    expect(compatible.warnings).toEqual([expect.stringContaining('`strict` of tool `strict`')])
  })

  it('have alternatives at the top of a schema merged, with a warning', async () => {
    const either = { anyOf: [{ properties: { a: { type: 'string' } } }, { properties: { b: { type: 'number' } } }] }
    const { body, warnings } = await sent({ tools: [tool('either', either)] })
    expect(body.tools).toMatchObject([{ parameters: { type: 'object', properties: { a: { type: 'string' }, b: { type: 'number' } } } }])
    expect(warnings).toEqual([expect.stringContaining('`either`')])
  })

  it('S2-6 have the tool choice in the API’s form; without tools, no field about tools', async () => {
    const tools = [tool('look')]
    for (const choice of ['auto', 'none', 'required'] as const) {
      expect((await sent({ tools, toolChoice: choice })).body.tool_choice).toBe(choice)
    }
    const named = { type: 'function', function: { name: 'look' } } as const
    expect((await sent({ tools, toolChoice: named })).body.tool_choice).toEqual({ type: 'function', name: 'look' })
    const none = await sent({ toolChoice: 'required', parallelToolCalls: false, tools: [] })
    for (const key of ['tools', 'tool_choice', 'parallel_tool_calls']) expect(none.body).not.toHaveProperty(key)
  })

  it('Q17 with an unsupported choice or parallel calls get the nearest setting, or none, and a warning', async () => {
    const tools = [tool('look')]
    const named = { type: 'function', function: { name: 'look' } } as const
    const few = { quirks: { toolChoice: ['auto', 'required'], parallelToolCalls: false } }
    expect((await sent({ tools, toolChoice: named }, few)).body.tool_choice).toBe('required')
    const without = await sent({ tools, toolChoice: 'none' }, few)
    expect(without.body).not.toHaveProperty('tools')
    expect(without.warnings).toHaveLength(1)
    expect((await sent({ tools, parallelToolCalls: false }, few)).warnings).toEqual([expect.stringContaining('parallelToolCalls')])
    expect((await sent({ tools, parallelToolCalls: true }, few)).warnings).toEqual([])
    expect((await sent({ tools, parallelToolCalls: false })).body.parallel_tool_calls).toBe(false)
  })

  it('S2-38 include the provider’s own from its options, beside the others', async () => {
    const providerOptions: JsonObject = { tools: [{ type: 'web_search' }, { type: 'custom', name: 'write_sql' }] }
    const { body } = await sent({ tools: [tool('look')], providerOptions })
    expect(body.tools).toMatchObject([{ name: 'look' }, { type: 'web_search' }, { type: 'custom', name: 'write_sql' }])
    expect((await sent({ providerOptions, toolChoice: 'required' })).body).toMatchObject({ tool_choice: 'required', tools: [{}, {}] })
  })
})

describe('settings', () => {
  const sampling = { temperature: 0.3, topP: 0.9 }

  it('Q17 send sampling to models that don’t reason; unsupported settings are warnings', async () => {
    const all = { ...sampling, maxOutputTokens: 100, stop: ['END'], seed: 1, frequencyPenalty: 1, presencePenalty: 1 }
    const { body, warnings } = await sent(all, { model: 'gpt-4.1' })
    expect(body).toMatchObject({ temperature: 0.3, top_p: 0.9, max_output_tokens: 100 })
    expect(warnings).toEqual(['stop', 'seed', 'frequencyPenalty', 'presencePenalty'].map((name) => expect.stringContaining(`\`${name}\``)))
    const cases: [model: string, request: Partial<ModelRequest>, goes: boolean][] = [
      ['gpt-5.2', {}, true],
      ['gpt-5.2', { reasoningEffort: 'none' }, true],
      ['gpt-5.2', { reasoningEffort: 'low' }, false],
      ['gpt-5.5', {}, false],
      ['gpt-5.5', { reasoningEffort: 'none' }, true],
      ['gpt-5.5', { providerOptions: { reasoning: { effort: 'none' } } }, true],
      ['gpt-6', {}, false],
      ['o3', { reasoningEffort: 'low' }, false],
      ['gpt-5-mini', {}, false],
    ]
    for (const [model, request, goes] of cases) {
      const asked = await sent({ ...sampling, ...request }, { model })
      expect([asked.body.temperature, asked.body.top_p], model).toEqual(goes ? [0.3, 0.9] : [undefined, undefined])
      expect(asked.warnings).toHaveLength(goes ? 0 : 2)
    }
    expect((await sent(sampling, { quirks: { unsupported: ['temperature'] } })).warnings).toHaveLength(1)
  })

  it('send the reasoning effort, with the options added', async () => {
    expect((await sent({ reasoningEffort: 'high' })).body.reasoning).toEqual({ effort: 'high' })
    const more = { providerOptions: { reasoning: { summary: 'auto' }, include: ['web_search_call.action.sources'] } }
    expect((await sent({ reasoningEffort: 'low' }, more)).body).toMatchObject({
      reasoning: { effort: 'low', summary: 'auto' },
      include: ['reasoning.encrypted_content', 'web_search_call.action.sources'],
    })
    const never = await sent({ reasoningEffort: 'low' }, { model: 'gpt-4.1' })
    expect(never.body).not.toHaveProperty('reasoning')
    expect(never.warnings).toEqual([expect.stringContaining("reasoningEffort: 'low'")])
    const words = { quirks: { reasoningEffort: { low: { thinking: { type: 'enabled' } } } } }
    expect((await sent({ reasoningEffort: 'low' }, words)).body).toMatchObject({ thinking: { type: 'enabled' } })
    expect((await sent({ reasoningEffort: 'high' }, words)).warnings).toHaveLength(1)
  })

  it('raise a limit that is below the API’s minimum', async () => {
    const { body, warnings } = await sent({ maxOutputTokens: 5 })
    expect(body.max_output_tokens).toBe(16)
    expect(warnings).toEqual([expect.stringContaining('sent as 16')])
    expect((await sent({ maxOutputTokens: 16 })).warnings).toEqual([])
  })

  it('include provider options as fields of the body; the conversation is not among them', async () => {
    const { body, warnings } = await sent({
      providerOptions: { metadata: { a: 'b' }, text: { verbosity: 'low' }, store: true, input: [], previous_response_id: 'resp_1' },
    })
    expect(body).toMatchObject({ metadata: { a: 'b' }, text: { verbosity: 'low' }, store: true, input: [{ role: 'user' }] })
    expect(body).not.toHaveProperty('previous_response_id')
    expect(warnings).toHaveLength(2)
  })

  it('refuse invalid quirks when the model is created', () => {
    for (const quirks of [{ reasons: 'sometimes' }, { reasoningEffort: { low: 1 } }, { leastOutputTokens: 0 }, { streamOptions: true }]) {
      expect(() => createModel({ provider: 'openai-responses', model: 'gpt-5.2', quirks: quirks as never })).toThrow(/quirks\./)
    }
  })
})
