import { describe, expect, it } from 'vitest'
import type { ChatMessage, JsonObject } from '../../src/core/messages.ts'
import type { ModelRequest } from '../../src/models/chat-model.ts'
import { createModel } from '../../src/models/create-model.ts'
import { messagesFromOpenAI } from '../../src/models/openai/from-openai.ts'
import { moonshotSchema } from '../../src/models/openai/moonshot-schema.ts'
import { startStrictProvider } from './rules/strict-provider.ts'

/** What arrives at the provider. */
async function sent(provider: string, model: string, request: Partial<ModelRequest>): Promise<JsonObject> {
  await using server = await startStrictProvider({ script: ['ok'] })
  const path = provider.startsWith('anthropic') || provider === 'google' ? '' : '/v1'
  const asked = createModel({ provider, model, apiKey: 'sk-ant-k', baseURL: `${server.url}${path}`, maxRetries: 0 })
  await asked.generate({ messages: [says('user', 'Hello')], ...request })
  return server.requests[0]?.body ?? {}
}

async function messagesOf(provider: string, model: string, messages: ChatMessage[]): Promise<JsonObject[]> {
  const body = await sent(provider, model, { messages })
  return (body.messages ?? body.input ?? body.contents) as JsonObject[]
}

const says = (role: 'user' | 'assistant', content: string) => ({ role, content }) as ChatMessage
const call: ChatMessage = {
  role: 'assistant',
  content: '',
  toolCalls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }],
}
const cached = { cache_control: { type: 'ephemeral' } }

describe('an answer', () => {
  it.each(['moonshot/kimi-k2.6', 'mistral/mistral-medium-latest', 'openai-chat/gpt-4o', 'custom/m'])(
    'F26 without text is not sent to %s',
    async (name) => {
      const [provider = '', model = ''] = name.split('/')
      const messages = [says('user', 'One'), says('assistant', ' '), says('user', 'Two')]
      expect(await messagesOf(provider, model, messages)).toEqual([says('user', 'One'), says('user', 'Two')])
    },
  )

  it.each([
    ['anthropic', 'claude-opus-4-6'],
    ['anthropic', 'claude-fable-5'],
    ['anthropic-compatible', 'anthropic/claude-sonnet-4.6'],
    ['openrouter', 'anthropic/claude-opus-4.8'],
    ['custom', 'us.anthropic.claude-sonnet-5-v1:0'],
    ['mistral', 'mistral-medium-latest'],
  ])('F26 does not end a conversation with %s/%s', async (provider, model) => {
    const messages = await messagesOf(provider, model, [says('user', 'One'), says('assistant', 'Two')])
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
    expect(JSON.stringify(messages.at(-1)?.content)).toContain('[continue]')
  })

  it.each([
    ['anthropic', 'claude-sonnet-4-5'],
    ['anthropic', 'claude-opus-4-20250514'],
    ['openrouter', 'anthropic/claude-sonnet-4.5'],
    ['custom', 'm'],
  ])('F26 may end a conversation with %s/%s', async (provider, model) => {
    const messages = await messagesOf(provider, model, [says('user', 'One'), says('assistant', 'Two')])
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
  })

  it('F26 has no blanks at its end if it ends a conversation with Claude', async () => {
    const [, answer] = await messagesOf('anthropic', 'claude-sonnet-4-5', [says('user', 'One'), says('assistant', 'The sky is \n')])
    expect(answer).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'The sky is', ...cached }] })
  })

  it('F26 goes back to Claude without the thinking at its end', async () => {
    const thought = (position: string) => ({ block: { type: 'thinking', thinking: position, signature: 's' } })
    const answer = (content: string, ...layout: JsonObject[]): ChatMessage => ({
      role: 'assistant',
      content,
      providerData: { provider: 'anthropic', data: { layout } },
    })
    const messages = await messagesOf('anthropic', 'claude-opus-4-6', [
      says('user', 'One'),
      answer('', thought('only')),
      says('user', 'Two'),
      answer('Text', thought('first'), { text: 4 }, thought('last')),
      says('user', 'Three'),
    ])
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
    expect(messages[1]?.content).toEqual([
      { type: 'thinking', thinking: 'first', signature: 's' },
      { type: 'text', text: 'Text' },
    ])
  })
})

it('F26 a failure without content goes to Claude with a note', async () => {
  const failure: ChatMessage = { role: 'tool', toolCallId: 'c1', content: ' ', isError: true }
  const messages = await messagesOf('anthropic', 'claude-opus-4-6', [says('user', 'One'), call, failure])
  expect(messages.at(-1)?.content).toEqual([{ type: 'tool_result', tool_use_id: 'c1', content: '[no output]', is_error: true, ...cached }])
})

describe('an image', () => {
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const starts = { png, jpeg: '/9j/4AAQSkZJRgABAQ==', gif: 'R0lGODlhAQABAAAAACw=', webp: 'UklGRiIAAABXRUJQVlA4IA==' }
  const apis = [
    ['anthropic', 'claude-opus-4-6'],
    ['custom', 'm'],
    ['openai-responses', 'gpt-5.2'],
    ['google', 'gemini-3-flash'],
  ] as const

  it.each(apis)('F27 is sent to %s with the type of its bytes, in messages and in results', async (provider, model) => {
    for (const [type, data] of Object.entries(starts)) {
      const told = type === 'png' ? 'image/jpeg' : 'image/png'
      const images: ChatMessage['content'] = [
        { type: 'image', data, mediaType: told },
        { type: 'image', url: `data:${told};base64,${data}` },
      ]
      const messages = [{ role: 'user', content: images }, call, { role: 'tool', toolCallId: 'c1', content: images }] as ChatMessage[]
      const text = JSON.stringify(await messagesOf(provider, model, messages))
      expect(text.split(`image/${type}`)).toHaveLength(5)
      expect(text).not.toContain(told)
    }
  })

  it('F27 keeps its type if its bytes are not known', async () => {
    const image = { type: 'image' as const, data: 'AAAA', mediaType: 'image/heic' }
    expect(JSON.stringify(await messagesOf('custom', 'm', [{ role: 'user', content: [image] }]))).toContain('data:image/heic;base64,AAAA')
  })
})

describe('the schema of a tool', () => {
  const parameters = {
    type: 'object',
    properties: {
      skill: { type: 'string', description: 'A skill.', anyOf: [{ enum: ['a'] }, { minLength: 3 }] },
      source: { description: 'Anything.' },
      asset: { $ref: '#/$defs/Asset', description: 'An asset.', default: null },
      list: { type: 'array' },
      level: { type: ['string', 'null'], enum: ['low', null], description: 'A level.' },
      mode: { const: 'fast' },
      wrapped: { allOf: [{ type: 'object', properties: {} }], description: 'Wrapped.' },
      target: { oneOf: [{ required: ['id'] }, { $ref: '#/$defs/Asset' }], type: 'object', properties: { id: { type: 'string' } } },
    },
    required: ['skill', 'missing'],
    $defs: { Asset: { type: 'object', properties: { id: {} } } },
  }
  const any = ['string', 'number', 'boolean', 'object', 'array', 'null']

  it.each([
    ['moonshot', 'kimi-k2.6'],
    ['custom', 'moonshotai/kimi-k3'],
    ['openrouter', 'moonshotai/kimi-k2-thinking'],
    ['dashscope', 'kimi-k2.5'],
  ])('F28 is sent to %s/%s in forms that Moonshot accepts', async (provider, model) => {
    const { tools } = await sent(provider, model, {
      tools: [{ type: 'function', function: { name: 'look', description: 'L.', parameters } }],
    })
    const [tool] = tools as { function?: { parameters: JsonObject }; input_schema?: JsonObject }[]
    expect(tool?.function?.parameters ?? tool?.input_schema).toEqual({
      type: 'object',
      properties: {
        skill: {
          description: 'A skill.',
          anyOf: [
            { type: 'string', enum: ['a'] },
            { type: 'string', minLength: 3 },
          ],
        },
        source: { type: any, description: 'Anything.' },
        asset: { $ref: '#/$defs/Asset', description: 'An asset.' },
        list: { type: 'array', items: { type: any } },
        level: { description: 'A level.', anyOf: [{ type: 'string', enum: ['low'] }, { type: 'null' }] },
        mode: { type: 'string', enum: ['fast'] },
        wrapped: { type: 'object', properties: {}, description: 'Wrapped.' },
        target: {
          anyOf: [{ type: 'object', properties: { id: { type: 'string' } }, required: ['id'] }, { $ref: '#/$defs/Asset' }],
        },
      },
      required: ['skill'],
      $defs: { Asset: { type: 'object', properties: { id: { type: any } } } },
    })
  })

  it('F28 is not changed for others, nor if Moonshot accepts it', async () => {
    const { tools } = await sent('custom', 'm', { tools: [{ type: 'function', function: { name: 'look', parameters } }] })
    expect(JSON.stringify(tools)).toContain('"anyOf":[{"enum":["a"]},{"minLength":3}]')
    const plain = { type: 'object', properties: { a: { type: 'array', items: { type: 'string' } } }, required: ['a'] }
    expect(moonshotSchema(plain)).toEqual(plain)
  })

  it('F28 has the types of its values for Moonshot', () => {
    expect(moonshotSchema({ enum: [null, 'a', 1] })).toEqual({
      anyOf: [{ type: 'string', enum: ['a'] }, { type: 'number', enum: [1] }, { type: 'null' }],
    })
    expect(moonshotSchema({ const: null })).toEqual({ type: 'null' })
    expect(moonshotSchema({ enum: [[1], [2]] })).toEqual({ type: 'array', enum: [[1], [2]] })
    expect(moonshotSchema({ type: 'string', enum: ['a', null] })).toEqual({ type: 'string', enum: ['a'] })
    expect(moonshotSchema({ type: ['integer', 'string'], enum: [1, 2] })).toEqual({ type: 'integer', enum: [1, 2] })
  })

  it('F28 is not changed for Moonshot if it would become huge', () => {
    let schema: JsonObject = { minimum: 1 }
    for (let depth = 0; depth < 7; depth++) schema = { not: schema }
    expect(moonshotSchema(schema)).toBe(schema)
  })
})

describe('a conversation with calls', () => {
  const messages = [says('user', 'One'), call, { role: 'tool', toolCallId: 'c1', content: 'Seen.' }] as ChatMessage[]

  it.each([
    ['custom', 'gemini-3.1-pro-preview'],
    ['custom', 'google/gemini-2.5-flash'],
    ['ollama', 'gemini-3-flash-preview:cloud'],
  ])('F29 has the names of tools in the results for %s/%s', async (provider, model) => {
    expect((await messagesOf(provider, model, messages)).at(-1)).toMatchObject({ role: 'tool', name: 'look' })
  })

  it('F29 has no names in the results for others', async () => {
    expect((await messagesOf('custom', 'm', messages)).at(-1)).not.toHaveProperty('name')
  })

  it.each(['bedrock-claude-sonnet-4-6', 'anthropic/claude-opus-4-6', 'bedrock/amazon.nova-pro-v1:0'])(
    'F29 has definitions of the tools for %s behind a gateway, though none are offered',
    async (model) => {
      const { tools, tool_choice: choice } = await sent('custom', model, { messages })
      expect(tools).toMatchObject([{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }])
      expect(choice).toBeUndefined()
      expect(await sent('custom', model, {})).not.toHaveProperty('tools')
      expect(await sent('custom', 'm', { messages })).not.toHaveProperty('tools')
    },
  )
})

it.each(['gpt-5.1', 'openai/o3', 'gpt-6-astra'])(
  'F1 %s behind a gateway gets its token limit in the field that it accepts',
  async (model) => {
    const { max_tokens: old, max_completion_tokens: most } = await sent('custom', model, { maxOutputTokens: 100 })
    expect([old, most]).toEqual([undefined, 100])
  },
)

it.each([
  ['custom', 'Jane Doe', 'Jane_Doe'],
  ['openai-chat', '\u674e Li <li@x.org>', '_Li_li_x_org_'],
  ['custom', '\u674e', undefined],
  ['mistral', 'Jane', undefined],
] as const)('F32 the name of an author is accepted by %s: %j as %j', async (provider, name, expected) => {
  await using server = await startStrictProvider({ script: ['ok'] })
  const model = createModel({ provider, model: 'mistral-x', apiKey: 'k', baseURL: server.baseURL, maxRetries: 0 })
  const { warnings = [] } = await model.generate({ messages: [{ role: 'user', content: 'Hello', name }] })
  const [message] = (server.requests[0]?.body.messages ?? []) as JsonObject[]
  expect(message?.name).toBe(expected)
  expect(warnings.some((warning) => warning.includes('`name`'))).toBe(expected === undefined)
})

it('F32 the name of an author may be null in an imported conversation', async () => {
  const [body] = await messagesOf('custom', 'm', messagesFromOpenAI([{ role: 'user', content: 'Hello', name: null }]))
  expect(body).toMatchObject({ role: 'user', content: 'Hello' })
})
