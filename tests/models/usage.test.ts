import { describe, expect, it } from 'vitest'
import type { ChatMessage } from '../../src/core/messages.ts'
import type { ModelRequest, ModelResponse } from '../../src/models/chat-model.ts'
import { estimateTokens, estimateUsage, wholeUsage, withWholeUsage } from '../../src/models/usage.ts'
import type { ToolDefinition } from '../../src/tools/tool.ts'

const request: ModelRequest = { messages: [{ role: 'user', content: 'a'.repeat(400) }] }
const answer: ModelResponse = { text: 'b'.repeat(40), toolCalls: [], finishReason: 'stop' }

describe('a reported usage', () => {
  it('that is complete stays unchanged', () => {
    const usage = {
      inputTokens: 9,
      outputTokens: 4,
      totalTokens: 13,
      reasoningTokens: 2,
      cacheReadTokens: 0,
      cacheWriteTokens: 1,
      costUsd: 0.5,
    }
    expect(wholeUsage(usage)).toEqual(usage)
    expect(wholeUsage({ inputTokens: 0, outputTokens: 0, totalTokens: 0 })).toEqual({ inputTokens: 0, outputTokens: 0, totalTokens: 0 })
  })

  it('that lacks a count derives it from the others', () => {
    expect(wholeUsage({ inputTokens: 9, outputTokens: 4 })).toEqual({ inputTokens: 9, outputTokens: 4, totalTokens: 13 })
    expect(wholeUsage({ inputTokens: 9, totalTokens: 13 })).toEqual({ inputTokens: 9, outputTokens: 4, totalTokens: 13 })
    expect(wholeUsage({ outputTokens: 4, totalTokens: 13 })).toEqual({ inputTokens: 9, outputTokens: 4, totalTokens: 13 })
    expect(wholeUsage({ totalTokens: 13 })).toEqual({ inputTokens: 13, outputTokens: 0, totalTokens: 13 })
    expect(wholeUsage({ outputTokens: 4 })).toEqual({ inputTokens: 0, outputTokens: 4, totalTokens: 4 })
  })

  it('never contains what can’t be added up, or a total below its parts', () => {
    const whole = { inputTokens: 9, outputTokens: 4, totalTokens: 13 }
    for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, -1, '13', null, {}, true, 13n]) {
      expect(wholeUsage({ inputTokens: 9, outputTokens: 4, totalTokens: bad, reasoningTokens: bad, costUsd: bad })).toEqual(whole)
      expect(wholeUsage({ inputTokens: bad, outputTokens: 4, totalTokens: 13, cacheReadTokens: bad, cacheWriteTokens: bad })).toEqual(whole)
      expect(wholeUsage({ inputTokens: bad, outputTokens: bad, totalTokens: bad })).toBeUndefined()
    }
    expect(wholeUsage({ inputTokens: 9, outputTokens: 4, totalTokens: 2 })).toEqual(whole)
    for (const none of [undefined, null, 3, 'x', [], {}, { costUsd: 1 }]) expect(wholeUsage(none)).toBeUndefined()
  })
})

describe('a missing usage', () => {
  const tool: ToolDefinition = {
    type: 'function',
    function: { name: 'look', description: 'x'.repeat(400), parameters: { type: 'object' } },
  }

  it('is estimated from the length of messages, tools and output', () => {
    expect(estimateUsage(request, answer)).toEqual({ inputTokens: 104, outputTokens: 10, totalTokens: 114 })
    const call = { id: 'c', type: 'function' as const, function: { name: 'look', arguments: 'x'.repeat(40) } }
    expect(estimateUsage(request, { ...answer, text: '', toolCalls: [call] }).outputTokens).toBe(11)
    expect(estimateUsage(request, { ...answer, reasoning: 'x'.repeat(80) }).outputTokens).toBe(30)
    expect(estimateUsage({ ...request, tools: [tool] }, answer).inputTokens).toBeGreaterThan(204)
  })

  it('measures frozen messages and tools once, whatever the number of turns', () => {
    let reads = 0
    const message: ChatMessage = Object.freeze({
      role: 'user' as const,
      get content() {
        reads++
        return 'once'
      },
    })
    const measured = {
      type: tool.type,
      get function() {
        reads++
        return tool.function
      },
    }
    estimateUsage({ messages: [message], tools: [measured] }, answer)
    const readOnce = reads
    for (let turn = 0; turn < 3; turn++) estimateUsage({ messages: [message], tools: [measured] }, answer)
    expect(reads).toBe(readOnce)
  })

  it('counts four characters per token, one for wide scripts; calls and images count', () => {
    expect(estimateTokens({ role: 'user', content: 'a'.repeat(400) })).toBe(104)
    expect(estimateTokens({ role: 'user', content: '文'.repeat(400) })).toBe(404)
    const picture = { type: 'image' as const, url: 'https://x/y.png' }
    expect(estimateTokens({ role: 'user', content: [picture, { type: 'text', text: 'abcd' }] })).toBe(1505)
    const toolCalls = [{ id: 'c', type: 'function' as const, function: { name: 'look', arguments: 'x'.repeat(40) } }]
    expect(estimateTokens({ role: 'assistant', content: '', toolCalls })).toBe(15)
  })

  it('is named in the warnings; a reported usage is not', () => {
    const usage = { inputTokens: 1, outputTokens: 2, totalTokens: 3 }
    expect(withWholeUsage(request, { ...answer, usage })).toEqual({ ...answer, usage })
    expect(withWholeUsage(request, { ...answer, warnings: ['before'] })).toEqual({
      ...answer,
      usage: { inputTokens: 104, outputTokens: 10, totalTokens: 114 },
      warnings: ['before', expect.stringContaining('reported no usage')],
    })
  })
})
