import { describe, expect, it } from 'vitest'
import type { ChatMessage, JsonObject } from '../../src/core/messages.ts'
import type { ModelRequest } from '../../src/models/chat-model.ts'
import { createModel } from '../../src/models/create-model.ts'
import type { ModelSettings } from '../../src/models/settings.ts'
import type { MockRequest } from '../../src/testing/index.ts'
import { startStrictProvider } from './rules/strict-provider.ts'

const hello: ChatMessage[] = [{ role: 'user', content: 'Hello' }]
const tool = (name: string, parameters: JsonObject = { type: 'object', properties: {} }) => ({
  type: 'function' as const,
  function: { name, description: `Does ${name}.`, parameters },
})
const call = (id: string, name = 'look', json = '{"a":1}') => ({ id, type: 'function' as const, function: { name, arguments: json } })
const calls = (...toolCalls: ReturnType<typeof call>[]): ChatMessage => ({ role: 'assistant', content: '', toolCalls })
const result = (toolCallId: string, content: ChatMessage['content'] = 'ok', isError?: boolean): ChatMessage => ({
  role: 'tool',
  toolCallId,
  content,
  ...(isError === undefined ? {} : { isError }),
})

/** The request as sent, and the warnings of the response. The mock provider refuses what the API would refuse. */
async function sent(
  request: Partial<ModelRequest>,
  settings: Partial<ModelSettings> = {},
): Promise<{ body: JsonObject; warnings: string[]; request: MockRequest }> {
  await using server = await startStrictProvider({ script: ['ok'] })
  const all = { provider: 'anthropic', model: 'claude-opus-4-8', apiKey: 'sk-ant-test', baseURL: server.url, maxRetries: 0, ...settings }
  const { warnings = [] } = await createModel(all).generate({ messages: hello, ...request })
  const [only] = server.requests
  if (only === undefined) throw new Error('nothing was sent')
  return { body: only.body, warnings, request: only }
}

/** The turns of a body, without cache marks. */
async function turnsOf(messages: ChatMessage[], more: Partial<ModelRequest> = {}, settings: Partial<ModelSettings> = {}) {
  const { body, warnings } = await sent({ messages, providerOptions: { promptCaching: false }, ...more }, settings)
  return { turns: body.messages, system: body.system, warnings, body }
}

describe('tools', () => {
  it('S2-22 S2-36 a tool is name, description and input_schema, whose type is always object', async () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
    const tools = [tool('weather', schema), tool('odd', { type: 'string' }), { type: 'function' as const, function: { name: 'bare' } }]
    const { body } = await sent({ tools, providerOptions: { promptCaching: false } })
    expect(body.tools).toEqual([
      { name: 'weather', description: 'Does weather.', input_schema: schema },
      { name: 'odd', description: 'Does odd.', input_schema: { type: 'object' } },
      { name: 'bare', input_schema: { type: 'object' } },
    ])
  })

  it('S2-36 alternatives at the top of a schema, which the API refuses, are merged into one object', async () => {
    const kind = (value: string) => ({ type: 'string', const: value })
    const circle = { type: 'object', properties: { kind: kind('circle'), r: { type: 'number' } }, required: ['kind', 'r'] }
    const square = { type: 'object', properties: { kind: kind('square'), side: { type: 'number' } }, required: ['kind', 'side'] }
    const common = { properties: { color: { type: 'string' } }, required: ['color'] }
    const { body, warnings } = await sent({
      tools: [tool('draw', { oneOf: [circle, square], allOf: [common], description: 'A shape.' })],
      providerOptions: { promptCaching: false },
    })
    expect(body.tools).toMatchObject([
      {
        input_schema: {
          type: 'object',
          description: 'A shape.',
          properties: {
            color: { type: 'string' },
            kind: { anyOf: [kind('circle'), kind('square')] },
            r: { type: 'number' },
            side: { type: 'number' },
          },
          required: ['color', 'kind'],
        },
      },
    ])
    expect(JSON.stringify(body.tools)).not.toContain('oneOf')
    expect(warnings).toEqual([expect.stringContaining('`draw`')])
  })

  it('S2-23 S2-24 S2-25 S2-26 all tool choices are sent, and one call at a time', async () => {
    const tools = [tool('look')]
    const named = { type: 'function' as const, function: { name: 'look' } }
    const single = { disable_parallel_tool_use: true }
    const cases: [Partial<ModelRequest>, JsonObject | undefined][] = [
      [{}, undefined],
      [{ toolChoice: 'auto' }, { type: 'auto' }],
      [{ toolChoice: 'none' }, { type: 'none' }],
      [{ toolChoice: 'required' }, { type: 'any' }],
      [{ toolChoice: named }, { type: 'tool', name: 'look' }],
      [{ parallelToolCalls: true }, undefined],
      [{ parallelToolCalls: false }, { type: 'auto', ...single }],
      [{ parallelToolCalls: false, toolChoice: 'none' }, { type: 'none' }],
      [
        { parallelToolCalls: false, toolChoice: 'required' },
        { type: 'any', ...single },
      ],
      [
        { parallelToolCalls: false, toolChoice: named },
        { type: 'tool', name: 'look', ...single },
      ],
    ]
    for (const [request, choice] of cases)
      expect((await sent({ tools, ...request })).body.tool_choice, JSON.stringify(request)).toEqual(choice)
    expect((await sent({ toolChoice: 'required' })).body).not.toHaveProperty('tool_choice')
  })

  it('S2-38 the provider’s own tools are sent beside the others', async () => {
    const search = { type: 'web_search_20250305', name: 'web_search' }
    const { body } = await sent({ tools: [tool('look')], providerOptions: { tools: [search] } })
    expect(body.tools).toMatchObject([{ name: 'look' }, { ...search, cache_control: { type: 'ephemeral' } }])
  })

  it('a conversation with calls but no tools is sent with placeholders that must not be called', async () => {
    const { body } = await sent({ messages: [...hello, calls(call('a'), call('b', 'odd name!')), result('a'), result('b')] })
    expect(body.tools).toMatchObject([
      { name: 'look', input_schema: { type: 'object' } },
      { name: 'odd_name_', input_schema: { type: 'object' } },
    ])
    expect(body.tool_choice).toEqual({ type: 'none' })
  })

  it('`strict` is sent to models that accept it', async () => {
    const strict = { ...tool('look'), function: { ...tool('look').function, strict: true } }
    expect((await sent({ tools: [strict] })).body.tools).toMatchObject([{ strict: true }])
    const old = await sent({ tools: [strict] }, { model: 'claude-3-5-haiku-20241022' })
    expect(old.body.tools).not.toMatchObject([{ strict: true }])
    expect(old.warnings.join()).toContain('`strict`')
  })
})

describe('messages', () => {
  it('S2-52 S2-55 S2-58 Q25 S4-13 calls keep their text, and the results of a turn are in one user message, before the user’s text', async () => {
    const { turns, system } = await turnsOf([
      { role: 'system', content: 'Be brief.' },
      ...hello,
      { role: 'assistant', content: 'I look.', toolCalls: [call('toolu_a'), call('toolu_b', 'fail', '')] },
      result('toolu_a', 'of a'),
      result('toolu_b', 'Error: no', true),
      { role: 'user', content: 'And?' },
      calls(call('toolu_c')),
      result('toolu_c', ''),
    ])
    expect(system).toEqual([{ type: 'text', text: 'Be brief.' }])
    expect(turns).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', id: 'toolu_a', name: 'look', input: { a: 1 } },
          { type: 'tool_use', id: 'toolu_b', name: 'fail', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'toolu_a', content: 'of a' },
          { type: 'tool_result', tool_use_id: 'toolu_b', content: 'Error: no', is_error: true },
          { type: 'text', text: 'And?' },
        ],
      },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_c', name: 'look', input: { a: 1 } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_c' }] },
    ])
  })

  it('Q25 no text block is empty, and a user message is first', async () => {
    const { turns, system } = await turnsOf([
      { role: 'system', content: '  ' },
      { role: 'assistant', content: 'Welcome.' },
      { role: 'user', content: '' },
      { role: 'assistant', content: '\n' },
      {
        role: 'user',
        content: [
          { type: 'text', text: '' },
          { type: 'text', text: 'Go on.' },
        ],
      },
    ])
    expect(system).toBeUndefined()
    expect(turns).toEqual([
      { role: 'user', content: [{ type: 'text', text: '[the conversation begins here]' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'Welcome.' }] },
      {
        role: 'user',
        content: [
          { type: 'text', text: '[empty message]' },
          { type: 'text', text: 'Go on.' },
        ],
      },
    ])
  })

  it('H18 ids, names and arguments of another provider are converted, alike in call and result', async () => {
    const ids = ['functions.look:0', 'x'.repeat(300), '', 'toolu_ok']
    const messages = [...hello, calls(...ids.map((id) => call(id, 'a.b/c', '{"broken'))), ...ids.map((id) => result(id))]
    const { turns } = await turnsOf(messages)
    const [, assistant, user] = turns as { content: JsonObject[] }[]
    const sentIds = assistant?.content.map(({ id }) => id)
    expect(sentIds).toEqual(user?.content.map(({ tool_use_id: id }) => id))
    expect(new Set(sentIds).size).toBe(4)
    expect(sentIds?.[3]).toBe('toolu_ok')
    expect(assistant?.content[0]).toMatchObject({ name: 'a_b_c', input: {} })
  })

  it('images and files are sent in messages and results; unsupported ones become a note', async () => {
    const parts = [
      { type: 'image' as const, url: 'https://example.com/a.png' },
      { type: 'image' as const, url: 'data:image/png;base64,aGk=' },
      { type: 'image' as const, data: 'aGk=', mediaType: 'image/jpg' },
      { type: 'file' as const, data: 'aGk=', mediaType: 'application/pdf', name: 'a.pdf' },
      { type: 'file' as const, url: 'data:text/markdown;charset=utf-8,%23%20Hi%2C%20%C3%BC' },
      { type: 'file' as const, url: 'https://example.com/a.pdf' },
      { type: 'image' as const, data: 'aGk=', mediaType: 'image/tiff' },
      { type: 'file' as const, data: 'aGk=', mediaType: 'audio/mp3' },
    ]
    const blocks = [
      { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } },
      { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: 'aGk=' } },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'aGk=' }, title: 'a.pdf' },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: '# Hi, ü' } },
      { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } },
      { type: 'text', text: '[image not shown]' },
      { type: 'text', text: '[file not shown]' },
    ]
    const messages: ChatMessage[] = [{ role: 'user', content: parts }, calls(call('a')), result('a', parts)]
    const { turns, warnings } = await turnsOf(messages)
    expect(turns).toMatchObject([{ content: blocks }, {}, { content: [{ type: 'tool_result', tool_use_id: 'a', content: blocks }] }])
    expect(warnings).toHaveLength(2)
    const textOnly = await turnsOf(messages, {}, { quirks: { contentParts: [] } })
    expect(textOnly.turns).toMatchObject([{ content: parts.map(({ type }) => ({ type: 'text', text: `[${type} not shown]` })) }, {}, {}])
  })

  it('a frozen conversation is sent identically in every request', async () => {
    await using server = await startStrictProvider({ script: () => 'ok' })
    const model = createModel({ provider: 'anthropic', model: 'claude-x', apiKey: 'sk-ant-test', baseURL: server.url })
    const messages = [...hello, calls(call('a')), result('a'), ...hello].map((message) => Object.freeze(message))
    for (let round = 0; round < 2; round++) await model.generate({ messages })
    expect(server.requests[1]?.rawBody).toBe(server.requests[0]?.rawBody)
  })
})

describe('prompt caching', () => {
  const messages: ChatMessage[] = [
    { role: 'system', content: 'One.' },
    { role: 'system', content: 'Two.' },
    ...hello,
    calls(call('a')),
    result('a'),
  ]
  const mark = { cache_control: { type: 'ephemeral' } }

  it('marks the last tool, the end of the system prompt, the last turn, and the end of the previous request', async () => {
    const { body, request } = await sent({ messages, tools: [tool('look'), tool('other')] })
    expect(body.tools).toMatchObject([{ name: 'look' }, { name: 'other', ...mark }])
    expect(body.system).toEqual([
      { type: 'text', text: 'One.' },
      { type: 'text', text: 'Two.', ...mark },
    ])
    expect(body.messages).toMatchObject([{ content: [mark] }, {}, { content: [{ tool_use_id: 'a', ...mark }] }])
    // Four are the most that are allowed.
    expect(request.rawBody.split('cache_control')).toHaveLength(5)
  })

  it('finds what the previous request cached, however many calls came in between', async () => {
    const ids = Array.from({ length: 30 }, (_, at) => `c${at}`)
    const many = [...messages, calls(...ids.map((id) => call(id))), ...ids.map((id) => result(id))]
    const before = await sent({ messages, tools: [tool('look')] })
    const after = await sent({ messages: many, tools: [tool('look')] })
    const marksOf = (body: JsonObject) =>
      (body.messages as { content: object[] }[]).flatMap(({ content }, at) =>
        content.some((block) => 'cache_control' in block) ? [at] : [],
      )
    expect(marksOf(before.body)).toEqual([0, 2])
    expect(marksOf(after.body)).toEqual([2, 4])
    expect((after.body.messages as unknown[])[2]).toEqual((before.body.messages as unknown[])[2])
    expect(after.request.rawBody.split('cache_control')).toHaveLength(5)
  })

  it('is turned off by the quirk, or for a model or request by `providerOptions`, which can also turn it on', async () => {
    const off = { promptCaching: false }
    const ways: [Partial<ModelRequest>, Partial<ModelSettings>, boolean][] = [
      [{}, { quirks: off }, false],
      [{}, { providerOptions: off }, false],
      [{ providerOptions: off }, {}, false],
      [{ providerOptions: { promptCaching: true } }, { quirks: off }, true],
    ]
    for (const [request, settings, marks] of ways) {
      const { request: seen } = await sent({ messages, tools: [tool('look')], ...request }, settings)
      expect(seen.rawBody.includes('cache_control')).toBe(marks)
      expect(seen.body).not.toHaveProperty('promptCaching')
    }
  })

  it('never marks thinking', async () => {
    const layout: JsonObject[] = [{ text: 2 }, { block: { type: 'thinking', thinking: 'Hm.', signature: 's' } }]
    const answer: ChatMessage = { role: 'assistant', content: 'So', providerData: { provider: 'anthropic', data: { layout } } }
    const { body } = await sent({ messages: [...hello, answer] }, { model: 'claude-sonnet-4-5' })
    expect(body.messages).toMatchObject([{}, { content: [{ type: 'text', cache_control: { type: 'ephemeral' } }] }])
    expect(JSON.stringify(body.messages)).not.toContain('thinking')
  })
})

describe('settings', () => {
  it('max_tokens is always sent: the requested limit, or the model’s', async () => {
    expect((await sent({ maxOutputTokens: 77 })).body.max_tokens).toBe(77)
    const defaults = {
      'claude-opus-4-8': 64000,
      'claude-opus-4-20250514': 32000,
      'claude-3-5-sonnet-latest': 8192,
      'claude-3-opus-20240229': 4096,
    }
    for (const [model, most] of Object.entries(defaults)) expect((await sent({}, { model })).body.max_tokens, model).toBe(most)
    expect((await sent({}, { quirks: { maxTokens: 99 } })).body.max_tokens).toBe(99)
  })

  it('sampling settings are sent to models that accept them; the others are warnings', async () => {
    const all = { temperature: 0.3, topP: 0.9, stop: ['END'], seed: 1, frequencyPenalty: 1, presencePenalty: 1 }
    const old = await sent(all, { model: 'claude-haiku-4-5-20251001' })
    expect(old.body).toMatchObject({ temperature: 0.3, stop_sequences: ['END'] })
    expect(old.body).not.toHaveProperty('top_p')
    expect(old.warnings).toHaveLength(4)
    expect((await sent({ topP: 0.9 }, { model: 'claude-haiku-4-5' })).body.top_p).toBe(0.9)
    expect((await sent({ temperature: 1.5 }, { model: 'claude-haiku-4-5' })).body.temperature).toBe(1)
    const fresh = await sent(all, { model: 'claude-sonnet-5' })
    expect(fresh.body).not.toHaveProperty('temperature')
    expect(fresh.warnings).toHaveLength(5)
  })

  it('the reasoning effort is sent in the form that each model accepts', async () => {
    const asked = async (model: string, effort: ModelRequest['reasoningEffort'], more: Partial<ModelRequest> = {}) => {
      const { body, warnings } = await sent({ ...(effort === undefined ? {} : { reasoningEffort: effort }), ...more }, { model })
      return { thinking: body.thinking, effort: (body.output_config as JsonObject | undefined)?.effort, warnings }
    }
    expect(await asked('claude-opus-5', 'xhigh')).toEqual({ thinking: { type: 'adaptive' }, effort: 'xhigh', warnings: [] })
    expect(await asked('claude-sonnet-4-6', 'xhigh')).toEqual({ thinking: { type: 'adaptive' }, effort: 'max', warnings: [] })
    expect(await asked('claude-haiku-4-5', 'low')).toMatchObject({ thinking: { type: 'enabled', budget_tokens: 4096 } })
    expect(await asked('claude-haiku-4-5', 'high', { maxOutputTokens: 5000 })).toMatchObject({ thinking: { budget_tokens: 4000 } })
    expect(await asked('claude-haiku-4-5', 'high', { maxOutputTokens: 500 })).toMatchObject({
      thinking: undefined,
      warnings: [expect.stringContaining('1024')],
    })
    expect(await asked('claude-fable-5', 'none')).toMatchObject({ thinking: undefined, warnings: [expect.stringContaining("'none'")] })
    expect(await asked('claude-3-opus-20240229', 'high')).toMatchObject({ thinking: undefined, warnings: [expect.any(String)] })
    expect(await asked('claude-haiku-4-5', 'low', { temperature: 0.5 })).toMatchObject({
      warnings: [expect.stringContaining('temperature')],
    })
  })

  it('a forced call and thinking exclude each other: the choice wins if thinking can be left out', async () => {
    const forced = { tools: [tool('look')], toolChoice: 'required' as const }
    const budget = await sent({ ...forced, reasoningEffort: 'high' }, { model: 'claude-haiku-4-5' })
    expect([budget.body.tool_choice, budget.body.thinking, budget.warnings.length]).toEqual([{ type: 'any' }, undefined, 1])
    const byDefault = await sent(forced, { model: 'claude-sonnet-5' })
    expect([byDefault.body.tool_choice, byDefault.body.thinking]).toEqual([{ type: 'any' }, { type: 'disabled' }])
    for (const [settings, request] of [
      [{ model: 'claude-fable-5' }, forced],
      [{}, { ...forced, providerOptions: { thinking: { type: 'adaptive' } } }],
    ] as const) {
      const always = await sent(request, settings)
      expect(always.body).not.toHaveProperty('tool_choice')
      expect(always.warnings.join()).toContain('tool choice')
    }
  })

  it('provider options are fields of the body; the conversation is not among them', async () => {
    const { body, warnings } = await sent({ providerOptions: { metadata: { user_id: 'u' }, top_k: 5, system: 'no', messages: [] } })
    expect(body).toMatchObject({ metadata: { user_id: 'u' }, top_k: 5, messages: [{ role: 'user' }] })
    expect(body).not.toHaveProperty('system')
    expect(warnings).toHaveLength(1)
  })

  it('invalid quirks are refused when the model is created', () => {
    for (const quirks of [
      { maxTokens: 0 },
      { thinks: 'never' },
      { reasoningEffort: { low: 1 } },
      { seedField: 'seed' },
      { apiVersion: 1 },
    ]) {
      expect(() => createModel({ provider: 'anthropic', model: 'claude-x', quirks: quirks as never })).toThrow(/quirks\./)
    }
  })
})
