import { describe, expect, it } from 'vitest'
import { type MockProvider, startMockProvider } from '../../../src/testing/index.ts'
import { startStrictProvider } from './strict-provider.ts'

const messages = [{ role: 'user', content: 'Hello' }]

function post(provider: MockProvider, body: object): Promise<Response> {
  return fetch(`${provider.baseURL}/chat/completions`, { method: 'POST', body: JSON.stringify({ model: 'm', messages, ...body }) })
}

describe('what the Chat Completions API would refuse', () => {
  const call = (id: string) => ({ id, type: 'function', function: { name: 'add', arguments: '{}' } })
  const assistant = { role: 'assistant', content: null, tool_calls: [call('a'), call('b')] }
  const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'x' })
  const tool = (name: string) => ({ type: 'function', function: { name, parameters: { type: 'object', properties: {} } } })

  it.for([
    ['a call without a result', { messages: [...messages, assistant, result('a')] }, 'did not have response messages: b'],
    [
      'a call without a result before the next message',
      { messages: [assistant, result('a'), messages[0]] },
      'did not have response messages: b',
    ],
    ['a result without a call', { messages: [...messages, result('a')] }, "messages with role 'tool' must be the one response"],
    ['a second result for a call', { messages: [assistant, result('a'), result('b'), result('a')] }, "messages with role 'tool' must be"],
    ['an id used twice in a message', { messages: [{ ...assistant, tool_calls: [call('a'), call('a')] }] }, "'a' is used twice"],
    ['an empty id', { messages: [{ ...assistant, tool_calls: [call('')] }] }, "Missing required parameter: 'messages[0].tool_calls[0].id'"],
    ['an empty list of calls', { messages: [{ ...assistant, tool_calls: [] }] }, "[] is too short - 'messages[0].tool_calls'"],
    [
      'arguments that are no text',
      { messages: [{ role: 'assistant', tool_calls: [{ ...call('a'), function: { name: 'x', arguments: {} } }] }] },
      'expected a string',
    ],
    ['a message without content', { messages: [{ role: 'assistant', content: null }] }, "Invalid type for 'messages[0].content'"],
    ['an unknown role', { messages: [{ role: 'robot', content: 'x' }] }, "Invalid value for 'messages[0].role': 'robot'"],
    ['no messages', { messages: [] }, "[] is too short - 'messages'"],
    ['no model', { model: '' }, "Missing required parameter: 'model'"],
    ['an empty list of tools', { tools: [] }, "[] is too short - 'tools'"],
    ['a tool choice without tools', { tool_choice: 'auto' }, "'tool_choice' is only allowed when 'tools' are specified."],
    ['parallel_tool_calls without tools', { parallel_tool_calls: false }, "'parallel_tool_calls' is only allowed when"],
    ['a bad tool name', { tools: [tool('a b')] }, "Invalid 'tools[0].function.name'"],
    ['a tool name given twice', { tools: [tool('a'), tool('a')] }, "'a' is defined twice"],
    [
      'the choice of an unknown tool',
      { tools: [tool('a')], tool_choice: { type: 'function', function: { name: 'b' } } },
      "'b' is not among 'tools'",
    ],
    ['stream options without a stream', { stream_options: {} }, "The 'stream_options' parameter is only allowed when"],
  ] as const)('is %s', async ([_, body, reason]) => {
    await using provider = await startStrictProvider({ script: ['ok'] })
    const refused = await post(provider, body)
    expect(refused.status).toBe(400)
    expect(await refused.json()).toMatchObject({ error: { type: 'invalid_request_error', message: expect.stringContaining(reason) } })
    await using lenient = await startMockProvider({ script: ['ok'] })
    expect((await post(lenient, body)).status).toBe(200)
  })

  it('does not include a valid conversation with calls', async () => {
    await using provider = await startStrictProvider({ script: ['ok'] })
    const legacy = [
      { role: 'assistant', content: null, function_call: { name: 'add', arguments: '{}' } },
      { role: 'function', name: 'add', content: '3' },
    ]
    const said = [
      { role: 'assistant', content: '' },
      { role: 'assistant', content: null, refusal: 'No.' },
    ]
    const history = [...messages, assistant, result('b'), result('a'), ...said, ...legacy, ...messages]
    expect((await post(provider, { messages: history, tools: [tool('add')], tool_choice: 'auto' })).status).toBe(200)
  })
})
