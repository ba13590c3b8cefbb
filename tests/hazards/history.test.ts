import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { History } from '../../src/agent/conversation/history.ts'
import { type ChatMessage, isToolResult, type ToolResultMessage } from '../../src/core/messages.ts'
import { modes } from './modes.ts'
import { expectValidHistory, shape, stage } from './stage.ts'
import { skipWhatTextCannotSay } from './text-modes.ts'

const user = (content: string): ChatMessage => ({ role: 'user', content })
const says = (content: string): ChatMessage => ({ role: 'assistant', content })
const calls = (...ids: string[]): ChatMessage => ({
  role: 'assistant',
  content: '',
  toolCalls: ids.map((id) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } })),
})
const result = (toolCallId: string, content: string): ToolResultMessage => ({ role: 'tool', content, toolCallId, name: 'look' })
const missing = 'No result was recorded for this call.'

/** A stored conversation, what is wrong with it, and what a model should see instead: ids and contents of the results after each call. */
const broken: { what: string; stored: ChatMessage[]; healed: ChatMessage[] }[] = [
  {
    what: 'a call without a result',
    stored: [user('a'), calls('x', 'y'), result('x', 'of x'), user('b')],
    healed: [user('a'), calls('x', 'y'), result('x', 'of x'), result('y', missing), user('b')],
  },
  {
    what: 'calls at the very end',
    stored: [user('a'), calls('x')],
    healed: [user('a'), calls('x'), result('x', missing)],
  },
  {
    what: 'a result without a call',
    stored: [result('gone', 'left over'), user('a'), says('b'), result('gone', 'left over')],
    healed: [user('a'), says('b')],
  },
  {
    what: 'results in another order than their calls',
    stored: [user('a'), calls('x', 'y'), result('y', 'of y'), result('x', 'of x'), says('b')],
    healed: [user('a'), calls('x', 'y'), result('x', 'of x'), result('y', 'of y'), says('b')],
  },
  {
    what: 'a result behind a later message',
    stored: [user('a'), calls('x'), user('b'), result('x', 'of x'), says('c')],
    healed: [user('a'), calls('x'), result('x', 'of x'), user('b'), says('c')],
  },
  {
    what: 'a result before its call',
    stored: [user('a'), result('x', 'of x'), calls('x'), says('c')],
    healed: [user('a'), calls('x'), result('x', 'of x'), says('c')],
  },
  {
    what: 'two results for one call',
    stored: [user('a'), calls('x'), result('x', 'first'), result('x', 'second'), says('b')],
    healed: [user('a'), calls('x'), result('x', 'first'), says('b')],
  },
  {
    what: 'an id that is used again in a later turn',
    stored: [user('a'), calls('x'), result('x', 'first'), says('b'), calls('x'), result('x', 'second'), says('c')],
    healed: [user('a'), calls('x'), result('x', 'first'), says('b'), calls('x_2'), result('x_2', 'second'), says('c')],
  },
  {
    what: 'an id that is used twice in one message',
    stored: [user('a'), calls('x', 'x'), result('x', 'first'), result('x', 'second'), says('c')],
    healed: [user('a'), calls('x', 'x_2'), result('x', 'first'), result('x_2', 'second'), says('c')],
  },
  {
    what: 'a second result that could be taken for that of a later call with the same id',
    stored: [user('a'), calls('x'), result('x', 'first'), result('x', 'again'), says('b'), calls('x'), says('c')],
    healed: [user('a'), calls('x'), result('x', 'first'), says('b'), calls('x_2'), result('x_2', missing), says('c')],
  },
  {
    what: 'a call without a result, whose id is used again by one that has a result',
    stored: [user('a'), calls('x'), user('b'), calls('x'), result('x', 'of the second'), says('c')],
    healed: [user('a'), calls('x'), result('x', missing), user('b'), calls('x_2'), result('x_2', 'of the second'), says('c')],
  },
  {
    what: 'the new name of a reused id taken by another call',
    stored: [user('a'), calls('x'), result('x', '1'), calls('x'), result('x', '2'), calls('x_2'), result('x_2', '3')],
    healed: [user('a'), calls('x'), result('x', '1'), calls('x_2'), result('x_2', '2'), calls('x_2_2'), result('x_2_2', '3')],
  },
  {
    what: 'empty ids',
    stored: [user('a'), calls('', ''), result('', 'first'), result('', 'second'), says('b')],
    healed: [user('a'), calls('call_1_0', 'call_1_1'), result('call_1_0', 'first'), result('call_1_1', 'second'), says('b')],
  },
]

describe.each(modes)('stored histories: $name', (mode) => {
  beforeEach((context) => skipWhatTextCannotSay(mode, context))

  // How a response arrives, or a call is written, does not affect what is sent.
  it.each(mode.streaming && !/json|hermes/.test(mode.name) ? broken : broken.slice(0, 1))(
    'H45 $what: is repaired before it is sent, and logged',
    async ({ stored, healed }) => {
      const before = structuredClone(stored)
      await using on = await stage(mode, ['done'])
      const { messages, newMessages, stopReason } = await on.run('go on', { messages: stored })
      expect(stopReason).toBe('answered')
      expect(shape(on.requests()[0]?.messages ?? [], mode)).toEqual(shape([...healed, user('go on')], mode))
      expect(shape(messages, mode)).toEqual(shape([...healed, user('go on'), says('done')], mode))
      expect(newMessages.slice(-2)).toEqual([user('go on'), says('done')])
      expect(on.log).toMatchObject([{ level: 'warn', message: expect.stringContaining('repaired') }])
      expect(stored).toEqual(before)
    },
  )

  it('H45 a valid history is sent unchanged, and nothing is logged', async () => {
    const stored = [user('a'), calls('x', 'y'), result('x', 'of x'), result('y', 'of y'), says('b')]
    await using on = await stage(mode, ['done'])
    const { newMessages } = await on.run('go on', { messages: stored })
    expect(shape(on.requests()[0]?.messages ?? [], mode)).toEqual(shape([...stored, user('go on')], mode))
    expect(newMessages).toEqual([user('go on'), says('done')])
    expect(on.log).toEqual([])
  })

  it('H45 a result passed as input joins the call it answers, and is new', async () => {
    await using on = await stage(mode, ['done'])
    const { newMessages } = await on.run([result('x', 'of x'), user('go on')], { messages: [user('a'), calls('x')] })
    expect(shape(on.requests()[0]?.messages ?? [], mode)).toEqual(shape([user('a'), calls('x'), result('x', 'of x'), user('go on')], mode))
    expect(shape(newMessages, mode)).toEqual(shape([result('x', 'of x'), user('go on'), says('done')], mode))
    expect(on.log).toEqual([])
  })

  it('H45 repairs of the old part do not shift what is new', async () => {
    await using on = await stage(mode, ['done'])
    const messages = [result('gone', 'left over'), user('a'), calls('x'), user('b'), result('also gone', 'left over'), says('c')]
    const { newMessages } = await on.run('go on', { messages })
    expect(newMessages).toEqual([user('go on'), says('done')])
  })

  it('H45 an invalid message is refused before anything is sent, with its position', async () => {
    await using on = await stage(mode, ['done'])
    const wrong: object[] = [
      { role: 'tool', content: 'x' },
      { role: 'assistant', content: '', toolCalls: [{ id: 'x' }] },
      { role: 'clown', content: '' },
    ]
    for (const message of wrong) {
      const messages = [user('a'), message as ChatMessage]
      await expect(on.runner.run('go on', { messages })).rejects.toMatchObject({
        code: 'invalid_message',
        message: expect.stringContaining('messages[1]'),
      })
    }
    expect(on.requests()).toEqual([])
  })
})

/** Valid conversations; each result's content names its call. `ids` makes call ids unique, or repeats them. */
function conversations(idOf: (turn: number, index: number) => string): fc.Arbitrary<ChatMessage[]> {
  const turn = fc.oneof(
    fc.constant('user' as const),
    fc.constant('assistant' as const),
    fc.integer({ min: 1, max: 4 }).map((count) => ({ count })),
  )
  return fc.array(turn, { maxLength: 8 }).map((turns) =>
    turns.flatMap((kind, at): ChatMessage[] => {
      if (kind === 'user') return [user(`user ${at}`)]
      if (kind === 'assistant') return [says(`assistant ${at}`)]
      const ids = Array.from({ length: kind.count }, (_, index) => idOf(at, index))
      return [calls(...ids), ...ids.map((id, index) => result(id, `result ${at}/${index}`))]
    }),
  )
}

const distinctIds = conversations((turn, index) => `id-${turn}-${index}`)
const fewIds = conversations((turn, index) => ['', 'a', 'b', 'a_2'][(turn + index) % 4] ?? '')

/** Drops, repeats and moves messages. */
function damaged(conversation: fc.Arbitrary<ChatMessage[]>): fc.Arbitrary<ChatMessage[]> {
  return conversation.chain((messages) =>
    fc
      .array(fc.record({ keep: fc.boolean(), twice: fc.boolean(), place: fc.integer({ min: 0, max: 1000 }), move: fc.boolean() }), {
        minLength: messages.length,
        maxLength: messages.length,
      })
      .map((fates) =>
        messages
          .flatMap((message, at) => {
            const { keep, twice, place, move } = fates[at] ?? { keep: true, twice: false, place: 0, move: false }
            const copies = keep ? (twice ? 2 : 1) : 0
            return Array.from({ length: copies }, (_, copy) => ({
              message,
              order: move || copy === 1 ? place : at * (1000 / messages.length),
            }))
          })
          .sort((a, b) => a.order - b.order)
          .map(({ message }) => message),
      ),
  )
}

const runs = { seed: 45, numRuns: 500 }

describe('arbitrary stored histories', () => {
  it('H45 with dropped, repeated or moved messages are repaired to a valid conversation; repairing again changes nothing', () => {
    fc.assert(
      fc.property(fc.oneof(damaged(distinctIds), damaged(fewIds)), (stored) => {
        const healed = new History(stored).slice()
        expectValidHistory(healed)
        const again = new History(healed)
        expect(again.slice()).toEqual(healed)
        expect(again.healed).toBe(false)
      }),
      runs,
    )
  })

  it('H45 that are valid stay unchanged', () => {
    fc.assert(
      fc.property(distinctIds, (stored) => {
        const history = new History(stored, 'instructions')
        expect(history.slice()).toEqual(stored)
        expect(history.healed).toBe(false)
      }),
      runs,
    )
  })

  it('H45 never give a call the result of another, and lose none', () => {
    fc.assert(
      fc.property(damaged(distinctIds), (stored) => {
        const healed = new History(stored).slice()
        for (const message of healed) {
          if (!isToolResult(message) || message.content === missing) continue
          const [, turn, index] = /^id-(\d+)-(\d+)/.exec(message.toolCallId) ?? []
          expect(message.content).toBe(`result ${turn}/${index}`)
        }
        const contents = (list: readonly ChatMessage[]) => new Set(list.filter(isToolResult).map(({ content }) => content))
        const called = new Set(stored.flatMap((message) => ('toolCalls' in message ? message.toolCalls.map(({ id }) => id) : [])))
        const answerable = stored.filter((message) => !isToolResult(message) || called.has(message.toolCallId))
        for (const content of contents(answerable)) expect(contents(healed)).toContain(content)
      }),
      runs,
    )
  })

  it('H45 keep all messages other than results, in order', () => {
    fc.assert(
      fc.property(fc.oneof(damaged(distinctIds), damaged(fewIds)), (stored) => {
        const texts = (list: readonly ChatMessage[]) =>
          list.filter((message) => !isToolResult(message)).map(({ role, content }) => `${role} ${content}`)
        expect(texts(new History(stored).slice())).toEqual(texts(stored))
      }),
      runs,
    )
  })
})
