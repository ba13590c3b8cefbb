import { describe, expect, expectTypeOf, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { RunControl } from '../../src/agent/conversation/run-input.ts'
import { CustomAgent } from '../../src/agent/custom-agent.ts'
import { ToolAgent } from '../../src/agent/tool-agent.ts'
import { createAgentRunner } from '../../src/backends/index.ts'
import {
  type AIMessage,
  type ChatMessage,
  compactMessages,
  createModel,
  estimateTokens,
  type MessageInput,
  messagesFromOpenAI,
  messagesToOpenAI,
} from '../../src/index.ts'
import { AIDriver } from '../../src/models/ai-driver.ts'
import { LLMPipeline } from '../../src/pipeline/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { ToolRegistry } from '../../src/tools/registry.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { ToolRunner } from '../../src/tools/tool-runner.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'

const { logger } = recordingLogger()
const look = defineTool({
  name: 'look',
  description: 'looks',
  parameters: { type: 'object', properties: { at: { type: 'string' } } },
  execute: () => 'seen',
})
const usage = { inputTokens: 7, outputTokens: 3, totalTokens: 10 }
const providerData = { provider: 'scripted', data: { signature: 's' } }
const callsLook = { text: 'Let me look.', toolCalls: [{ id: 'c1', name: 'look', args: { at: 'sky' } }], usage, providerData }

const question: ChatMessage = { role: 'user', content: 'What is there?' }
const seen: ChatMessage = { role: 'tool', toolCallId: 'c1', name: 'look', content: 'a cloud' }
/** What a model is to be sent of the reply, and of the conversation. */
const called: ChatMessage = {
  role: 'assistant',
  content: 'Let me look.',
  toolCalls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{"at":"sky"}' } }],
  providerData,
}
const sent: ChatMessage[] = [question, called, seen]

/** A reply as an agent gives it, and the conversation with it in the middle. */
async function replied(): Promise<{ reply: AIMessage; conversation: MessageInput[] }> {
  const agent = new ToolAgent({ model: scriptedModel([callsLook]), tools: [look], logger })
  const reply = await agent.generate('What is there?')
  return { reply, conversation: [question, reply, seen] }
}

describe('a reply of `generate` can be passed back', () => {
  it('has its finish reason and its usage', async () => {
    const { reply } = await replied()
    expect(reply).toEqual({
      role: 'assistant',
      content: 'Let me look.',
      toolCalls: [{ id: 'c1', name: 'look', arguments: { at: 'sky' } }],
      finishReason: 'tool_calls',
      usage,
      providerData,
    })
    expectTypeOf<AIMessage>().toExtend<MessageInput>()
  })

  it.each<[string, (model: ReturnType<typeof scriptedModel>, messages: MessageInput[]) => Promise<unknown>]>([
    ['ToolAgent.generate', (model, messages) => new ToolAgent({ model, tools: [look], logger }).generate(messages)],
    ['ToolAgent.generate, `messages`', (model, messages) => new ToolAgent({ model, logger }).generate([], { messages })],
    ['AgentRunner.run', (model, messages) => new AgentRunner({ model, tools: [look], logger }).run(messages)],
    ['AgentRunner.run, `messages`', (model, messages) => new AgentRunner({ model, logger }).run([], { messages })],
    ['AgentRunner.stream', (model, messages) => new AgentRunner({ model, logger }).stream(messages).result],
    ['CustomAgent.run', (model, messages) => new (class Own extends CustomAgent {})({ model, logger }).run(messages)],
    ['LLMPipeline.generate', (model, messages) => new LLMPipeline({ model, logger }).generate(messages)],
    ['AIDriver.query', (model, messages) => new AIDriver(model).query(messages)],
    ['AIDriver.query, `messages`', (model, messages) => new AIDriver(model).query([], { messages })],
    ['AIDriver.stream', (model, messages) => new AIDriver(model).stream(messages).result],
    ['a LangChain backend', async (model, messages) => (await createAgentRunner({ backend: 'langchain', model, logger })).run(messages)],
    [
      'a hook',
      (model, messages) =>
        new AgentRunner({ model, logger, hooks: [{ name: 'swap', beforeModel: () => ({ messages }) }] }).run('something else'),
    ],
    [
      'an input guardrail',
      (model, messages) =>
        new AgentRunner({ model, logger, guardrails: [{ name: 'swap', input: () => ({ replace: messages }) }] }).run('something else'),
    ],
  ])('to %s', async (_where, ask) => {
    const { conversation } = await replied()
    const model = scriptedModel(['A cloud.'])
    await ask(model, conversation)
    expect(model.requests[0]?.messages).toEqual(sent)
    // The caller's own messages are unchanged.
    expect(conversation[1]).toHaveProperty('toolCalls.0.arguments', { at: 'sky' })
    expect(Object.isFrozen(conversation[1])).toBe(false)
  })

  it('to a model, and is sent in its provider’s format', async () => {
    await using server = await startStrictProvider({ script: ['A cloud.'] })
    const { conversation } = await replied()
    const model = createModel({ provider: 'custom', model: 'm', baseURL: server.baseURL })
    await model.generate({ messages: conversation as ChatMessage[] })
    expect(server.requests[0]?.body).toMatchObject({
      messages: [
        { role: 'user' },
        { role: 'assistant', tool_calls: [{ id: 'c1', function: { name: 'look', arguments: '{"at":"sky"}' } }] },
        { role: 'tool', tool_call_id: 'c1' },
      ],
    })
  })

  it('to a control, to the conversion to OpenAI messages, and to compaction', async () => {
    const { reply, conversation } = await replied()
    const control = new RunControl()
    control.send(conversation)
    expect(control.waiting).toEqual(sent)
    expect(messagesToOpenAI(conversation)).toEqual(messagesToOpenAI(sent))
    expect(messagesFromOpenAI(messagesToOpenAI(conversation))[1]).toMatchObject({ content: 'Let me look.' })
    expect(estimateTokens(reply)).toBe(estimateTokens(called))
    expect(compactMessages(conversation, { tokens: 1_000 })).toEqual(sent)
  })

  it('without calls is a plain message', async () => {
    const reply = await new ToolAgent({ model: scriptedModel(['Hello.']), logger }).generate('Hi')
    const model = scriptedModel(['Bye.'])
    const { messages } = await new AgentRunner({ model, logger }).run([question, reply, { role: 'user', content: 'Go.' }])
    expect(model.requests[0]?.messages).toEqual([question, { role: 'assistant', content: 'Hello.' }, { role: 'user', content: 'Go.' }])
    expect(messages[1]).toEqual({ role: 'assistant', content: 'Hello.' })
  })

  it('as part of a list of roles and texts, which is a list of messages', async () => {
    const rows: { role: 'user' | 'assistant'; content: string }[] = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello.' },
    ]
    const model = scriptedModel(['Bye.'])
    await new AgentRunner({ model, logger }).run('Go.', { messages: rows })
    expect(model.requests[0]?.messages).toEqual([...rows, { role: 'user', content: 'Go.' }])
  })
})

describe('an invalid message is refused with the expected value, the value and its place', () => {
  const bad: [what: string, message: object, words: RegExp][] = [
    ['another role', { role: 'clown', content: '' }, /\[1\]\.role to be 'system', 'user', 'assistant' or 'tool', got `"clown"`/],
    ['no content', { role: 'user' }, /\[1\]\.content to be a string.*got `undefined`/],
    ['a part that is none', { role: 'user', content: [{ type: 'sound' }] }, /\[1\]\.content\[0\] to be a part.*got `\{"type":"sound"\}`/],
    ['a picture without one', { role: 'user', content: [{ type: 'image' }] }, /\[1\]\.content\[0\] to be/],
    ['a result without its call', { role: 'tool', content: 'x' }, /\[1\]\.toolCallId to be a string, got `undefined`/],
    ['calls that are no list', { role: 'assistant', content: '', toolCalls: {} }, /\[1\]\.toolCalls to be an array/],
    ['a call without a name', { role: 'assistant', content: '', toolCalls: [{ id: 'x' }] }, /\[1\]\.toolCalls\[0\] to be/],
    [
      'arguments that are no object',
      { role: 'assistant', content: '', toolCalls: [{ id: 'x', name: 'look', arguments: '{}' }] },
      /\[1\]\.toolCalls\[0\] to be.*got `\{"id":"x"/,
    ],
    [
      'arguments that are no JSON',
      { role: 'assistant', content: '', toolCalls: [{ id: 'x', name: 'look', arguments: { n: 1n } }] },
      /\[1\]\.toolCalls\[0\]\.arguments to be plain JSON/,
    ],
    ['OpenAI’s calls', { role: 'assistant', content: null, tool_calls: [] }, /\[1\].*`messagesFromOpenAI`/],
    ['OpenAI’s results', { role: 'tool', content: '', tool_call_id: 'x' }, /\[1\].*`messagesFromOpenAI`/],
  ]
  const model = () => scriptedModel(['never'])
  const takers: [string, string, (message: ChatMessage) => unknown][] = [
    ['ToolAgent.generate', 'input', async (m) => new ToolAgent({ model: model(), logger }).generate([question, m])],
    ['AgentRunner.run', 'messages', (m) => new AgentRunner({ model: model(), logger }).run('x', { messages: [question, m] })],
    ['AIDriver.query', 'prompt', (m) => new AIDriver(model()).query([question, m])],
    ['AIDriver.stream', 'messages', (m) => new AIDriver(model()).stream('x', { messages: [question, m] }).result],
    ['messagesToOpenAI', 'messages', async (m) => messagesToOpenAI([question, m])],
    ['ChatModel.generate', 'messages', (m) => createModel('demo').generate({ messages: [question, m] })],
  ]
  for (const [where, name, take] of takers) {
    it.each(bad)(`${where}: %s`, async (_what, message, words) => {
      const rejection = expect(take(message as ChatMessage)).rejects
      await rejection.toMatchObject({ code: 'invalid_message', message: expect.stringMatching(words) })
      await expect(take(message as ChatMessage)).rejects.toMatchObject({ message: expect.stringContaining(`${name}[1]`) })
    })
  }

  it('a list that is not a list', async () => {
    const wrong: ChatMessage[] = JSON.parse('{"0":"x"}')
    await expect(new AgentRunner({ model: model(), logger }).run('x', { messages: wrong })).rejects.toMatchObject({
      code: 'invalid_message',
      message: 'Expected messages to be an array of messages, got `{"0":"x"}`',
    })
    await expect(new AIDriver(model()).query(wrong)).rejects.toMatchObject({ code: 'invalid_message' })
  })

  it('a message that refers to itself, however often, is refused immediately', async () => {
    const part: { type: 'text'; text: string; [key: string]: unknown } = { type: 'text', text: 'x' }
    for (const key of ['a', 'b', 'c', 'd']) part[key] = part
    const messages: ChatMessage[] = [{ role: 'user', content: [part] }]
    await expect(new AgentRunner({ model: model(), logger }).run('x', { messages })).rejects.toMatchObject({
      code: 'invalid_message',
      message: expect.stringContaining('messages[0] to be at most 200 levels deep'),
    })
  })
})

it('a ToolRunner can run the calls of a reply, and refuses what is not a call', async () => {
  const { reply } = await replied()
  const environment = {
    context: undefined,
    signal: new AbortController().signal,
    runId: 'r',
    iteration: 1,
    idempotencyKey: 'k',
    timeoutMs: 1_000,
    maxResultBytes: 1_000,
    logger,
  }
  const runner = new ToolRunner(new ToolRegistry([look]))
  const [call] = reply.toolCalls
  if (call === undefined) throw new Error('no call')
  const { message } = await runner.run(call, environment)
  expect(message).toEqual({ role: 'tool', toolCallId: 'c1', name: 'look', content: 'seen' })
  await expect(runner.run({ id: 'x' } as never, environment)).rejects.toMatchObject({ code: 'invalid_message' })
})

it('a call in both formats is read in the wire format, with its arguments', async () => {
  const both = { id: 'c1', type: 'function', name: 'look', arguments: { a: 1 }, function: { name: 'look', arguments: '{"a":2}' } }
  const messages = [{ role: 'assistant', content: '', toolCalls: [both] }] as never
  const [message] = messagesToOpenAI(messages)
  expect(message).toMatchObject({ tool_calls: [{ id: 'c1', function: { name: 'look', arguments: '{"a":2}' } }] })
})

it('a message whose parts may still change is read again each time', async () => {
  const part = { type: 'text' as const, text: 'one' }
  const message = Object.freeze({ role: 'user' as const, content: [part] })
  const model = scriptedModel(['1', '2'])
  const runner = new AgentRunner({ model, logger })
  await runner.run(message)
  part.text = 'two'
  await runner.run(message)
  expect(model.requests.map((request) => request.messages[0]?.content)).toEqual([
    [{ type: 'text', text: 'one' }],
    [{ type: 'text', text: 'two' }],
  ])
})
