import fc from 'fast-check'
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { ToolloopError } from '../src/errors.ts'
import { type ChatMessage, hasToolCalls, type JsonObject } from '../src/messages.ts'
import { messagesFromOpenAI, messagesToOpenAI, OPENAI_MESSAGES, type OpenAIMessage } from '../src/openai-messages.ts'

const call = { id: 'call_1', type: 'function', function: { name: 'add', arguments: '{"a":1}' } }
const parts = [
  { type: 'text', text: 'one ' },
  { type: 'text', text: 'two' },
]

/** What lists of messages found in the wild hold, by what is odd about it. */
const odd: Record<string, object[]> = {
  'nothing at all': [],
  'the plain four': [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: '1 + 2?' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', content: '3', tool_call_id: 'call_1' },
    { role: 'assistant', content: 'Three.' },
  ],
  'empty texts': [
    { role: 'system', content: '' },
    { role: 'user', content: '' },
    { role: 'assistant', content: '' },
    { role: 'tool', content: '', tool_call_id: '' },
  ],
  'the developer role': [{ role: 'developer', content: 'Be brief.', name: 'dev' }],
  'the developer role, in parts': [{ role: 'developer', content: parts }],
  'parts in every role': [
    { role: 'system', content: parts },
    { role: 'user', content: parts },
    { role: 'assistant', content: parts },
    { role: 'tool', content: parts, tool_call_id: 'x' },
  ],
  'no parts': [
    { role: 'system', content: [] },
    { role: 'user', content: [] },
    { role: 'assistant', content: [] },
    { role: 'tool', content: [], tool_call_id: 'x' },
  ],
  'one part, or parts that join to another message’s text': [
    { role: 'user', content: [{ type: 'text', text: 'one two' }] },
    { role: 'system', content: [{ type: 'text', text: 'one two' }] },
    { role: 'system', content: 'one two' },
  ],
  images: [
    { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://x/i.png' } }] },
    { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://x/i.png', detail: 'low' } }] },
    { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }] },
    { role: 'user', content: [{ type: 'image_url', image_url: 'https://not/an/object' }] },
    { role: 'user', content: [{ type: 'image_url' }] },
  ],
  files: [
    { role: 'user', content: [{ type: 'file', file: { file_data: 'data:application/pdf;base64,AA==', filename: 'a.pdf' } }] },
    { role: 'user', content: [{ type: 'file', file: { file_data: 'data:application/pdf;base64,AA==' } }] },
    { role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] },
    { role: 'user', content: [{ type: 'file', file: { file_id: 'file-1', file_data: 'data:,x', filename: 1 } }] },
  ],
  audio: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Listen:' },
        { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } },
      ],
    },
    { role: 'assistant', audio: { id: 'audio_1' } },
    { role: 'assistant', content: null, audio: null },
  ],
  'parts nobody has heard of': [
    {
      role: 'user',
      content: [{ type: 'video_url', video_url: { url: 'https://x' } }, { type: 'text' }, { text: 'untyped' }, {}, 'bare', null, 7],
    },
    { role: 'tool', content: [{ type: 'image_url', image_url: { url: 'https://x' } }, 'bare', null], tool_call_id: 'x' },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm' },
        { type: 'text', text: 'Yes.' },
      ],
    },
    { role: 'user', content: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }] },
  ],
  refusals: [
    { role: 'assistant', content: null, refusal: 'I can’t.' },
    { role: 'assistant', refusal: 'I can’t.' },
    { role: 'assistant', content: 'Well.', refusal: null },
    { role: 'assistant', content: 'Well.', refusal: 'No.' },
    { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'Well. ' },
        { type: 'refusal', refusal: 'No.' },
      ],
      refusal: 'No.',
    },
  ],
  'the legacy function call': [
    { role: 'assistant', content: null, function_call: { name: 'add', arguments: '{"a":1}' } },
    { role: 'function', name: 'add', content: '3' },
    { role: 'assistant', content: null, function_call: { name: 'add', arguments: '' } },
    { role: 'function', name: 'add', content: null },
    { role: 'function', name: 'nobody called', content: '4' },
    { role: 'assistant', content: 'Also text.', function_call: { name: 'no_arguments' } },
    { role: 'assistant', content: '', function_call: { name: 'object', arguments: { a: 1 } } },
    { role: 'assistant', content: 'x', function_call: null, tool_calls: null },
    { role: 'assistant', content: 'x', function_call: 'auto' },
  ],
  'both kinds of call': [{ role: 'assistant', content: null, function_call: { name: 'old', arguments: '{}' }, tool_calls: [call] }],
  'content null or absent': [
    { role: 'assistant', content: null },
    { role: 'assistant' },
    { role: 'assistant', tool_calls: [call] },
    { role: 'assistant', content: '', tool_calls: [call] },
    { role: 'assistant', content: 'x', tool_calls: [call] },
    { role: 'user', content: null },
    { role: 'user' },
    { role: 'system', content: null },
    { role: 'system' },
    { role: 'tool', content: null, tool_call_id: 'x' },
    { role: 'tool', tool_call_id: 'x' },
  ],
  'calls that are odd': [
    { role: 'assistant', content: null, tool_calls: [] },
    { role: 'assistant', content: 'x', tool_calls: [] },
    { role: 'assistant', content: null, tool_calls: [{ ...call, index: 0 }] },
    { role: 'assistant', content: null, tool_calls: [{ id: 'c', function: call.function }] },
    { role: 'assistant', content: null, tool_calls: [{ type: 'function', function: call.function }] },
    { role: 'assistant', content: null, tool_calls: [{ ...call, id: null }] },
    { role: 'assistant', content: null, tool_calls: [{ ...call, id: '' }, call, call] },
    { role: 'assistant', content: null, tool_calls: [{ ...call, id: 7 }] },
    { role: 'tool', content: '3', tool_call_id: 7 },
    { role: 'assistant', content: null, tool_calls: [{ ...call, function: { name: 'f', arguments: { a: 1 } } }] },
    { role: 'assistant', content: null, tool_calls: [{ ...call, function: { name: 'f', arguments: null } }] },
    { role: 'assistant', content: null, tool_calls: [{ ...call, function: { name: 'f' } }] },
    { role: 'assistant', content: null, tool_calls: [{ ...call, function: { name: '', arguments: 'not JSON', parsed_arguments: null } }] },
  ],
  'custom tools': [
    { role: 'assistant', content: null, tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'code', input: 'print(1)' } }, call] },
  ],
  'extras of other providers': [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ ...call, extra_content: { google: { thought_signature: 'c2ln' } } }],
      extra_content: { google: { thought: true } },
    },
    { role: 'assistant', content: 'x', reasoning_content: 'hm' },
    { role: 'assistant', content: '', reasoning_content: '', tool_calls: [call] },
    { role: 'assistant', content: null, reasoning: 'hm', reasoning_details: [{ type: 'reasoning.text', text: 'hm' }], prefix: true },
  ],
  'unknown fields': [
    { role: 'user', content: 'x', weight: 0, metadata: { a: [1, null, { b: false }] }, empty: {}, none: null },
    { role: 'tool', content: 'x', tool_call_id: 'x', name: 'add', is_error: true, artifact: [] },
    { role: 'assistant', content: 'x', annotations: [], parsed: null, id: 'msg_1' },
  ],
  'unknown fields with the names of ours': [
    { role: 'assistant', content: 'x', toolCalls: [call], providerData: { provider: 'x', data: {} } },
    { role: 'tool', content: 'x', tool_call_id: 'a', toolCallId: 'b', isError: true },
  ],
  'names that every object inherits': [
    JSON.parse('{"role":"user","content":"x","__proto__":{"polluted":true},"constructor":"c","toString":1,"hasOwnProperty":null}'),
    JSON.parse('{"role":"assistant","content":[{"type":"x","__proto__":{"a":1}}],"valueOf":{"__proto__":2}}'),
  ],
  names: [
    { role: 'system', content: 'x', name: 'a' },
    { role: 'user', content: 'x', name: '' },
    { role: 'assistant', content: 'x', name: 'b' },
    { role: 'assistant', content: null, name: 'c', tool_calls: [call] },
    { role: 'user', content: 'x', name: null },
    { role: 'user', content: 'x', name: 7 },
  ],
  'lone surrogates and other characters': [{ role: 'user', content: '\ud800 \u0000 \u2028 🙂', name: '\udfff' }],
}

const json = <T>(value: T): T => JSON.parse(JSON.stringify(value))

describe('messagesFromOpenAI and back', () => {
  it.each(Object.entries(odd))('S3-17 loses nothing: %s', (_, list) => {
    const before = structuredClone(list)
    const ours = messagesFromOpenAI(list)
    expect(messagesToOpenAI(ours)).toEqual(before)
    expect(list).toEqual(before)
    // Also after a trip through a database, and through the copy a history takes.
    expect(messagesToOpenAI(json(ours))).toEqual(json(before))
    expect(messagesToOpenAI(structuredClone(ours))).toEqual(before)
  })

  it('S3-17 keeps nothing beside messages that have a place for everything', () => {
    expect(messagesFromOpenAI(odd['the plain four'] ?? [])).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: '1 + 2?' },
      { role: 'assistant', content: '', toolCalls: [call] },
      { role: 'tool', content: '3', toolCallId: 'call_1' },
      { role: 'assistant', content: 'Three.' },
    ])
  })

  it('S3-17 any list of messages comes back as it was', () => {
    fc.assert(
      fc.property(fc.array(openAIMessage, { maxLength: 8 }), (list) => {
        const before = structuredClone(list)
        expect(messagesToOpenAI(messagesFromOpenAI(list))).toEqual(before)
      }),
      { numRuns: 500 },
    )
  })

  it('what is kept shares nothing with the list it came from', () => {
    const raw = { role: 'user', content: 'x', metadata: { tags: ['a'] } }
    const ours = messagesFromOpenAI([raw])
    raw.metadata.tags.push('b')
    expect(messagesToOpenAI(ours)).toEqual([{ role: 'user', content: 'x', metadata: { tags: ['a'] } }])
  })

  it('pollutes no prototype', () => {
    const [message] = messagesToOpenAI(messagesFromOpenAI(odd['names that every object inherits'] ?? []))
    expect(Object.getPrototypeOf(message)).toBe(Object.prototype)
    expect('polluted' in {}).toBe(false)
  })

  it('a field of undefined counts as absent', () => {
    const [message] = messagesToOpenAI(messagesFromOpenAI([{ role: 'assistant', content: undefined, name: undefined, tool_calls: [call] }]))
    expect(Object.keys(message ?? {}).sort()).toEqual(['role', 'tool_calls'])
  })
})

describe('what ours look like', () => {
  const first = (message: object) => messagesFromOpenAI([message])[0]

  it.each<[string, object, Partial<ChatMessage>]>([
    ['developer', { role: 'developer', content: 'x' }, { role: 'system', content: 'x' }],
    ['joined parts', { role: 'assistant', content: parts }, { role: 'assistant', content: 'one two' }],
    ['a refusal is what was said', { role: 'assistant', content: null, refusal: 'No.' }, { role: 'assistant', content: 'No.' }],
    [
      'a part of ours',
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'u' } }] },
      { content: [{ type: 'image', url: 'u' }] },
    ],
    [
      'parts that are not ours are named',
      { role: 'user', content: [{ type: 'input_audio', input_audio: {} }, 'bare', null] },
      {
        content: [
          { type: 'text', text: '[input_audio not shown]' },
          { type: 'text', text: 'bare' },
          { type: 'text', text: '[part not shown]' },
        ],
      },
    ],
    ['a tool’s name', { role: 'tool', content: '', tool_call_id: 'c', name: 'add' }, { role: 'tool', toolCallId: 'c', name: 'add' }],
    [
      'a custom call',
      { role: 'assistant', tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'code', input: 'x' } }] },
      { toolCalls: [{ id: 'c', type: 'function', function: { name: 'code', arguments: 'x' } }] },
    ],
    [
      'arguments as an object',
      { role: 'assistant', tool_calls: [{ ...call, function: { name: 'f', arguments: { a: 1 } } }] },
      { toolCalls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }] },
    ],
  ])('%s', (_, raw, expected) => {
    expect(first(raw)).toMatchObject(expected)
  })

  it('Q15 a legacy call and its results find each other, also when the name is called again', () => {
    const ours = messagesFromOpenAI([
      { role: 'user', content: 'x' },
      { role: 'assistant', content: null, function_call: { name: 'f', arguments: '1' } },
      { role: 'function', name: 'f', content: 'first' },
      { role: 'assistant', content: null, function_call: { name: 'f', arguments: '2' } },
      { role: 'function', name: 'f', content: 'second' },
    ])
    const ids = ours.flatMap((message) => (hasToolCalls(message) ? message.toolCalls.map(({ id }) => id) : []))
    expect(new Set(ids).size).toBe(2)
    expect(ours.flatMap((message) => (message.role === 'tool' ? [[message.toolCallId, message.content]] : []))).toEqual([
      [ids[0], 'first'],
      [ids[1], 'second'],
    ])
  })

  it('what is kept is marked as ours alone', () => {
    expect(first({ role: 'developer', content: 'x' })?.providerData?.provider).toBe(OPENAI_MESSAGES)
  })
})

describe('edited messages', () => {
  /** The list after `edit` has changed the first of our messages. */
  function edited(raw: object, edit: (message: ChatMessage) => ChatMessage): object | undefined {
    const [message] = messagesFromOpenAI([raw])
    if (message === undefined) throw new Error('no message')
    return messagesToOpenAI([edit(message)])[0]
  }

  it.each<[string, object, (message: ChatMessage) => object, object]>([
    ['content that was null', { role: 'assistant', content: null }, () => ({ content: 'new' }), { role: 'assistant', content: 'new' }],
    [
      'content that was absent',
      { role: 'assistant', tool_calls: [call] },
      () => ({ content: 'new' }),
      { role: 'assistant', content: 'new', tool_calls: [call] },
    ],
    ['content that was in parts', { role: 'system', content: parts }, () => ({ content: 'new' }), { role: 'system', content: 'new' }],
    [
      'content with a part that is not ours',
      { role: 'user', content: [{ type: 'input_audio', input_audio: {} }] },
      () => ({ content: 'new' }),
      { role: 'user', content: 'new' },
    ],
    [
      'content beside other fields',
      { role: 'assistant', content: parts, reasoning_content: 'hm' },
      () => ({ content: 'new' }),
      { role: 'assistant', content: 'new', reasoning_content: 'hm' },
    ],
    [
      'calls with extras',
      { role: 'assistant', content: null, tool_calls: [{ ...call, extra_content: {} }] },
      () => ({ toolCalls: [{ ...call, id: 'other' }] }),
      { role: 'assistant', content: null, tool_calls: [{ ...call, id: 'other' }] },
    ],
    [
      'a legacy call',
      { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } },
      () => ({ toolCalls: [call] }),
      { role: 'assistant', content: null, tool_calls: [call] },
    ],
    [
      'a legacy result’s id',
      { role: 'function', name: 'f', content: 'x' },
      () => ({ toolCallId: 'other' }),
      { role: 'tool', name: 'f', content: 'x', tool_call_id: 'other' },
    ],
    [
      'a legacy result’s content',
      { role: 'function', name: 'f', content: null },
      () => ({ content: 'new' }),
      { role: 'function', name: 'f', content: 'new' },
    ],
    ['the role', { role: 'developer', content: 'x' }, () => ({ role: 'user' }), { role: 'user', content: 'x' }],
    ['a name', { role: 'user', content: 'x', weight: 1 }, () => ({ name: 'new' }), { role: 'user', content: 'x', weight: 1, name: 'new' }],
    [
      'a name that was null',
      { role: 'user', content: 'x', name: null },
      () => ({ name: 'new' }),
      { role: 'user', content: 'x', name: 'new' },
    ],
    [
      'a tool’s name',
      { role: 'tool', content: 'x', tool_call_id: 'c', name: 'old' },
      () => ({ name: 'new' }),
      { role: 'tool', content: 'x', tool_call_id: 'c', name: 'new' },
    ],
    ['nothing', { role: 'developer', content: parts }, () => ({}), { role: 'developer', content: parts }],
  ])('S3-17 an edit is not overwritten by what was kept: %s', (_, raw, edit, expected) => {
    expect(edited(raw, (message) => Object.assign(message, edit(message)))).toEqual(expected)
    expect(edited(raw, (message) => ({ ...message, ...edit(message) }))).toEqual(expected)
  })

  it('what another provider attached is not sent', () => {
    expect(
      messagesToOpenAI([{ role: 'assistant', content: 'x', providerData: { provider: 'anthropic', data: { set: { a: { to: 1 } } } } }]),
    ).toEqual([{ role: 'assistant', content: 'x' }])
  })

  it.each<JsonObject>([{}, { set: null, dropped: 7 }, { set: { role: 1 }, dropped: ['content'] }, { set: [], dropped: [] }])(
    'kept data that is damaged is ignored: %j',
    (data) => {
      expect(messagesToOpenAI([{ role: 'user', content: 'x', providerData: { provider: OPENAI_MESSAGES, data } }])).toEqual([
        { role: 'user', content: 'x' },
      ])
    },
  )
})

describe('messagesToOpenAI and back', () => {
  it('S3-17 what OpenAI can carry of ours comes back as it was', () => {
    fc.assert(
      fc.property(fc.array(carriedMessage, { maxLength: 8 }), (list) => {
        expect(messagesFromOpenAI(messagesToOpenAI(list))).toEqual(list)
      }),
      { numRuns: 500 },
    )
  })

  it('S3-6 content is null on the wire only when a message with calls has no text', () => {
    const toolCalls: [typeof call & { type: 'function' }] = [{ ...call, type: 'function' }]
    expect(messagesToOpenAI([{ role: 'assistant', content: '', toolCalls }])[0]).toEqual({
      role: 'assistant',
      content: null,
      tool_calls: [call],
    })
    expect(messagesToOpenAI([{ role: 'assistant', content: ' ', toolCalls }])[0]).toEqual({
      role: 'assistant',
      content: ' ',
      tool_calls: [call],
    })
    expect(messagesToOpenAI([{ role: 'assistant', content: '', toolCalls: [] }])[0]).toEqual({ role: 'assistant', content: '' })
  })

  it('S2-51 a result becomes a tool message with `tool_call_id`, and only that', () => {
    expect(messagesToOpenAI([{ role: 'tool', content: '3', toolCallId: 'c', name: 'add', isError: true }])).toEqual([
      { role: 'tool', content: '3', tool_call_id: 'c' },
    ])
  })

  it('parts are written as OpenAI writes them; a tool message, which takes text only, names the others', () => {
    const content: ChatMessage['content'] = [
      { type: 'text', text: 'x' },
      { type: 'image', data: 'AA==', mediaType: 'image/png' },
      { type: 'file', url: 'data:,x', name: 'a.txt' },
      { type: 'file', data: 'AA==', mediaType: 'application/pdf' },
    ]
    expect(
      messagesToOpenAI([
        { role: 'user', content },
        { role: 'tool', content, toolCallId: 'c' },
      ]).map(({ content: on }) => on),
    ).toEqual([
      [
        { type: 'text', text: 'x' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
        { type: 'file', file: { file_data: 'data:,x', filename: 'a.txt' } },
        { type: 'file', file: { file_data: 'data:application/pdf;base64,AA==' } },
      ],
      [
        { type: 'text', text: 'x' },
        { type: 'text', text: '[image not shown]' },
        { type: 'text', text: '[file not shown]' },
        { type: 'text', text: '[file not shown]' },
      ],
    ])
  })

  it('S3-17 S2-19 the result is what the openai SDK takes', () => {
    expectTypeOf<OpenAIMessage>().toExtend<ChatCompletionMessageParam>()
    expectTypeOf<ReturnType<typeof messagesToOpenAI>>().toExtend<ChatCompletionMessageParam[]>()
    expectTypeOf<readonly ChatCompletionMessageParam[]>().toExtend<Parameters<typeof messagesFromOpenAI>[0]>()
  })
})

describe('what is no message', () => {
  it.each<[unknown, string]>([
    [null, 'Expected messages[1] to be an object, got `null`'],
    ['text', 'Expected messages[1] to be an object, got `"text"`'],
    [[], 'Expected messages[1] to be an object, got `[]`'],
    [
      { content: 'x' },
      "Expected messages[1] to be a message with `role` 'system', 'developer', 'user', 'assistant', 'tool' or 'function', got `{\"content\":\"x\"}`",
    ],
    [{ role: 'model', content: 'x' }, '\'function\', got `{"role":"model","content":"x"}`'],
    [
      { role: 'tool', content: 'x' },
      'Expected messages[1] to be a tool message with a `tool_call_id`, got `{"role":"tool","content":"x"}`',
    ],
    [{ role: 'user', content: 7 }, 'Expected messages[1] to be a message whose `content` is a string, null or an array of parts, got `7`'],
    [{ role: 'assistant', content: {} }, 'got `{}`'],
    [
      { role: 'assistant', tool_calls: [call, {}] },
      'Expected messages[1] to be a message whose `tool_calls[1]` has a `function` with a `name`, got `{}`',
    ],
    [{ role: 'assistant', tool_calls: [null] }, '`tool_calls[0]`'],
    [{ role: 'user', content: 'x', count: 1n }, 'Expected messages[1] to be plain JSON in `count`'],
  ])('is refused with its place: %#', (message, words) => {
    const list = JSON.parse('[{"role":"user","content":"x"}]')
    list.push(message)
    try {
      messagesFromOpenAI(list)
      expect.unreachable()
    } catch (error) {
      expect(error).toBeInstanceOf(ToolloopError)
      expect(error).toMatchObject({ code: 'invalid_message', fault: 'programmer', message: expect.stringContaining(words) })
    }
  })
})

const word = fc.string({ maxLength: 12, unit: 'binary' })
const name = fc.option(fc.string({ maxLength: 8 }), { nil: undefined })
const extras = fc.dictionary(
  fc.constantFrom('weight', 'metadata', 'reasoning_content', 'refusal', '__proto__', 'constructor', 'toolCalls'),
  fc.jsonValue(),
  {
    maxKeys: 2,
    noNullPrototype: true,
  },
)

/** An object without its undefined fields, as JSON would have it. */
function present(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

const openAIPart = fc.oneof(
  fc.record({ type: fc.constant('text'), text: word }),
  fc.record({ type: fc.constant('refusal'), refusal: word }),
  fc.record({
    type: fc.constant('image_url'),
    image_url: fc.record({ url: fc.webUrl(), detail: fc.constant('low') }, { requiredKeys: ['url'], noNullPrototype: true }),
  }),
  fc.record({
    type: fc.constant('file'),
    file: fc.record({ file_data: word, file_id: word, filename: word }, { requiredKeys: [], noNullPrototype: true }),
  }),
  fc.record({
    type: fc.constant('input_audio'),
    input_audio: fc.record({ data: word, format: fc.constantFrom('wav', 'mp3') }, { noNullPrototype: true }),
  }),
)
const openAIContent = fc.oneof(word, fc.constant(null), fc.constant(undefined), fc.array(openAIPart, { maxLength: 3 }))
const id = fc.oneof(fc.string({ minLength: 1, maxLength: 6 }), fc.nat(), fc.constant(undefined))
const openAICall = fc.oneof(
  fc
    .record({
      id,
      type: fc.constant('function'),
      function: fc.record(
        { name: word, arguments: fc.oneof(word, fc.json(), fc.object({ withNullPrototype: false })) },
        { noNullPrototype: true },
      ),
      extra_content: fc.option(fc.jsonValue(), { nil: undefined }),
    })
    .map((fields) => JSON.parse(JSON.stringify(fields))),
  fc.record({ id, type: fc.constant('custom'), custom: fc.record({ name: word, input: word }, { noNullPrototype: true }) }).map(present),
)
const openAIMessage: fc.Arbitrary<object> = fc
  .tuple(
    fc.oneof(
      fc.record({ role: fc.constantFrom('system', 'developer', 'user'), content: openAIContent, name }),
      fc.record({
        role: fc.constant('assistant'),
        content: openAIContent,
        name,
        tool_calls: fc.option(fc.array(openAICall, { maxLength: 3 }), { nil: undefined }),
      }),
      fc.record({
        role: fc.constant('assistant'),
        content: openAIContent,
        function_call: fc.oneof(
          fc.constant(null),
          fc.record({ name: fc.constantFrom('f', 'g'), arguments: fc.json() }, { noNullPrototype: true }),
        ),
      }),
      fc.record({ role: fc.constant('function'), content: openAIContent, name: fc.constantFrom('f', 'g') }),
      fc.record({ role: fc.constant('tool'), content: openAIContent, tool_call_id: fc.string({ maxLength: 6 }), name }),
    ),
    extras,
  )
  .map(([fields, more]) => JSON.parse(JSON.stringify(present(Object.fromEntries([...Object.entries(more), ...Object.entries(fields)])))))

const ourPart = fc.oneof(
  fc.record({ type: fc.constant('text' as const), text: word }, { noNullPrototype: true }),
  fc.record({ type: fc.constant('image' as const), url: word }, { noNullPrototype: true }),
  fc.record({ type: fc.constant('file' as const), url: word, name: word }, { requiredKeys: ['type', 'url'], noNullPrototype: true }),
)
const ourCall = fc.record(
  { id: word, type: fc.constant('function' as const), function: fc.record({ name: word, arguments: word }, { noNullPrototype: true }) },
  { noNullPrototype: true },
)
/** Messages of ours without what that wire has no place for: a result's name and failure, inline data, other providers' data. */
const carriedMessage: fc.Arbitrary<ChatMessage> = fc.oneof(
  fc.record(
    { role: fc.constant('system' as const), content: word, name: word },
    { requiredKeys: ['role', 'content'], noNullPrototype: true },
  ),
  fc.record(
    { role: fc.constant('user' as const), content: fc.oneof(word, fc.array(ourPart, { maxLength: 3 })), name: word },
    { requiredKeys: ['role', 'content'], noNullPrototype: true },
  ),
  fc.record(
    { role: fc.constant('assistant' as const), content: word, toolCalls: fc.array(ourCall, { minLength: 1, maxLength: 3 }), name: word },
    { requiredKeys: ['role', 'content'], noNullPrototype: true },
  ),
  fc.record({ role: fc.constant('tool' as const), content: word, toolCallId: word }, { noNullPrototype: true }),
)
