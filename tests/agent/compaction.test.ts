import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compactMessages, sizeOf } from '../../src/agent/conversation/compaction.ts'
import { type ChatMessage, isToolResult, textOf } from '../../src/core/messages.ts'
import { estimateTokens } from '../../src/models/usage.ts'
import { expectValidHistory } from '../hazards/stage.ts'

const text = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.nat(4000).map((length) => 'long text '.repeat(length / 10)),
  fc.constant('长文'.repeat(300)),
)

/** Valid conversations: questions, rounds with calls, answers; ids unique. */
const conversation = fc
  .tuple(
    fc.boolean(),
    fc.array(fc.record({ asks: fc.boolean(), said: text, results: fc.array(text, { maxLength: 3 }), note: fc.nat(12) }), { maxLength: 12 }),
  )
  .map(([hasSystem, rounds]): ChatMessage[] => [
    ...(hasSystem ? [{ role: 'system' as const, content: 'Be brief.' }] : []),
    { role: 'user', content: 'The first task' },
    ...rounds.flatMap(({ asks, said, results, note }, round): ChatMessage[] => [
      ...(asks ? [{ role: 'user' as const, content: `Task ${round}: ${said}` }] : []),
      ...(note === 0 ? [{ role: 'system' as const, content: `Note ${round}` }] : []),
      {
        role: 'assistant',
        content: said,
        ...(results.length === 0
          ? {}
          : {
              toolCalls: results.map((_, at) => ({
                id: `call_${round}_${at}`,
                type: 'function' as const,
                function: { name: 'look', arguments: '{}' },
              })),
            }),
      },
      ...results.map((content, at): ChatMessage => ({ role: 'tool', toolCallId: `call_${round}_${at}`, name: 'look', content })),
    ]),
  ])
const size = fc.integer({ min: 1, max: 3000 })

describe('a conversation that is too long', () => {
  it('H46 keeps calls with their results, system messages and the task; a second pass changes nothing', () => {
    fc.assert(
      fc.property(conversation, size, (messages, tokens) => {
        const short = compactMessages(messages, { tokens })
        expectValidHistory(short)
        expect(compactMessages(short, { tokens })).toEqual(short)
        expect(short.filter(({ role }) => role === 'system')).toEqual(messages.filter(({ role }) => role === 'system'))
        // The last question is still there, and whatever came after it that fits.
        const task = messages.findLast(({ role }) => role === 'user')
        expect(short).toContainEqual(task)
        expect(short.at(-1)?.role).toBe(messages.at(-1)?.role)
        // A notice may be longer than the one short message it stands for.
        expect(sizeOf(short)).toBeLessThanOrEqual(sizeOf(messages) + 30)
        if (sizeOf(messages) <= tokens) expect(short).toEqual(messages)
      }),
      { numRuns: 200 },
    )
  })

  it('H46 fits after compaction, unless the last round alone does not', () => {
    fc.assert(
      fc.property(conversation, size, (messages, tokens) => {
        const short = compactMessages(messages, { tokens })
        const last = messages.findLastIndex((message) => !isToolResult(message) && message.role !== 'system')
        const needed = [...messages.slice(last), ...messages.filter(({ role }) => role === 'system')]
        const task = messages.findLast(({ role }) => role === 'user')
        // What says that messages were left out takes some tokens too.
        if (sizeOf(needed) + (task === undefined ? 0 : estimateTokens(task)) + 30 <= tokens)
          expect(sizeOf(short)).toBeLessThanOrEqual(tokens)
      }),
      { numRuns: 200 },
    )
  })

  it('shortens old results first, and drops rounds only if that is not enough', () => {
    const long = 'x'.repeat(8000)
    const round = (n: number, content: string): ChatMessage[] => [
      { role: 'assistant', content: '', toolCalls: [{ id: `c${n}`, type: 'function', function: { name: 'look', arguments: '{}' } }] },
      { role: 'tool', toolCallId: `c${n}`, content },
    ]
    const messages: ChatMessage[] = [{ role: 'user', content: 'Look.' }, ...round(1, long), ...round(2, long), ...round(3, long)]
    const shortened = compactMessages(messages, { tokens: 3000 })
    expect(shortened).toHaveLength(7)
    const lengths = shortened.filter(isToolResult).map(({ content }) => textOf(content).length)
    expect(lengths).toEqual([expect.any(Number), expect.any(Number), 8000])
    expect(lengths[0]).toBeLessThanOrEqual(1000)
    expect(textOf(shortened[2]?.content ?? '')).toMatch(/^x+\n… \[7\d{3} characters left out\] …\nx+$/)
    const cut = compactMessages(messages, { tokens: 2200 })
    expect(cut.map(({ role, content }) => `${role} ${textOf(content).slice(0, 40)}`)).toEqual([
      'user [4 earlier messages were left out to sav',
      'user Look.',
      'assistant ',
      `tool ${'x'.repeat(40)}`,
    ])
  })

  it('adds up notices, and keeps the summary of dropped messages', () => {
    const messages: ChatMessage[] = [
      { role: 'user', content: '[7 earlier messages were left out to save space. In short:]\nThe key is under the mat.' },
      ...['a', 'b', 'c'].flatMap((content): ChatMessage[] => [
        { role: 'user', content: content.repeat(400) },
        { role: 'assistant', content: content.repeat(400) },
      ]),
    ]
    const [first, ...rest] = compactMessages(messages, { tokens: 260 })
    expect(first?.content).toBe('[11 earlier messages were left out to save space. In short:]\nThe key is under the mat.')
    expect(rest).toEqual(messages.slice(-2))
  })
})
