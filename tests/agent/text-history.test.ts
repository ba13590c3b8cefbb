import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { History } from '../../src/agent/conversation/history.ts'
import { TextHistory, unreadableCall } from '../../src/agent/text-calls/text-history.ts'
import type { ChatMessage, Content } from '../../src/core/messages.ts'
import { findDialect, parseToolCalls } from '../../src/dialects/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'

const hermes = findDialect('hermes')
const user = (content: Content): ChatMessage => ({ role: 'user', content })
const calls = (content: string, ...made: [id: string, name: string, json: string][]): ChatMessage => ({
  role: 'assistant',
  content,
  toolCalls: made.map(([id, name, json]) => ({ id, type: 'function', function: { name, arguments: json } })),
})
const result = (toolCallId: string, content: Content, isError = false): ChatMessage => ({
  role: 'tool',
  content,
  toolCallId,
  ...(isError ? { isError } : {}),
})
const written = (messages: ChatMessage[], prompt = '') => new TextHistory(hermes).write(new History(messages).messages, prompt)

describe('a conversation for a model without native calls', () => {
  it('S1-29 has calls in the assistant’s text, and all results of a turn in one user message, in the order of the calls', () => {
    const messages = [
      user('go'),
      calls('Let me see.\n', ['x', 'look', '{"a":1}'], ['y', 'add', '']),
      result('x', 'seen'),
      result('y', 'no luck', true),
      { role: 'assistant', content: 'Done.' } as const,
    ]
    expect(written(messages)).toEqual([
      user('go'),
      {
        role: 'assistant',
        content: `Let me see.\n${hermes.renderCalls([
          { name: 'look', arguments: { a: 1 } },
          { name: 'add', arguments: {} },
        ])}`,
      },
      user(
        hermes.renderResults([
          { name: 'look', content: 'seen' },
          { name: 'add', content: 'no luck', isError: true },
        ]),
      ),
      { role: 'assistant', content: 'Done.' },
    ])
  })

  it('S1-29 has an unreadable call as it was written', () => {
    const raw = '<tool_call>\n{"name": "look", "arguments": {"a": }}\n</tool_call>'
    const right = hermes.renderCalls([{ name: 'look', arguments: {} }])
    const messages = [
      user('go'),
      calls('', ['x', 'look', '{}'], ['y', unreadableCall, raw], ['z', 'look', '{}']),
      ...['x', 'y', 'z'].map((id) => result(id, id)),
    ]
    expect(written(messages)[1]?.content).toBe(`${right}\n${raw}\n${right}`)
  })

  it('S1-29 has pictures of results after the text, if a user message can hold them', () => {
    const picture = { type: 'image' as const, url: 'https://example.com/a.png' }
    const messages = [user('go'), calls('', ['x', 'look', '{}']), result('x', [{ type: 'text', text: 'a picture' }, picture])]
    const text = hermes.renderResults([{ name: 'look', content: 'a picture' }])
    expect(written(messages).at(-1)).toEqual(user([{ type: 'text', text }, picture]))
  })

  it('S1-29 joins what the user says after results, so that user and assistant alternate', () => {
    const results = hermes.renderResults([{ name: 'look', content: 'seen' }])
    const round = [user('go'), calls('', ['x', 'look', '{}']), result('x', 'seen')]
    expect(written([...round, user('and now?')]).slice(2)).toEqual([user(`${results}\n\nand now?`)])
    const picture = { type: 'image' as const, url: 'https://example.com/a.png' }
    expect(written([...round, user([picture])]).slice(2)).toEqual([user([{ type: 'text', text: results }, picture])])
    const text = new TextHistory(hermes)
    const { messages } = new History([...round, user('and now?')])
    expect(text.write(messages, '')[2]).toBe(text.write(messages, '')[2])
  })

  it('S0-21 has the prompt after the instructions, or alone', () => {
    const system: ChatMessage = { role: 'system', content: 'Be brief.' }
    expect(written([system, user('go')], 'PROMPT')).toEqual([{ role: 'system', content: 'Be brief.\n\nPROMPT' }, user('go')])
    expect(written([user('go')], 'PROMPT')).toEqual([{ role: 'system', content: 'PROMPT' }, user('go')])
    expect(written([system, user('go')])).toEqual([system, user('go')])
  })

  it('reuses the messages it has written, so that a driver converts each of them once', () => {
    const history = new History([user('go')], 'Be brief.')
    const text = new TextHistory(hermes)
    let before: ChatMessage[] = []
    for (let round = 0; round < 20; round++) {
      history.append(calls(`round ${round}`, [`id_${round}`, 'look', '{}']))
      history.appendResult({ role: 'tool', content: 'seen', toolCallId: `id_${round}` })
      const now = text.write(history.messages, 'PROMPT')
      expect(now).toHaveLength(2 + 2 * (round + 1))
      before.forEach((message, at) => void expect(now[at]).toBe(message))
      for (const message of now) expect(Object.isFrozen(message)).toBe(true)
      before = now
    }
  })

  it('S1-29 a native conversation continues in text, and the other way round', async () => {
    const look = defineTool({ name: 'look', description: 'looks', parameters: { type: 'object' }, execute: () => 'seen' })
    const native = scriptedModel([{ toolCalls: [{ id: 'n', name: 'look', args: '{"broken' }] }, 'One.', 'Three.'])
    const inText = scriptedModel([hermes.renderCalls([{ name: 'look', arguments: {} }]), 'Two.'], {
      capabilities: { nativeTools: false, dialect: 'hermes' },
    })
    const first = await new AgentRunner({ model: native, tools: [look] }).run('one')
    const second = await new AgentRunner({ model: inText, tools: [look] }).run('two', { messages: first.messages })
    const third = await new AgentRunner({ model: native, tools: [look] }).run('three', { messages: second.messages })
    expect([first.output, second.output, third.output]).toEqual(['One.', 'Two.', 'Three.'])
    const sent = inText.requests[1]?.messages ?? []
    expect(sent.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user', 'assistant', 'user', 'assistant', 'user'])
    expect(parseToolCalls(String(sent[2]?.content), { dialect: hermes })).toMatchObject([{ type: 'call', name: 'look', arguments: {} }])
    expect(native.requests[2]?.messages).toEqual(second.messages.concat(user('three')))
  })
})
