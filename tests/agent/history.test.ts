import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { History } from '../../src/agent/conversation/history.ts'
import { ToolloopError } from '../../src/core/errors.ts'
import { type ChatMessage, hasToolCalls, isToolResult, type ToolCall, type ToolResultMessage } from '../../src/core/messages.ts'

const call = (id: string, name = 'add'): ToolCall => ({ id, type: 'function', function: { name, arguments: '{}' } })
const calls = (...ids: string[]): ChatMessage => ({ role: 'assistant', content: '', toolCalls: ids.map((id) => call(id)) })
const result = (toolCallId: string, content = `of ${toolCallId}`): ToolResultMessage => ({ role: 'tool', content, toolCallId })
const user = (content: string): ChatMessage => ({ role: 'user', content })
const said = (content: string): ChatMessage => ({ role: 'assistant', content })
const noResult = 'No result was recorded for this call.'

/** What is wrong with a conversation, by the rule: right behind a message with calls their results, in order, and no other anywhere. */
function faultsOf(messages: readonly ChatMessage[]): string[] {
  const faults: string[] = []
  const ids = new Set<string>()
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at]
    if (message === undefined) continue
    if (isToolResult(message)) faults.push(`${at}: a result without a call`)
    if (!hasToolCalls(message)) continue
    for (const { id } of message.toolCalls) {
      if (ids.has(id)) faults.push(`${at}: id ${id} is used twice`)
      ids.add(id)
      const next = messages[at + 1]
      if (next !== undefined && isToolResult(next) && next.toolCallId === id) at++
      else faults.push(`${at}: no result of ${id} where it belongs`)
    }
  }
  return faults
}

describe('a given conversation', () => {
  it.each<[string, ChatMessage[], ChatMessage[], Partial<History['healing']>]>([
    ['nothing', [], [], {}],
    [
      'a valid one',
      [user('1'), calls('a', 'b'), result('a'), result('b'), said('2')],
      [user('1'), calls('a', 'b'), result('a'), result('b'), said('2')],
      {},
    ],
    ['a call without a result', [calls('a'), user('1')], [calls('a'), result('a', noResult), user('1')], { answeredCalls: 1 }],
    ['a result without a call', [user('1'), result('a'), user('2')], [user('1'), user('2')], { droppedResults: 1 }],
    [
      'a second result',
      [calls('a'), result('a', 'first'), result('a', 'second')],
      [calls('a'), result('a', 'first')],
      { droppedResults: 1 },
    ],
    [
      'results in another order',
      [calls('a', 'b'), result('b'), result('a')],
      [calls('a', 'b'), result('a'), result('b')],
      { movedResults: 2 },
    ],
    ['a result further on', [calls('a'), user('1'), result('a')], [calls('a'), result('a'), user('1')], { movedResults: 1 }],
    ['a result before its call', [result('a'), calls('a')], [calls('a'), result('a')], { movedResults: 1 }],
    [
      'one id in two turns',
      [calls('a'), result('a', 'first'), calls('a'), result('a', 'second')],
      [calls('a'), result('a', 'first'), calls('a_2'), result('a_2', 'second')],
      { renamedCalls: 1 },
    ],
    [
      'one id twice in one turn',
      [calls('a', 'a'), result('a', 'first'), result('a', 'second')],
      [calls('a', 'a_2'), result('a', 'first'), result('a_2', 'second')],
      { renamedCalls: 1 },
    ],
    [
      'one id in two turns, the first without a result',
      [calls('a'), user('1'), calls('a'), result('a', 'of the second')],
      [calls('a'), result('a', noResult), user('1'), calls('a_2'), result('a_2', 'of the second')],
      { answeredCalls: 1, renamedCalls: 1 },
    ],
    ['no id', [calls(''), result('')], [calls('call_0_0'), result('call_0_0', 'of ')], { renamedCalls: 1 }],
  ])('H45 H18 %s', (_, given, healed, healing) => {
    const before = structuredClone(given)
    const history = new History(given)
    // What was made up for a call says that it is an error, and whose it is; that is not compared here.
    const shown = history.messages.map((message) => {
      if (!isToolResult(message)) return message
      const { role, content, toolCallId } = message
      return { role, content, toolCallId }
    })
    expect(shown).toEqual(healed)
    expect(history.healing).toEqual({ answeredCalls: 0, droppedResults: 0, movedResults: 0, renamedCalls: 0, ...healing })
    expect(history.healed).toBe(Object.keys(healing).length > 0)
    expect(given).toEqual(before)
    expect(new History(history.slice()).healed).toBe(false)
  })

  it('H45 marks a made-up result as an error and names its tool', () => {
    expect(new History([calls('a')]).messages[1]).toEqual({ role: 'tool', content: noResult, toolCallId: 'a', name: 'add', isError: true })
  })

  it.each<[unknown, string]>([
    [null, 'Expected messages[1] to be a message, got `null`'],
    ['text', 'Expected messages[1] to be a message, got `"text"`'],
    [[], 'Expected messages[1] to be a message, got `[]`'],
    [{ content: 'x' }, "Expected messages[1].role to be 'system', 'user', 'assistant' or 'tool', got `undefined`"],
    [{ role: 'developer', content: 'x' }, 'got `"developer"`'],
    [{ role: 'user' }, 'Expected messages[1].content to be a string or an array of parts, got `undefined`'],
    [{ role: 'assistant', content: null }, 'Expected messages[1].content to be a string'],
    [{ role: 'assistant', content: [] }, 'Expected messages[1].content to be a string'],
    [{ role: 'tool', content: 'x' }, 'Expected messages[1].toolCallId to be a string, got `undefined`'],
    [{ role: 'tool', content: 'x', tool_call_id: 'a' }, 'Expected messages[1] to be a toolloop message'],
    [{ role: 'assistant', content: '', toolCalls: {} }, 'Expected messages[1].toolCalls to be an array, got `{}`'],
    [
      { role: 'assistant', content: '', toolCalls: [{}] },
      'Expected messages[1].toolCalls[0] to be `{id, type, function: {name, arguments}}` with texts, or `{id, name, arguments}` with an object, got `{}`',
    ],
    [{ role: 'assistant', content: '', toolCalls: [{ id: 'a', name: 'add', arguments: '{}' }] }, 'Expected messages[1].toolCalls[0] to be'],
    [
      { role: 'assistant', content: '', toolCalls: [{ id: 7, type: 'function', function: { name: 'f', arguments: '' } }] },
      'Expected messages[1].toolCalls',
    ],
  ])('H45 refuses an invalid message, with its place: %j', (message, words) => {
    const list: ChatMessage[] = JSON.parse(JSON.stringify([user('fine'), message]))
    expect(() => new History(list)).toThrow(ToolloopError)
    expect(() => new History(list)).toThrow(words)
  })
})

describe('instructions', () => {
  it('are first, are sent, and are not part of the returned messages', () => {
    const history = new History([user('1')], 'Be brief.')
    expect(history.messages).toEqual([{ role: 'system', content: 'Be brief.' }, user('1')])
    expect(history.slice()).toEqual([user('1')])
    expect(history.length).toBe(1)
    expect(history.slice(1)).toEqual([])
  })

  it('are not repeated before a conversation that begins with them, and precede one that begins with others', () => {
    const system = (content: string): ChatMessage => ({ role: 'system', content })
    expect(new History([system('same'), user('1')], 'same').messages).toEqual([system('same'), user('1')])
    expect(new History([system('same'), user('1')], 'same').slice()).toEqual([system('same'), user('1')])
    expect(new History([system('other')], 'mine').messages).toEqual([system('mine'), system('other')])
    expect(new History([], '').messages).toEqual([system('')])
    expect(new History([]).messages).toEqual([])
  })
})

describe('during the run', () => {
  it('S3-7 takes one result for each open call, and no other', () => {
    const history = new History()
    history.append(calls('a', 'b'))
    expect(history.appendResult(result('c'))).toBe(false)
    expect(history.appendResult(result('a', 'first'))).toBe(true)
    expect(history.appendResult(result('a', 'second'))).toBe(false)
    expect(history.appendResult(result('b'))).toBe(true)
    expect(history.slice()).toEqual([calls('a', 'b'), result('a', 'first'), result('b')])
  })

  it('answers open calls before the next message, and on demand', () => {
    const history = new History()
    history.append(calls('a', 'b'))
    history.appendResult(result('a'))
    history.append(user('go on'))
    expect(faultsOf(history.messages)).toEqual([])
    history.append(calls('c', 'd', 'e'))
    history.closeOpenCalls('Cancelled.', new Set(['d']))
    expect(history.slice().slice(-2)).toEqual([
      { role: 'tool', content: 'Cancelled.', toolCallId: 'c', name: 'add', isError: true },
      { role: 'tool', content: 'Cancelled.', toolCallId: 'e', name: 'add', isError: true },
    ])
    expect(history.appendResult(result('d'))).toBe(true)
  })

  it('appends to one list to send; the returned list is a copy', () => {
    const history = new History([user('1')])
    const { messages } = history
    const out = history.slice()
    history.append(said('2'))
    expect(history.messages).toBe(messages)
    expect(messages).toHaveLength(2)
    expect(out).toHaveLength(1)
  })

  it('H24 freezes copies of messages: changing a given or returned one has no effect', () => {
    const given = { role: 'user' as const, content: [{ type: 'text' as const, text: 'before' }] }
    const history = new History([given])
    given.content[0] = { type: 'text', text: 'after' }
    expect(history.messages).toEqual([{ role: 'user', content: [{ type: 'text', text: 'before' }] }])
    const [message] = history.slice()
    expect(Object.isFrozen(message)).toBe(true)
    expect(Object.isFrozen(message?.content)).toBe(true)
    expect(() => Object.assign(message ?? {}, { content: 'changed' })).toThrow(TypeError)
  })

  it('reuses a message that is already its own', () => {
    const [first] = new History([user('1')]).slice()
    expect(new History(first === undefined ? [] : [first]).slice()[0]).toBe(first)
  })

  it('H18 makes ids unique, and the same calls always get the same ids', () => {
    const history = new History([calls('a', 'a_2'), result('a'), result('a_2')])
    const wanted = [call('a'), call('a'), call('b'), call(''), call(''), call('a_3')]
    const given = history.withUniqueIds(wanted).map(({ id }) => id)
    expect(given).toEqual(['a_3', 'a_4', 'b', 'call_3_3', 'call_3_4', 'a_3_2'])
    expect(history.withUniqueIds(wanted).map(({ id }) => id)).toEqual(given)
    const untouched = call('fresh')
    expect(history.withUniqueIds([untouched])[0]).toBe(untouched)
  })

  it('H18 keeps the conversation valid, whatever ids come in whatever order', () => {
    const id = fc.constantFrom('', 'a', 'b', 'a_2', 'call_0_0', '__proto__')
    const turn = fc.record({ ids: fc.array(id, { maxLength: 4 }), answered: fc.array(fc.nat(3), { maxLength: 4 }), text: fc.boolean() })
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 6 }), (turns) => {
        const history = new History([user('begin')])
        for (const { ids, answered, text } of turns) {
          const unique = history.withUniqueIds(ids.map((wanted) => call(wanted)))
          history.append(unique.length > 0 ? { role: 'assistant', content: '', toolCalls: unique } : said('text'))
          for (const at of new Set([...answered].sort())) history.appendResult(result(unique[at]?.id ?? 'nobody called'))
          if (text) history.append(user('next'))
        }
        history.closeOpenCalls('Cancelled.')
        const healed = new History(history.slice())
        // Only results in another order than their calls may need repair: the run answers them in order.
        expect({ ...healed.healing, movedResults: 0 }).toEqual({ answeredCalls: 0, droppedResults: 0, movedResults: 0, renamedCalls: 0 })
        expect(faultsOf(healed.messages)).toEqual([])
      }),
    )
  })
})

describe('invalid messages', () => {
  const circular: { role: 'user'; content: string; self?: unknown } = { role: 'user', content: 'x' }
  circular.self = circular
  const circles: { role: 'user'; content: string; a?: unknown; b?: unknown } = { role: 'user', content: 'x' }
  circles.a = [circles, circles]
  circles.b = circles
  /** Each level refers twice to the one below: 2 to the power of `levels` values, written out. */
  const doubled = (levels: number) => {
    let value: unknown = 'x'
    for (let level = 0; level < levels; level++) value = { a: value, b: value }
    return { role: 'user', content: 'x', value }
  }
  it.each<[string, unknown, RegExp]>([
    ['a null part', { role: 'user', content: [null] }, /messages\[0\]\.content\[0\] to be a part of type 'text'.*, got `null`/],
    ['a part of no known type', { role: 'user', content: [{ type: 'video' }] }, /content\[0\] to be a part/],
    ['a role in a list', { role: ['user'], content: 'x' }, /messages\[0\]\.role/],
    ['a message that holds itself', circular, /at most 200 levels deep/],
    ['a message that holds itself in many places', circles, /at most 200 levels deep/],
    ['a message that would have no end of values', doubled(60), /at most 1000000 values/],
    ['one that is too deep besides', doubled(300), /at most 200 levels deep/],
  ])('%s is refused before anything is sent', (_what, message, words) => {
    expect(() => new History([message as ChatMessage])).toThrow(words)
  })

  it('accepts a message of very many parts', () => {
    const content = Array.from({ length: 200_000 }, (_, n) => ({ type: 'text' as const, text: `${n}` }))
    expect(new History([{ role: 'user', content }]).messages).toHaveLength(1)
  })

  it('does not freeze what a model returned', async () => {
    const data = { thought: { signature: 'x' } }
    const generate = async () => ({ text: 'ok', toolCalls: [], finishReason: 'stop' as const, providerData: { provider: 'p', data } })
    const result = await new AgentRunner({ model: { provider: 'p', model: 'm', capabilities: { nativeTools: true }, generate } }).run('go')
    expect(result.messages[1]?.providerData).toEqual({ provider: 'p', data })
    expect(Object.isFrozen(data) || Object.isFrozen(data.thought)).toBe(false)
  })
})
