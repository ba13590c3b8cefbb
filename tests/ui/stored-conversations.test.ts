import type { Message } from '@ag-ui/client'
import {
  convertToModelMessages,
  parseJsonEventStream,
  type UIMessage,
  type UIMessageChunk,
  uiMessageChunkSchema,
  validateUIMessages,
} from 'ai'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import { createLogger } from '../../src/core/logger.ts'
import type { MessageInput } from '../../src/core/message-input.ts'
import { type ChatMessage, hasToolCalls } from '../../src/core/messages.ts'
import { memorySessions } from '../../src/sessions/memory.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { ask, defineTool } from '../../src/tools/tool.ts'
import { inputFromAgUi, inputFromUI, messagesFromUI, messagesToAgUi, messagesToUI, toUIMessageResponse } from '../../src/ui/index.ts'
import { anyCharacter, anyUrl } from '../any-text.ts'
import { readChunks } from './chat.ts'

const logger = createLogger({ level: 'silent' })
const book = defineTool({
  name: 'book',
  description: 'Books.',
  execute: (_args, { answer }) => (answer === undefined ? ask({ about: 'For how many?' }) : `for ${answer}`),
})
const word = fc.string({ maxLength: 12, unit: anyCharacter })
const said = fc.string({ minLength: 1, maxLength: 12, unit: anyCharacter })
const mediaType = fc.constantFrom('application/pdf', 'text/plain; charset=utf-8')
const url = anyUrl
const bytes = fc.base64String({ minLength: 4, maxLength: 12 })
const plain = { noNullPrototype: true }
const part = fc.oneof(
  fc.record({ type: fc.constant('text' as const), text: word }, plain),
  fc.record({ type: fc.constant('image' as const), url, mediaType: fc.constant('image/png') }, { ...plain, requiredKeys: ['type', 'url'] }),
  fc.record({ type: fc.constant('image' as const), data: bytes, mediaType: fc.constant('image/png') }, plain),
  fc.record({ type: fc.constant('file' as const), url, mediaType, name: said }, { ...plain, requiredKeys: ['type', 'url'] }),
  fc.record(
    { type: fc.constant('file' as const), data: bytes, mediaType, name: said },
    { ...plain, requiredKeys: ['type', 'data', 'mediaType'] },
  ),
)
const content = fc.oneof(word, fc.array(part, { minLength: 1, maxLength: 3 }))
const result = fc.oneof(
  word,
  fc.json(),
  fc.constantFrom('{"id": 12345678901234567890}', '[1, 2.5, "\\u00e9"]', 'The call to `look` was refused: no'),
  content,
)
const args = fc.oneof(
  fc.constantFrom('', '{"cut', '"text"', '[1]', '{"id":12345678901234567890}'),
  fc.object({ withNullPrototype: false }).map((value) => JSON.stringify(value)),
)
const turn = fc.oneof(
  fc.record({ kind: fc.constant('user' as const), content }),
  fc.record({ kind: fc.constant('system' as const), text: word }),
  fc.record({ kind: fc.constant('answer' as const), text: said }),
  fc.record({
    kind: fc.constant('calls' as const),
    text: word,
    calls: fc.array(fc.record({ args, result, isError: fc.boolean() }), { minLength: 1, maxLength: 3 }),
  }),
)

/** Any valid conversation. */
const conversation = fc.array(turn, { maxLength: 8 }).map((turns): ChatMessage[] =>
  turns.flatMap((one, at): ChatMessage[] => {
    if (one.kind === 'user') return [{ role: 'user', content: one.content, id: `user ${at}` }]
    if (one.kind === 'system') return [{ role: 'system', content: one.text }]
    if (one.kind === 'answer') return [{ role: 'assistant', content: one.text }]
    const calls = one.calls.map((call, index) => ({ ...call, id: `call_${at}_${index}` }))
    return [
      {
        role: 'assistant',
        content: one.text,
        toolCalls: calls.map(({ id, args }) => ({ id, type: 'function', function: { name: 'look', arguments: args } })),
      },
      ...calls.map(
        ({ id, result, isError }): ChatMessage => ({
          role: 'tool',
          toolCallId: id,
          name: 'look',
          content: result,
          ...(isError ? { isError } : {}),
        }),
      ),
    ]
  }),
)

/** What a model sees, in one form: JSON without spaces, a single text as a text, bytes as a URL. */
function seen(messages: readonly MessageInput[], { resultsAreText = false } = {}): unknown[] {
  return (messages as ChatMessage[]).map((message) => {
    const { role, content } = message
    const isText = message.role === 'tool' && (resultsAreText || message.isError === true)
    const shown = typeof content === 'string' ? content : content.map(seenPart).filter((one) => !isText || one.type === 'text')
    const [first] = shown
    const texts =
      Array.isArray(shown) && shown.every(({ type }) => type === 'text')
        ? shown.map((one) => ('text' in one ? one.text : '')).join('')
        : shown
    const body = role === 'tool' && (typeof texts === 'string' || first === undefined) ? compact(String(texts)) : texts
    if (hasToolCalls(message))
      return {
        ...message,
        toolCalls: message.toolCalls.map(({ function: { arguments: text, ...called }, ...call }) => ({
          ...call,
          function: { ...called, arguments: compact(text === '' ? '{}' : text) },
        })),
      }
    return { ...message, content: body }
  })
}

const seenPart = (one: Exclude<ChatMessage['content'], string>[number]) => {
  if (one.type === 'text' || !('data' in one)) return one
  const { data, ...rest } = one
  return { ...rest, url: `data:${one.mediaType};base64,${data}` }
}

function compact(text: string): string {
  if (/\d{16}/.test(text)) return text
  try {
    return JSON.stringify(JSON.parse(text))
  } catch {
    return text
  }
}

describe('messagesToUI', () => {
  it('P3.10 keeps everything a model sees, through JSON and back', async () => {
    await fc.assert(
      fc.asyncProperty(conversation, async (messages) => {
        const shown: UIMessage[] = messagesToUI(messages, { system: 'keep' })
        const stored = JSON.parse(JSON.stringify(shown))
        expect(seen(messagesFromUI(stored, { system: 'keep' }))).toEqual(seen(messages))
        if (shown.length > 0) await validateUIMessages({ messages: shown })
        expect(new Set(shown.map(({ id }) => id)).size).toBe(shown.length)
        expect(messagesToUI(messages, { system: 'keep' })).toEqual(shown)
      }),
      { numRuns: 150 },
    )
  })

  it('P3.10 shows a run as the page has seen it', async () => {
    const look = defineTool({ name: 'look', description: 'Looks.', execute: () => ({ left: 3 }) })
    const broken = defineTool({ name: 'broken', description: 'Breaks.', execute: () => Promise.reject(new Error('no paper')) })
    const model = scriptedModel([
      { text: 'I look.', toolCalls: [{ name: 'look' }, { name: 'broken' }, { name: 'look', args: '{"cut' }] },
      'Three.',
    ])
    const runner = new AgentRunner({ model, tools: [look, broken], logger })
    const question: UIMessage = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'How many?' }] }
    const run = runner.stream(messagesFromUI([question]))
    const body = toUIMessageResponse(run, { originalMessages: [question] }).body as ReadableStream<Uint8Array>
    const { messages } = await run.result
    const frames = parseJsonEventStream({ stream: body, schema: uiMessageChunkSchema })
    const chunks = frames.pipeThrough(
      new TransformStream({ transform: (one, out) => out.enqueue((one as { value: UIMessageChunk }).value) }),
    )
    const { message } = await readChunks(chunks)
    const [asked, answered] = messagesToUI(messages)
    expect(asked).toMatchObject({ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'How many?' }] })
    expect(answered?.id).toBe(message?.id)
    expect(answered?.parts).toHaveLength(message?.parts.length ?? 0)
    for (const [at, part] of (answered?.parts ?? []).entries()) expect(message?.parts[at]).toMatchObject(part)
    expect(await convertToModelMessages(messagesToUI(messages))).toHaveLength(4)
  })

  it('P3.10 makes ids of positions for messages without one, also on a later page of the conversation', () => {
    const messages: MessageInput[] = [
      { role: 'assistant', content: 'Welcome.' },
      { role: 'user', content: 'one' },
      { role: 'assistant', content: '1' },
      { role: 'user', content: 'two', id: 'u2' },
      { role: 'assistant', content: '2' },
    ]
    const ids = messagesToUI(messages).map(({ id }) => id)
    expect(ids).toEqual(['message-0', 'message-1', 'message-1-1', 'u2', 'u2-1'])
    expect(messagesToUI(messages.slice(1), { from: 1 }).map(({ id }) => id)).toEqual(ids.slice(1))
    expect(() => messagesToUI(messages, { from: -1 })).toThrow('Expected `from` to be an integer ≥ 0, got `-1`')
  })

  it('P3.10 leaves out system messages, and gives unanswered calls a result', () => {
    const call = { id: 'c1', type: 'function' as const, function: { name: 'look', arguments: '{}' } }
    const shown = messagesToUI([
      { role: 'system', content: 'The password is 1234.' },
      { role: 'user', content: 'go' },
      { role: 'assistant', content: '', toolCalls: [call] },
      { role: 'user', content: 'and?' },
    ])
    expect(JSON.stringify(shown)).not.toContain('1234')
    expect(shown.map(({ id, parts }) => [id, parts.at(-1)])).toEqual([
      ['message-1', { type: 'text', text: 'go', state: 'done' }],
      ['message-1-1', { type: 'tool-look', toolCallId: 'c1', input: {}, state: 'output-error', errorText: expect.any(String) }],
      ['message-3', { type: 'text', text: 'and?', state: 'done' }],
    ])
  })

  it('P3.10 shows what waits in a result or a session, in place of what it replaces', async () => {
    const refund = defineTool({ name: 'refund', description: 'Pays.', approval: true, execute: () => 'paid' })
    const sessions = memorySessions()
    const turn = { toolCalls: [{ name: 'refund' }, { name: 'book' }] }
    const runner = new AgentRunner({ model: scriptedModel(['Hello.', turn]), tools: [refund, book], sessions, logger })
    await runner.run({ role: 'user', content: 'hi', id: 'u1' }, { session: 'chat' })
    const { messages, pending } = await runner.run(
      { role: 'user', content: 'refund', id: 'u1' },
      { session: { id: 'chat', replaces: 'u1' } },
    )
    const { waiting } = (await sessions.get('chat')) ?? {}
    const shown = messagesToUI(await sessions.read('chat'), { waiting })
    expect(shown).toEqual(messagesToUI(messages, { waiting: { pending } }))
    expect(shown.map(({ id }) => id)).toEqual(['u1', 'u1-1'])
    const [, approval, booking, question] = shown[1]?.parts ?? []
    expect(approval).toMatchObject({ state: 'approval-requested', approval: { id: pending[0]?.fingerprint } })
    expect(booking).toMatchObject({ state: 'input-available' })
    expect(question).toMatchObject({ type: 'data-question', data: { about: 'For how many?' } })
  })

  it('P3.2 P3.10 shows what nested agents wait for as the page has seen it, even if ids are equal', async () => {
    const refund = defineTool({ name: 'refund', description: 'Pays.', approval: true, execute: () => 'paid' })
    const turn = {
      toolCalls: [
        { id: 'c', name: 'refund' },
        { id: 'd', name: 'book' },
      ],
    }
    const inner = new AgentRunner({ model: scriptedModel([turn]), tools: [refund, book], logger })
    const helper = asTool(inner, { name: 'helper', description: 'Helps.' })
    const outer = { toolCalls: [{ id: 'c', name: 'helper', args: { task: 'pay' } }] }
    const run = new AgentRunner({ model: scriptedModel([outer]), tools: [helper], logger }).stream('go')
    const body = toUIMessageResponse(run).body as ReadableStream<Uint8Array>
    const { messages, pending } = await run.result
    const frames = parseJsonEventStream({ stream: body, schema: uiMessageChunkSchema })
    const chunks = frames.pipeThrough(
      new TransformStream({ transform: (one, out) => out.enqueue((one as { value: UIMessageChunk }).value) }),
    )
    const { message } = await readChunks(chunks)
    const [, shown] = messagesToUI(messages, { waiting: { pending } })
    for (const [at, part] of (shown?.parts ?? []).entries()) expect(message?.parts[at]).toMatchObject(JSON.parse(JSON.stringify(part)))
    expect(shown?.parts.map((one) => ('state' in one ? [one.type, one.state] : one.type))).toEqual([
      'step-start',
      ['tool-helper', 'output-available'],
      ['tool-refund', 'approval-requested'],
      ['tool-book', 'input-available'],
      'data-question',
    ])
    // They are not calls of the conversation.
    expect(messagesFromUI([shown]).flatMap((one) => (hasToolCalls(one) ? one.toolCalls.map(({ id }) => id) : []))).toEqual(['c'])
  })
})

describe('messagesToUI with arbitrary arguments and results', () => {
  it('P3.10 returns messages that can be sent and read again', () => {
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
    for (const text of [`{"a":${deep}}`, deep, '{"__proto__":{"a":1}}', '\ud800', '{"id":123456789012345678901}', 'x'.repeat(1_000_000)]) {
      const call = { id: 'c1', type: 'function' as const, function: { name: 'look', arguments: text } }
      const messages: ChatMessage[] = [
        { role: 'assistant', content: '', toolCalls: [call] },
        { role: 'tool', toolCallId: 'c1', name: 'look', content: text },
      ]
      const read = messagesFromUI(JSON.parse(JSON.stringify(messagesToUI(messages))))
      expect(read).toMatchObject([{ toolCalls: [{ function: { arguments: text.toWellFormed() } }] }, { content: text.toWellFormed() }])
    }
  })
})

describe('messagesToAgUi', () => {
  it('P3.10 keeps texts, images, files, calls and results, through JSON and back', () => {
    fc.assert(
      fc.property(conversation, (messages) => {
        const shown: Message[] = messagesToAgUi(messages, { system: 'keep' }) as Message[]
        const body = JSON.parse(JSON.stringify({ threadId: 't', runId: 'r', messages: shown }))
        expect(seen(inputFromAgUi(body, { system: 'keep' }).messages, { resultsAreText: true })).toEqual(
          seen(messages, { resultsAreText: true }),
        )
        expect(new Set(shown.map(({ id }) => id)).size).toBe(shown.length)
      }),
      { numRuns: 150 },
    )
  })
})

describe('inputFromUI', () => {
  const text = (value: string, id: string) => ({ id, role: 'user', parts: [{ type: 'text', text: value }] })
  const body = (fields: object) => ({
    id: 'chat',
    messages: [text('one', 'u1'), { id: 'a1', role: 'assistant', parts: [] }, text('two', 'u2')],
    ...fields,
  })

  it.each([
    ['a new message', { trigger: 'submit-message' }, undefined],
    ['regenerate()', { trigger: 'regenerate-message' }, 'u2'],
    ['regenerate() of a reply', { trigger: 'regenerate-message', messageId: 'a2' }, 'u2'],
    ['an edited message', { trigger: 'submit-message', messageId: 'u2' }, 'u2'],
    ['a body without a trigger', {}, undefined],
  ])('P3.11 reads what %s replaces', (_what, fields, replaces) => {
    const input = inputFromUI(body(fields))
    expect(input).toMatchObject({ id: 'chat', input: [{ role: 'user', content: 'two', id: 'u2' }], replaces })
  })

  it('P3.11 ignores answers to calls, and messages of other roles', () => {
    const messages = [text('one', 'u1'), { id: 'a1', role: 'assistant', parts: [] }]
    expect(inputFromUI(body({ messages, trigger: 'submit-message', messageId: 'a1' }))).toMatchObject({ input: [], replaces: undefined })
    const system = [{ id: 's', role: 'system', parts: [{ type: 'text', text: 'Obey.' }] }]
    expect(() => inputFromUI(body({ messages: system }))).toThrow('messages[0].role')
    expect(inputFromUI(body({ messages: [] }))).toMatchObject({ input: [], messages: [] })
  })

  it.each([
    ['no object', 'x', 'the body'],
    ['no id', { messages: [] }, 'id'],
    ['no messages', { id: 'chat' }, 'messages'],
    ['another trigger', body({ trigger: 'explode' }), 'trigger'],
    ['a message id that is none', body({ messageId: 7 }), 'messageId'],
    ['an endless id', body({ messages: [text('x', 'i'.repeat(513))] }), 'messages[0].id'],
  ])('P3.11 refuses %s', (_what, given, place) => {
    expect(() => inputFromUI(given)).toThrow(`Expected ${place} to be`)
  })
})
