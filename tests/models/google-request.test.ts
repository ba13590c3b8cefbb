import { describe, expect, it } from 'vitest'
import type { ChatMessage, Json, JsonObject } from '../../src/core/messages.ts'
import type { ModelRequest, ModelResponse } from '../../src/models/chat-model.ts'
import type { ModelSettings } from '../../src/models/settings.ts'
import type { ToolDefinition } from '../../src/tools/tool.ts'
import { ask, hello, modelAt } from './google-replay.ts'
import { startStrictProvider } from './rules/strict-provider.ts'

interface Sent {
  body: JsonObject & { contents: { role: string; parts: JsonObject[] }[]; generationConfig?: JsonObject; toolConfig?: JsonObject }
  path: string
  response: ModelResponse
}

/** What arrives at the provider, which refuses what the real one would refuse. */
async function send(request: Partial<ModelRequest>, settings: Partial<ModelSettings> = {}): Promise<Sent> {
  await using server = await startStrictProvider({ script: ['ok'] })
  const response = await ask(modelAt(server, settings), request)
  const [{ body, path } = { body: {}, path: '' }] = server.requests
  return { body: { contents: [], ...body } as Sent['body'], path, response }
}

function tool(name: string, parameters?: JsonObject): ToolDefinition {
  return { type: 'function', function: { name, description: `Does ${name}.`, ...(parameters === undefined ? {} : { parameters }) } }
}

const city: JsonObject = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false }

function call(id: string, name: string, json: string) {
  return { id, type: 'function' as const, function: { name, arguments: json } }
}

describe('tools', () => {
  it('S2-28 S2-37 are function declarations, with their JSON Schema unchanged', async () => {
    const schema: JsonObject = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      ...city,
      oneOf: [{ required: ['city'] }],
      $defs: { a: { const: 1 } },
    }
    const { body, response } = await send({ tools: [tool('get_weather', schema), tool('refresh')] })
    const { $schema: _, ...sent } = schema
    expect(body.tools).toEqual([
      {
        functionDeclarations: [
          { name: 'get_weather', description: 'Does get_weather.', parametersJsonSchema: sent },
          { name: 'refresh', description: 'Does refresh.' },
        ],
      },
    ])
    expect(body).not.toHaveProperty('toolConfig')
    expect(response).not.toHaveProperty('warnings')
  })

  it('S2-37 have their schemas in the OpenAPI subset for models that accept nothing else', async () => {
    const schema: JsonObject = {
      $schema: 'x',
      type: 'object',
      additionalProperties: false,
      required: ['who', 'gone', 'kind'],
      $defs: {
        person: {
          type: 'object',
          properties: { name: { type: 'string', format: 'email', minLength: 1 }, boss: { $ref: '#/$defs/person' } },
        },
      },
      properties: {
        who: { $ref: '#/$defs/person', description: 'Who.' },
        kind: { type: 'string', enum: ['a', 'b', ''] },
        one: { const: 'x' },
        number: { type: ['integer', 'null'], exclusiveMinimum: 0, minimum: 1, enum: [1, 2] },
        either: { type: ['string', 'number'], description: 'Either.' },
        choice: { oneOf: [{ type: 'string' }, { type: 'null' }, { type: 'array', items: { type: 'boolean' } }] },
        maybe: { anyOf: [{ type: 'string', format: 'date-time' }, { type: 'null' }], description: 'Perhaps.' },
        both: { allOf: [{ properties: { a: { type: 'string' } }, required: ['a'] }, { properties: { b: { type: 'number' } } }] },
        list: { type: 'array' },
        pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }] },
        free: { type: 'object', additionalProperties: { type: 'string' } },
        any: {},
        odd: true,
      },
    }
    const { body } = await send(
      { tools: [tool('all', schema), tool('none', { type: 'object', properties: {} })] },
      { quirks: { toolSchema: 'openapi' } },
    )
    const name = { type: 'STRING', minLength: 1 }
    expect(body.tools).toEqual([
      {
        functionDeclarations: [
          {
            name: 'all',
            description: 'Does all.',
            parameters: {
              type: 'OBJECT',
              required: ['who', 'kind'],
              properties: {
                who: { type: 'OBJECT', description: 'Who.', properties: { name, boss: { type: 'OBJECT' } } },
                kind: { type: 'STRING', format: 'enum', enum: ['a', 'b'] },
                one: { type: 'STRING', format: 'enum', enum: ['x'] },
                number: { type: 'INTEGER', nullable: true, minimum: 1 },
                either: {
                  anyOf: [
                    { type: 'STRING', description: 'Either.' },
                    { type: 'NUMBER', description: 'Either.' },
                  ],
                },
                choice: { anyOf: [{ type: 'STRING' }, { type: 'ARRAY', items: { type: 'BOOLEAN' } }], nullable: true },
                maybe: { type: 'STRING', format: 'date-time', description: 'Perhaps.', nullable: true },
                both: { type: 'OBJECT', properties: { a: { type: 'STRING' }, b: { type: 'NUMBER' } }, required: ['a'] },
                list: { type: 'ARRAY', items: { type: 'STRING' } },
                pair: { type: 'ARRAY', items: { anyOf: [{ type: 'STRING' }, { type: 'NUMBER' }] } },
                free: { type: 'OBJECT' },
                any: { type: 'OBJECT' },
                odd: { type: 'OBJECT' },
              },
            },
          },
          { name: 'none', description: 'Does none.' },
        ],
      },
    ])
    expect((await send({ tools: [tool('w', city)] }, { model: 'gemini-1.5-pro' })).body.tools).toMatchObject([
      { functionDeclarations: [{ parameters: { type: 'OBJECT', properties: { city: { type: 'STRING' } }, required: ['city'] } }] },
    ])
  })

  it('S2-29 S2-30 S2-31 S2-32 are sent with all tool choices', async () => {
    const tools = [tool('get_weather', city)]
    const named = { type: 'function', function: { name: 'get_weather' } } as const
    const modes: [ModelRequest['toolChoice'], Json][] = [
      ['auto', { mode: 'AUTO' }],
      ['none', { mode: 'NONE' }],
      ['required', { mode: 'ANY' }],
      [named, { mode: 'ANY', allowedFunctionNames: ['get_weather'] }],
    ]
    for (const [toolChoice, functionCallingConfig] of modes) {
      const { body } = await send({ tools, ...(toolChoice === undefined ? {} : { toolChoice }) })
      expect(body.toolConfig).toEqual({ functionCallingConfig })
    }
    expect((await send({ toolChoice: 'required' })).body).not.toHaveProperty('toolConfig')
  })

  it('Q30 get other names if the API does not accept theirs; calls get the original names back', async () => {
    await using server = await startStrictProvider({ script: [{ toolCalls: [{ name: '_2fa', arguments: { city: 'Rome' } }] }, 'ok'] })
    const model = modelAt(server)
    const choice = { type: 'function', function: { name: '2fa' } } as const
    const { toolCalls } = await ask(model, { tools: [tool('2fa', city)], toolChoice: choice })
    expect(toolCalls).toMatchObject([{ function: { name: '2fa' } }])
    expect(server.requests[0]?.body.toolConfig).toEqual({ functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['_2fa'] } })
    await ask(model, {
      messages: [
        ...hello,
        { role: 'assistant', content: '', toolCalls },
        { role: 'tool', toolCallId: toolCalls[0]?.id ?? '', content: 'x' },
      ],
    })
    expect(server.requests[1]?.body.contents).toMatchObject([
      {},
      { parts: [{ functionCall: { name: '_2fa' } }] },
      { parts: [{ functionResponse: { name: '_2fa' } }] },
    ])
  })

  it('S2-38 include the provider’s own only through its options, beside the others', async () => {
    const providerOptions = { tools: [{ googleSearch: {} }], toolConfig: { includeServerSideToolInvocations: true } }
    const { body } = await send({ tools: [tool('look')], toolChoice: 'auto', providerOptions })
    expect(body.tools).toEqual([{ functionDeclarations: [{ name: 'look', description: 'Does look.' }] }, { googleSearch: {} }])
    expect(body.toolConfig).toEqual({ functionCallingConfig: { mode: 'AUTO' }, includeServerSideToolInvocations: true })
    expect((await send({ providerOptions: { tools: [{ googleSearch: {} }] } })).body.tools).toEqual([{ googleSearch: {} }])
  })

  it('lose settings without a field, with a warning', async () => {
    const strict: ToolDefinition = { type: 'function', function: { name: 'look', strict: true } }
    const { body, response } = await send({ tools: [strict], parallelToolCalls: false })
    expect(body).not.toHaveProperty('toolConfig')
    expect(response.warnings).toEqual([expect.stringContaining('`strict` of tool `look`'), expect.stringContaining('`parallelToolCalls`')])
  })
})

describe('messages', () => {
  const results: ChatMessage[] = [
    { role: 'tool', toolCallId: 'a', content: '24 °C' },
    { role: 'tool', toolCallId: 'b', content: 'no such city', isError: true, name: 'misnamed' },
  ]
  const calls: ChatMessage = {
    role: 'assistant',
    content: 'I look. ',
    toolCalls: [call('a', 'get_weather', '{"city": "Rome"}'), call('b', 'get_weather', '{"city":')],
  }

  it('S2-53 S2-56 S2-57 S2-58 Q29 have calls in a model turn and their results together in a user turn, wrapped', async () => {
    for (const provider of ['google', 'vertex']) {
      const { body } = await send(
        { messages: [...hello, calls, ...results, { role: 'user', content: 'And?' }] },
        { provider, model: 'gemini-2.5-pro' },
      )
      expect(body.contents).toEqual([
        { role: 'user', parts: [{ text: 'Hello' }] },
        {
          role: 'model',
          parts: [
            { text: 'I look. ' },
            { functionCall: { id: 'a', name: 'get_weather', args: { city: 'Rome' } } },
            { functionCall: { id: 'b', name: 'get_weather', args: {} } },
          ],
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { id: 'a', name: 'get_weather', response: { output: '24 °C' } } },
            { functionResponse: { id: 'b', name: 'get_weather', response: { error: 'no such city' } } },
          ],
        },
        { role: 'user', parts: [{ text: 'And?' }] },
      ])
    }
  })

  it('S2-53 have no ids if those are not accepted', async () => {
    const { body } = await send({ messages: [...hello, calls, ...results] }, { quirks: { callIds: false } })
    expect(body.contents.slice(1)).toMatchObject([
      { parts: [{}, { functionCall: { name: 'get_weather' } }, {}] },
      { parts: [{ functionResponse: { name: 'get_weather' } }, {}] },
    ])
    expect(JSON.stringify(body.contents)).not.toContain('"id"')
  })

  it('have system messages from the start in the system instruction', async () => {
    const messages: ChatMessage[] = [{ role: 'system', content: 'Be brief.' }, { role: 'system', content: 'Be kind.' }, ...hello]
    const { body } = await send({ messages })
    expect(body.systemInstruction).toEqual({ parts: [{ text: 'Be brief.' }, { text: 'Be kind.' }] })
    expect(body.contents).toEqual([{ role: 'user', parts: [{ text: 'Hello' }] }])
  })

  it('are fixed if the API refuses them: no user message first, an empty message, two model turns in a row', async () => {
    const messages: ChatMessage[] = [
      { role: 'assistant', content: 'Welcome.' },
      { role: 'user', content: '' },
      { role: 'assistant', content: '' },
      { role: 'assistant', content: 'One' },
      calls,
      ...results,
    ]
    const { body } = await send({ messages })
    expect(body.contents.map(({ role, parts }) => [role, parts[0]?.text])).toEqual([
      ['user', '[the conversation begins here]'],
      ['model', 'Welcome.'],
      ['user', '[empty message]'],
      ['model', 'One'],
      ['user', undefined],
    ])
  })

  it('convert ids and names of other providers, alike in call and result', async () => {
    const id = `functions.look:0/${'x'.repeat(80)}`
    const odd: ChatMessage = { role: 'assistant', content: '', toolCalls: [call(id, 'look at.me', '[1]')] }
    const { body } = await send({ messages: [...hello, odd, { role: 'tool', toolCallId: id, content: 'x' }] })
    const functionCall = body.contents[1]?.parts[0]?.functionCall as JsonObject
    expect(functionCall).toEqual({ id: expect.stringMatching(/^[a-zA-Z0-9]{32}$/), name: 'look_at_me', args: {} })
    expect(body.contents[2]?.parts[0]).toMatchObject({ functionResponse: { id: functionCall.id, name: 'look_at_me' } })
  })

  it('have {} for arguments that are nested too deeply to be serialized', async () => {
    const deep = `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`
    const odd: ChatMessage = { role: 'assistant', content: '', toolCalls: [call('a', 'look', deep)] }
    const { body } = await send({ messages: [...hello, odd, { role: 'tool', toolCallId: 'a', content: 'x' }] })
    expect(body.contents[1]?.parts[0]).toMatchObject({ functionCall: { name: 'look', args: {} } })
  })

  it('have images and files as bytes and by URL', async () => {
    const content: ChatMessage['content'] = [
      { type: 'text', text: 'See' },
      { type: 'image', url: 'data:image/jpg;base64,aGk=' },
      { type: 'image', data: 'aGk=', mediaType: 'image/png' },
      { type: 'image', url: 'https://example.com/a/b.PNG?x=1.gif' },
      { type: 'file', url: 'gs://bucket/doc.pdf', name: 'doc' },
      { type: 'file', url: 'https://example.com/files/abc', mediaType: 'video/mp4' },
      { type: 'file', url: 'https://example.com/files/abc' },
    ]
    const { body, response } = await send({ messages: [{ role: 'user', content }] })
    expect(body.contents[0]?.parts).toEqual([
      { text: 'See' },
      { inlineData: { mimeType: 'image/jpeg', data: 'aGk=' } },
      { inlineData: { mimeType: 'image/png', data: 'aGk=' } },
      { fileData: { fileUri: 'https://example.com/a/b.PNG?x=1.gif', mimeType: 'image/png' } },
      { fileData: { fileUri: 'gs://bucket/doc.pdf', mimeType: 'application/pdf' } },
      { fileData: { fileUri: 'https://example.com/files/abc', mimeType: 'video/mp4' } },
      { fileData: { fileUri: 'https://example.com/files/abc' } },
    ])
    expect(response).not.toHaveProperty('warnings')
  })

  it('have images in results if the model accepts them, otherwise a note', async () => {
    const image = { type: 'image', data: 'aGk=', mediaType: 'image/png' } as const
    const asked: ChatMessage = { role: 'assistant', content: '', toolCalls: [call('a', 'look', '{}')] }
    const result: ChatMessage = {
      role: 'tool',
      toolCallId: 'a',
      content: [{ type: 'text', text: 'A map.' }, image, { type: 'image', url: 'https://example.com/x.png' }],
    }
    const newest = await send({ messages: [...hello, asked, result] })
    expect(newest.body.contents[2]?.parts).toEqual([
      {
        functionResponse: {
          id: 'a',
          name: 'look',
          response: { output: 'A map.\n[image not shown]' },
          parts: [{ inlineData: { mimeType: 'image/png', data: 'aGk=' } }],
        },
      },
    ])
    expect(newest.response.warnings).toEqual([expect.stringContaining("A part of type 'image'")])
    const older = await send({ messages: [...hello, asked, result] }, { model: 'gemini-2.5-flash' })
    expect(older.body.contents[2]?.parts).toMatchObject([
      { functionResponse: { response: { output: 'A map.\n[image 1, shown below]\n[image not shown]' } } },
    ])
    const none = await send({ messages: [{ role: 'user', content: [image] }] }, { quirks: { contentParts: [] } })
    expect(none.body.contents[0]?.parts).toEqual([{ text: '[image not shown]' }])
  })
})

describe('settings', () => {
  it('S2-47 send sampling in the generation config, if the model accepts it', async () => {
    const sampling = { temperature: 1.5, topP: 0.5, maxOutputTokens: 100, stop: ['a'], seed: 7, frequencyPenalty: 1, presencePenalty: 1 }
    const newest = await send(sampling)
    const fields = { temperature: 1.5, topP: 0.5, maxOutputTokens: 100, stopSequences: ['a'], seed: 7 }
    expect(newest.body.generationConfig).toEqual({ ...fields, thinkingConfig: { includeThoughts: true } })
    expect(newest.response.warnings).toEqual([expect.stringContaining('`frequencyPenalty`'), expect.stringContaining('`presencePenalty`')])
    const older = await send(sampling, { model: 'models/gemini-2.0-flash' })
    expect(older.body.generationConfig).toEqual({ ...fields, frequencyPenalty: 1, presencePenalty: 1 })
    const many = await send({ stop: ['1', '2', '3', '4', '5', '6'] })
    expect(many.body.generationConfig?.stopSequences).toEqual(['1', '2', '3', '4', '5'])
    expect(many.response.warnings).toEqual([expect.stringContaining('first 5')])
  })

  it('send the reasoning effort as levels, budgets, or not at all', async () => {
    const thinking = async (reasoningEffort: NonNullable<ModelRequest['reasoningEffort']>, model: string) =>
      (await send({ reasoningEffort }, { model })).body.generationConfig?.thinkingConfig
    const includeThoughts = true
    expect(await thinking('high', 'gemini-3.8-flash')).toEqual({ includeThoughts, thinkingLevel: 'HIGH' })
    expect(await thinking('minimal', 'gemini-3.8-flash')).toEqual({ includeThoughts, thinkingLevel: 'LOW' })
    expect(await thinking('minimal', 'gemini-3-flash-preview')).toEqual({ includeThoughts, thinkingLevel: 'MINIMAL' })
    expect(await thinking('medium', 'gemini-3-pro-preview')).toEqual({ includeThoughts, thinkingLevel: 'HIGH' })
    expect(await thinking('none', 'gemini-2.5-flash')).toEqual({ includeThoughts: false, thinkingBudget: 0 })
    expect(await thinking('low', 'publishers/google/models/gemini-2.5-pro')).toEqual({ includeThoughts, thinkingBudget: 1024 })
    expect(await thinking('high', 'gemini-2.0-flash')).toBeUndefined()
    const { response } = await send({ reasoningEffort: 'none' }, { model: 'gemini-3.8-flash' })
    expect(response.warnings).toEqual([expect.stringContaining("`reasoningEffort: 'none'`")])
  })

  it('are overridden by provider options one by one; they come from the request itself', async () => {
    const providerOptions: JsonObject = {
      generationConfig: { topK: 3, temperature: 0, thinkingConfig: { thinkingBudget: 5 } },
      safetySettings: [],
      contents: [],
      cachedContent: 'cachedContents/1',
    }
    const { body, response } = await send({ temperature: 1, topP: 0.5, reasoningEffort: 'low', providerOptions })
    expect(body.generationConfig).toEqual({ topP: 0.5, topK: 3, temperature: 0, thinkingConfig: { thinkingBudget: 5 } })
    expect(body).toMatchObject({ safetySettings: [], cachedContent: 'cachedContents/1', contents: [{}] })
    expect(response.warnings).toEqual([expect.stringContaining('`contents`')])
  })

  it('S2-47 make one request to the model’s address, streamed or not', async () => {
    expect((await send({})).path).toBe('/v1/models/gemini-3.5-flash:streamGenerateContent?alt=sse')
    expect((await send({ stream: false })).path).toBe('/v1/models/gemini-3.5-flash:generateContent')
    expect((await send({}, { model: 'tunedModels/mine' })).path).toBe('/v1/tunedModels/mine:streamGenerateContent?alt=sse')
  })
})
