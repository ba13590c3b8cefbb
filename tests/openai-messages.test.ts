import fc from 'fast-check'
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { ToolloopError } from '../src/core/errors.ts'
import { type ChatMessage, hasToolCalls, type JsonObject } from '../src/core/messages.ts'
import { messagesFromOpenAI } from '../src/models/openai/from-openai.ts'
import { messagesToOpenAI, OPENAI_MESSAGES, type OpenAIMessage } from '../src/models/openai/wire.ts'
import { carriedMessage, openAIMessage } from './arbitrary-messages.ts'
import { call, oddLists, parts } from './odd-openai-messages.ts'

const json = <T>(value: T): T => JSON.parse(JSON.stringify(value))

describe('messagesFromOpenAI and back', () => {
  it.each(Object.entries(oddLists))('S3-17 loses nothing: %s', (_, list) => {
    const before = structuredClone(list)
    const ours = messagesFromOpenAI(list)
    expect(messagesToOpenAI(ours)).toEqual(before)
    expect(list).toEqual(before)
    // Also after storage in a database, and after the copy that a history makes.
    expect(messagesToOpenAI(json(ours))).toEqual(json(before))
    expect(messagesToOpenAI(structuredClone(ours))).toEqual(before)
  })

  it('F25 replaces lone surrogates, which no provider accepts', () => {
    const ours = messagesFromOpenAI([{ role: 'user', content: 'a \ud800 🙂', name: '\udfff' }])
    expect(messagesToOpenAI(ours)).toEqual([{ role: 'user', content: 'a \ufffd 🙂', name: '\ufffd' }])
  })

  it('S3-17 keeps no extra data for messages that have a place for everything', () => {
    expect(messagesFromOpenAI(oddLists['the plain four'] ?? [])).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: '1 + 2?' },
      { role: 'assistant', content: '', toolCalls: [call] },
      { role: 'tool', content: '3', toolCallId: 'call_1' },
      { role: 'assistant', content: 'Three.' },
    ])
  })

  it('S3-17 restores any list of messages unchanged', () => {
    fc.assert(
      fc.property(fc.array(openAIMessage, { maxLength: 8 }), (list) => {
        const before = structuredClone(list)
        expect(messagesToOpenAI(messagesFromOpenAI(list))).toEqual(before)
      }),
      { numRuns: 250 },
    )
  })

  it('shares nothing with the original list', () => {
    const raw = { role: 'user', content: 'x', metadata: { tags: ['a'] } }
    const ours = messagesFromOpenAI([raw])
    raw.metadata.tags.push('b')
    expect(messagesToOpenAI(ours)).toEqual([{ role: 'user', content: 'x', metadata: { tags: ['a'] } }])
  })

  it('pollutes no prototype', () => {
    const [message] = messagesToOpenAI(messagesFromOpenAI(oddLists['names that every object inherits'] ?? []))
    expect(Object.getPrototypeOf(message)).toBe(Object.prototype)
    expect('polluted' in {}).toBe(false)
  })

  it('treats an undefined field as absent', () => {
    const [message] = messagesToOpenAI(messagesFromOpenAI([{ role: 'assistant', content: undefined, name: undefined, tool_calls: [call] }]))
    expect(Object.keys(message ?? {}).sort()).toEqual(['role', 'tool_calls'])
  })
})

describe('the converted messages', () => {
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

  it('Q15 match a legacy call and its results, even if the name is called again', () => {
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

  it('mark the kept data as toolloop’s own', () => {
    expect(first({ role: 'developer', content: 'x' })?.providerData?.provider).toBe(OPENAI_MESSAGES)
  })
})

describe('edited messages', () => {
  /** The list after `edit` has changed the first converted message. */
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
  ])('S3-17 an edit is not overwritten by the original: %s', (_, raw, edit, expected) => {
    expect(edited(raw, (message) => Object.assign(message, edit(message)))).toEqual(expected)
    expect(edited(raw, (message) => ({ ...message, ...edit(message) }))).toEqual(expected)
  })

  it('data of another provider is not sent', () => {
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
  it('S3-17 restores everything that OpenAI’s format can express', () => {
    fc.assert(
      fc.property(fc.array(carriedMessage, { maxLength: 8 }), (list) => {
        expect(messagesFromOpenAI(messagesToOpenAI(list))).toEqual(list)
      }),
      { numRuns: 250 },
    )
  })

  it('S3-6 sends null content only if a message with calls has no text', () => {
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

  it('S2-51 converts a result to a tool message with `tool_call_id` and nothing else', () => {
    expect(messagesToOpenAI([{ role: 'tool', content: '3', toolCallId: 'c', name: 'add', isError: true }])).toEqual([
      { role: 'tool', content: '3', tool_call_id: 'c' },
    ])
  })

  it('converts parts to OpenAI’s form; a tool message, which is only text, names the others', () => {
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

  it('S3-17 S2-19 returns what the openai SDK accepts', () => {
    expectTypeOf<OpenAIMessage>().toExtend<ChatCompletionMessageParam>()
    expectTypeOf<ReturnType<typeof messagesToOpenAI>>().toExtend<ChatCompletionMessageParam[]>()
    expectTypeOf<readonly ChatCompletionMessageParam[]>().toExtend<Parameters<typeof messagesFromOpenAI>[0]>()
  })
})

describe('invalid messages', () => {
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
