import fc from 'fast-check'
import { describe, expect, expectTypeOf, it } from 'vitest'
import {
  type AIMessage,
  type AssistantToolCallMessage,
  addUsage,
  type ChatMessage,
  type Content,
  hasToolCalls,
  isJsonObject,
  isToolResult,
  noUsage,
  type StandardChatMessage,
  type ToolCall,
  type ToolMessage,
  type ToolResultMessage,
  textOf,
  type Usage,
} from '../src/core/messages.ts'
import { isBase64 } from '../src/core/text/base64.ts'
import type { ToolChoice } from '../src/models/chat-model.ts'
import type { ToolDefinition, ToolFunction } from '../src/tools/tool.ts'

const call: ToolCall = { id: 'call_1', type: 'function', function: { name: 'add', arguments: '{"a":1}' } }

describe('the shapes of messages', () => {
  it('S2-4 S2-5 S2-6 S2-7 a function, a definition, a choice and a call have OpenAI’s form', () => {
    expectTypeOf<ToolFunction>().toEqualTypeOf<{
      name: string
      description?: string
      parameters?: Record<string, unknown>
      strict?: boolean
    }>()
    expectTypeOf<ToolDefinition>().toEqualTypeOf<{ type: 'function'; function: ToolFunction }>()
    expectTypeOf<ToolChoice>().toEqualTypeOf<'auto' | 'none' | 'required' | { type: 'function'; function: { name: string } }>()
    expectTypeOf<ToolCall>().toEqualTypeOf<{ id: string; type: 'function'; function: { name: string; arguments: string } }>()
  })

  it('S2-2 S2-8 S2-9 S2-10 S2-11 messages are camelCase, and a conversation consists of the three kinds', () => {
    const list: ChatMessage[] = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: '', toolCalls: [call] },
      { role: 'tool', content: '3', toolCallId: 'call_1', name: 'add' },
      { role: 'assistant', content: 'Three.' },
    ]
    expect(list).toHaveLength(5)
    expectTypeOf<StandardChatMessage['role']>().toEqualTypeOf<'system' | 'user' | 'assistant'>()
    expectTypeOf<{ role: 'assistant'; content: string; toolCalls: ToolCall[] }>().toExtend<AssistantToolCallMessage>()
    expectTypeOf<{ role: 'tool'; content: Content; toolCallId: string }>().toExtend<ToolResultMessage>()
    expectTypeOf<ToolResultMessage['name']>().toEqualTypeOf<string | undefined>()
    expectTypeOf<ChatMessage>().toEqualTypeOf<StandardChatMessage | AssistantToolCallMessage | ToolResultMessage>()
    expectTypeOf<ToolMessage>().toEqualTypeOf<ToolResultMessage>()
    expectTypeOf<{ role: 'tool'; content: string }>().not.toExtend<ChatMessage>()
  })

  it('S0-11 a result of `generate` always has its calls, an array', () => {
    expectTypeOf<AIMessage['toolCalls']>().toBeArray()
    expectTypeOf<undefined>().not.toExtend<AIMessage['toolCalls']>()
  })
})

describe('guards', () => {
  const messages: [ChatMessage, calls: boolean, result: boolean][] = [
    [{ role: 'system', content: '' }, false, false],
    [{ role: 'user', content: [{ type: 'text', text: 'x' }] }, false, false],
    [{ role: 'assistant', content: 'x' }, false, false],
    [{ role: 'assistant', content: 'x', toolCalls: [] }, false, false],
    [{ role: 'assistant', content: '', toolCalls: [call] }, true, false],
    [{ role: 'tool', content: '', toolCallId: '' }, false, true],
  ]

  it.each(messages)('S2-12 S2-13 tell calls from results: %j', (message, calls, result) => {
    expect([hasToolCalls(message), isToolResult(message)]).toEqual([calls, result])
  })

  it('S2-12 S2-13 narrow the type', () => {
    const message: ChatMessage = JSON.parse('{"role":"assistant","content":"","toolCalls":[]}')
    if (hasToolCalls(message)) expectTypeOf(message).toEqualTypeOf<AssistantToolCallMessage>()
    if (isToolResult(message)) expectTypeOf(message).toEqualTypeOf<ToolResultMessage>()
    expect(hasToolCalls(message)).toBe(false)
  })

  it('are not misled by an invalid list of calls', () => {
    for (const toolCalls of [null, undefined, {}, 'x', 0]) {
      expect(hasToolCalls(JSON.parse(JSON.stringify({ role: 'assistant', content: '', toolCalls })))).toBe(false)
    }
    expect(hasToolCalls(JSON.parse(JSON.stringify({ role: 'user', content: '', toolCalls: [call] })))).toBe(false)
  })

  it.each([
    [{}, true],
    [{ a: 1 }, true],
    [[], false],
    [null, false],
    [undefined, false],
    ['{}', false],
    [1, false],
  ])('a JSON object is an object, not an array: %j', (value, expected) => {
    expect(isJsonObject(value)).toBe(expected)
  })
})

describe('textOf', () => {
  it('joins the texts of parts and ignores the rest', () => {
    expect(textOf('plain')).toBe('plain')
    expect(textOf([])).toBe('')
    expect(
      textOf([
        { type: 'text', text: 'one ' },
        { type: 'image', url: 'https://x/i.png' },
        { type: 'file', data: 'AA==', mediaType: 'application/pdf' },
        { type: 'text', text: 'two' },
      ]),
    ).toBe('one two')
  })
})

describe('addUsage', () => {
  const a: Usage = { inputTokens: 1, outputTokens: 2, totalTokens: 3, cacheReadTokens: 1, costUsd: 0.5 }

  it('adds each count; one that neither has stays absent', () => {
    expect(addUsage(a, { inputTokens: 10, outputTokens: 20, totalTokens: 31, reasoningTokens: 4, costUsd: 0.25 })).toEqual({
      inputTokens: 11,
      outputTokens: 22,
      totalTokens: 34,
      cacheReadTokens: 1,
      reasoningTokens: 4,
      costUsd: 0.75,
    })
    expect(Object.keys(addUsage(noUsage, noUsage))).toEqual(['inputTokens', 'outputTokens', 'totalTokens'])
  })

  it('changes neither argument, and treats undefined as absent', () => {
    const before = structuredClone(a)
    expect(addUsage(a, undefined)).toBe(a)
    addUsage(a, a)
    expect(a).toEqual(before)
    expect(noUsage).toEqual({ inputTokens: 0, outputTokens: 0, totalTokens: 0 })
    expect(Object.isFrozen(noUsage)).toBe(true)
  })
})

function isTakenByAtob(text: string): boolean {
  try {
    atob(text)
    return true
  } catch {
    return false
  }
}

it('base64 is what `atob` accepts', () => {
  const nearly = fc.string({ unit: fc.constantFrom('A', 'b', '9', '+', '/', '=', '-', '_', ' ', '\n', 'é', '!'), maxLength: 12 })
  fc.assert(
    fc.property(
      fc.oneof(
        nearly,
        fc.uint8Array().map((bytes) => Buffer.from(bytes).toString('base64')),
      ),
      (text) => {
        expect([text, isBase64(text)]).toEqual([text, isTakenByAtob(text)])
      },
    ),
    { numRuns: 2_000 },
  )
})
