import {
  DefaultChatTransport,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage,
} from 'ai'
import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { Budget } from '../../src/agent/limits/budget.ts'
import type { RunStream } from '../../src/agent/runner/run-stream.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import type { RunnerOptions, RunResult } from '../../src/agent/types/options.ts'
import { createLogger } from '../../src/core/logger.ts'
import type { ScriptedCall, ScriptedTurn } from '../../src/testing/script.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { ask, defineTool } from '../../src/tools/tool.ts'
import { decisionsFromUI, messagesFromUI, toUIMessageResponse } from '../../src/ui/index.ts'
import { serveFetch } from '../fetch-server.ts'
import { chatAt, readChunks, userMessage } from './chat.ts'

const logger = createLogger({ level: 'silent' })
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const
const weather = defineTool({ name: 'weather', description: 'The weather.', parameters, execute: ({ city }) => ({ city, celsius: 21 }) })
const paid: number[] = []
const refund = defineTool({
  name: 'refund',
  description: 'Pays back.',
  parameters: { type: 'object', properties: { euros: { type: 'number' } }, required: ['euros'] },
  approval: true,
  execute: ({ euros }) => {
    paid.push(euros)
    return `${euros} euros were paid`
  },
})
const pickFile = defineTool({ name: 'pick_file', description: 'Lets the user choose.' })
const book = defineTool({
  name: 'book',
  description: 'Books.',
  execute: (_args, { answer }) => (answer === undefined ? ask({ about: 'For how many?' }) : { people: answer }),
})

/** A chat backend as an application would write it: paused runs by chat, and the runs that continue. */
async function chatBackend(options: RunnerOptions) {
  const runner = new AgentRunner({ logger, ...options })
  const paused = new Map<string, RunResult>()
  const active = new Map<string, RunStream>()
  const results: RunResult[] = []
  const server = await serveFetch(async (request) => {
    const { pathname } = new URL(request.url)
    if (request.method === 'GET') {
      const run = active.get(pathname.split('/')[2] ?? '')
      return run === undefined ? new Response(null, { status: 204 }) : toUIMessageResponse(run, { onDisconnect: 'continue' })
    }
    const { id, messages } = (await request.json()) as { id: string; messages: unknown }
    const waiting = paused.get(id)
    const decisions = waiting === undefined ? [] : decisionsFromUI(messages, waiting.pending)
    const run =
      waiting === undefined || decisions.length === 0
        ? runner.stream(messagesFromUI(messages))
        : runner.resumeStream(waiting.state, { decisions })
    if (decisions.length === 0) paused.delete(id)
    active.set(id, run)
    const ended = (result: RunResult) => {
      results.push(result)
      active.delete(id)
      if (result.stopReason === 'paused') paused.set(id, result)
      else paused.delete(id)
    }
    run.result.then(ended, () => active.delete(id))
    return toUIMessageResponse(run, { originalMessages: messages, onDisconnect: 'continue' })
  })
  return { ...server, results, active, paused }
}

const send = (url: string, messages: UIMessage[], abortSignal?: AbortSignal) =>
  new DefaultChatTransport({ api: `${url}/chat` }).sendMessages({
    trigger: 'submit-message',
    chatId: 'c1',
    messageId: undefined,
    messages,
    abortSignal,
  })
const toolParts = (message: UIMessage | undefined) => (message?.parts ?? []).filter(isToolUIPart)

describe('the AI SDK’s UI message stream', () => {
  it('sends text, reasoning and parallel tools as one message, validated by the client', async () => {
    const model = scriptedModel([
      {
        reasoning: 'Two cities.',
        text: 'I look. ',
        interleave: true,
        toolCalls: [
          { name: 'weather', args: { city: 'Oslo' } },
          { name: 'weather', args: { city: 'Rome' } },
        ],
      },
      'Both 21.',
    ])
    await using backend = await chatBackend({ model, tools: [weather] })
    const { chunks, message, errors } = await readChunks(await send(backend.url, [userMessage('weather?')]))
    expect(errors).toEqual([])
    expect(message?.parts).toMatchObject([
      { type: 'step-start' },
      { type: 'reasoning', text: 'Two cities.', state: 'done' },
      { type: 'text', text: 'I look. ', state: 'done' },
      { type: 'tool-weather', state: 'output-available', input: { city: 'Oslo' }, output: { city: 'Oslo', celsius: 21 } },
      { type: 'tool-weather', state: 'output-available', input: { city: 'Rome' }, output: { city: 'Rome', celsius: 21 } },
      { type: 'step-start' },
      { type: 'text', text: 'Both 21.', state: 'done' },
    ])
    expect(chunks.filter(({ type }) => type === 'start-step').length).toBe(chunks.filter(({ type }) => type === 'finish-step').length)
    expect(chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'stop' })
    // The page sends back the conversation of the run.
    expect(messagesFromUI([userMessage('weather?'), message])).toEqual(
      backend.results[0]?.messages.map(({ providerData: _, ...kept }) => kept),
    )
  })

  it('F7 finishes a cut answer with `length`', async () => {
    await using backend = await chatBackend({ model: scriptedModel([{ text: 'Half', finishReason: 'length' }]) })
    const { chunks, errors } = await readChunks(await send(backend.url, [userMessage('go')]))
    expect(errors).toEqual([])
    expect(chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'length' })
  })

  it('F7 sends a continued answer as one text', async () => {
    const model = scriptedModel([{ text: 'Half', finishReason: 'length' }, ' and half.'])
    await using backend = await chatBackend({ model, onTruncated: 'continue' })
    const { chunks, message, errors } = await readChunks(await send(backend.url, [userMessage('go')]))
    expect(errors).toEqual([])
    expect(message?.parts).toMatchObject([{ type: 'step-start' }, { type: 'text', text: 'Half and half.', state: 'done' }])
    expect(chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'stop' })
    expect(messagesFromUI([userMessage('go'), message])).toEqual(backend.results[0]?.messages)
  })

  it('handles repeated ids of a provider, failed tools, and calls that can’t be run', async () => {
    const broken = defineTool({ name: 'broken', description: 'Breaks.', execute: () => Promise.reject(new Error('no paper')) })
    const model = scriptedModel([
      { toolCalls: [{ id: 'call_0', name: 'broken' }] },
      { toolCalls: [{ id: 'call_0', name: 'weather', args: {} }] },
      { toolCalls: [{ id: 'call_0', name: 'nothing', args: '{"cut' }] },
      'Sorry.',
    ])
    await using backend = await chatBackend({ model, tools: [weather, broken] })
    const { message, errors } = await readChunks(await send(backend.url, [userMessage('go')]))
    expect(errors).toEqual([])
    const parts = toolParts(message)
    expect(parts).toMatchObject([
      { type: 'tool-broken', state: 'output-error', errorText: expect.stringContaining('no paper') },
      { type: 'tool-weather', state: 'output-error', input: {}, errorText: expect.stringContaining('city') },
      { type: 'tool-nothing', state: 'output-error', errorText: expect.stringContaining('Tool not found') },
    ])
    expect(new Set(parts.map(({ toolCallId }) => toolCallId)).size).toBe(3)
    expect(messagesFromUI([userMessage('go'), message])).toEqual(backend.results[0]?.messages)
  })

  it.each<[what: string, turn: ScriptedTurn | string, options: Partial<RunnerOptions>]>([
    ['in one piece', { toolCalls: [{ name: 'weather', args: { city: 'Oslo' } }] }, { stream: false }],
    ['written as text', '<tool_action name="weather"><city value="Oslo" /></tool_action>', { toolCalling: 'tags' }],
  ])('sends arguments and results of calls that arrive %s', async (_what, turn, options) => {
    await using backend = await chatBackend({ model: scriptedModel([turn, 'Fine.']), tools: [weather], ...options })
    const { message, errors } = await readChunks(await send(backend.url, [userMessage('weather?')]))
    expect(errors).toEqual([])
    expect(toolParts(message)).toMatchObject([
      { type: 'tool-weather', state: 'output-available', input: { city: 'Oslo' }, output: { celsius: 21 } },
    ])
    expect(message?.parts.at(-1)).toMatchObject({ type: 'text', text: 'Fine.' })
  })

  it.each([
    ['approved', true],
    ['refused', false],
  ])('P3.2 shows what a nested agent waits for as an approval on the page, which is %s', async (_what, approved) => {
    paid.length = 0
    const turns = ({ messages }: { messages: readonly { role: string }[] }) =>
      messages.at(-1)?.role === 'user' ? { text: 'inner', toolCalls: [{ id: 'call_1', name: 'refund', args: { euros: 7 } }] } : 'done'
    const inner = new AgentRunner({ model: scriptedModel(turns), tools: [refund] })
    const helper = asTool(inner, { name: 'helper', description: 'Helps.', forwardEvents: true })
    const model = scriptedModel([{ toolCalls: [{ id: 'call_1', name: 'helper', args: { task: 'pay' } }] }, 'All done.', 'Bye.'])
    await using backend = await chatBackend({ model, tools: [helper] })
    const chat = chatAt(backend.url, { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses })
    await chat.sendMessage({ text: 'go' })
    expect(toolParts(chat.lastMessage)).toMatchObject([
      { type: 'tool-helper', toolCallId: 'call_1', state: 'output-available', output: 'The agent `helper` waits for decisions.' },
      { type: 'tool-refund', toolCallId: 'call_1/call_1', state: 'approval-requested', input: { euros: 7 } },
    ])
    expect(JSON.stringify(chat.messages)).not.toContain('inner')
    const id = toolParts(chat.lastMessage)[1]?.approval?.id ?? ''
    await chat.addToolApprovalResponse({ id, approved, ...(approved ? {} : { reason: 'no' }) })
    await expect.poll(() => chat.lastMessage?.parts.at(-1)).toMatchObject({ type: 'text', text: 'All done.', state: 'done' })
    expect([paid, chat.error]).toEqual([approved ? [7] : [], undefined])
    expect(toolParts(chat.lastMessage)).toMatchObject([
      { state: 'output-available', output: 'done' },
      approved ? { state: 'output-available', output: expect.stringContaining('`helper`') } : { state: 'output-denied' },
    ])
    expect(chat.lastMessage?.parts).toContainEqual(
      expect.objectContaining({
        type: 'data-decision',
        data: expect.objectContaining({ toolCallId: 'call_1/call_1', tool: 'refund', approved }),
      }),
    )
    // The next message of the page contains them again, although they are not calls of this conversation.
    await chat.sendMessage({ text: 'thanks' })
    const sent = JSON.stringify(model.requests.at(-1)?.messages)
    expect(sent).toContain('helper')
    expect(sent).not.toContain('refund')
  })

  it('shows a run over its budget as an approval on the page', async () => {
    const budget = new Budget({ costUsd: 1, spent: { costUsd: 1 } })
    const priced = scriptedModel(['Done.'], { capabilities: { nativeTools: true, price: { input: 1, output: 1 } } })
    await using backend = await chatBackend({ model: priced, budget, onBudget: 'pause' })
    const chat = chatAt(backend.url, { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses })
    await chat.sendMessage({ text: 'go' })
    const [part] = toolParts(chat.lastMessage)
    expect(part).toMatchObject({ type: 'tool-budget', state: 'approval-requested' })
    budget.raise({ costUsd: 5 })
    await chat.addToolApprovalResponse({ id: part?.approval?.id ?? '', approved: true })
    await expect.poll(() => chat.lastMessage?.parts.at(-1)).toMatchObject({ type: 'text', text: 'Done.', state: 'done' })
    expect(toolParts(chat.lastMessage)).toMatchObject([{ state: 'output-available', output: 'The run continues.' }])
  })

  it('ends with an error, and reveals nothing of the provider’s message', async () => {
    await using backend = await chatBackend({ model: scriptedModel([{ text: 'Let me', error: new Error('key sk-123 refused') }]) })
    const { chunks, errors, message } = await readChunks(await send(backend.url, [userMessage('hi')]))
    expect(chunks.at(-1)).toEqual({ type: 'error', errorText: 'The provider answered with an error.' })
    expect(errors).toHaveLength(1)
    expect(message?.parts.at(-1)).toMatchObject({ type: 'text', text: 'Let me', state: 'done' })
  })

  it('sends an answer that no model has streamed', async () => {
    const done = defineTool({ name: 'done', description: 'Ends.', final: true, execute: () => 'the answer' })
    await using backend = await chatBackend({ model: scriptedModel([{ toolCalls: [{ name: 'done' }] }]), tools: [done] })
    const { message } = await readChunks(await send(backend.url, [userMessage('hi')]))
    expect(message?.parts.at(-1)).toMatchObject({ type: 'text', text: 'the answer' })
  })

  it('sends a tool’s progress as a transient part, and metadata at the start and end', async () => {
    const dig = defineTool({ name: 'dig', description: 'Digs.', execute: (_args, { progress }) => progress({ depth: 1 }) })
    const run = new AgentRunner({ model: scriptedModel([{ toolCalls: [{ name: 'dig' }] }, 'done']), tools: [dig] }).stream('dig')
    const messageMetadata = (ending?: { stopReason?: string }) => (ending === undefined ? { model: 'm' } : { ended: ending.stopReason })
    await using server = await serveFetch(() => toUIMessageResponse(run, { messageId: 'm1', messageMetadata }))
    const { chunks, message } = await readChunks(await send(server.url, [userMessage('dig')]))
    expect(chunks).toContainEqual({
      type: 'data-tool-progress',
      data: expect.objectContaining({ tool: 'dig', update: { depth: 1 } }),
      transient: true,
    })
    expect(message).toMatchObject({ id: 'm1', metadata: { model: 'm', ended: 'answered' } })
    expect(message?.parts.map(({ type }) => type)).not.toContain('data-tool-progress')
  })

  it('has a response with the right headers', async () => {
    const response = toUIMessageResponse(new AgentRunner({ model: scriptedModel(['hi']) }).stream('hi'))
    expect(response.headers.get('x-vercel-ai-ui-message-stream')).toBe('v1')
    expect((await response.text()).endsWith('data: [DONE]\n\n')).toBe(true)
  })
})

describe('useChat’s client with a backend', () => {
  it('runs a call after an approval, not after a refusal, and continues the same message', async () => {
    paid.length = 0
    const calls: ScriptedCall[] = [
      { name: 'refund', args: { euros: 10 } },
      { name: 'refund', args: { euros: 20 } },
      { name: 'weather', args: { city: 'Oslo' } },
    ]
    const model = scriptedModel([{ text: 'Two. ', toolCalls: calls }, 'One was paid.'])
    await using backend = await chatBackend({ model, tools: [refund, weather] })
    const chat = chatAt(backend.url, { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses })
    await chat.sendMessage({ text: 'pay me' })
    const [one, two, three] = toolParts(chat.lastMessage)
    expect([one?.state, two?.state, three?.state]).toEqual(['approval-requested', 'approval-requested', 'output-available'])
    expect(paid).toEqual([])
    const [id] = chat.messages.slice(-1).map((message) => message.id)
    await chat.addToolApprovalResponse({ id: one?.approval?.id ?? '', approved: true })
    await chat.addToolApprovalResponse({ id: two?.approval?.id ?? '', approved: false, reason: 'too much' })
    await expect.poll(() => chat.lastMessage?.parts.at(-1)).toMatchObject({ type: 'text', text: 'One was paid.', state: 'done' })
    expect(paid).toEqual([10])
    expect(chat.messages.map((message) => message.id).slice(1)).toEqual([id])
    expect(toolParts(chat.lastMessage)).toMatchObject([
      { state: 'output-available', output: '10 euros were paid' },
      { state: 'output-denied', approval: { approved: false } },
      { state: 'output-available' },
    ])
    expect(JSON.stringify(model.requests[1]?.messages)).toContain('too much')
  })

  it('runs an approved call with edited arguments, validated by the tool’s schema', async () => {
    paid.length = 0
    const model = scriptedModel([{ toolCalls: [{ name: 'refund', args: { euros: 250 } }] }, 'Paid.'])
    await using backend = await chatBackend({ model, tools: [refund] })
    const first = await readChunks(await send(backend.url, [userMessage('pay')]))
    const edited = (input: unknown): UIMessage[] => {
      const message = structuredClone(first.message)
      for (const part of message?.parts ?? [])
        if (isToolUIPart(part)) Object.assign(part, { input, state: 'approval-responded', approval: { ...part.approval, approved: true } })
      return [userMessage('pay'), message as UIMessage]
    }
    const refused = await readChunks(await send(backend.url, edited({ euros: 'all' })))
    expect(refused.chunks.at(-1)).toMatchObject({
      type: 'error',
      errorText: 'An option is unknown or has an invalid value; thrown before anything is sent.',
    })
    expect(paid).toEqual([])
    const { chunks } = await readChunks(await send(backend.url, edited({ euros: 200 })))
    expect(paid).toEqual([200])
    expect(chunks).toContainEqual(expect.objectContaining({ type: 'tool-input-available', input: { euros: 200 } }))
    expect(chunks).toContainEqual(
      expect.objectContaining({ type: 'tool-output-available', output: expect.stringContaining('200 euros were paid') }),
    )
  })

  it('receives each call of the page’s tools once; its output or error goes to the model', async () => {
    const model = scriptedModel([{ toolCalls: [{ name: 'pick_file' }] }, { toolCalls: [{ name: 'pick_file' }] }, 'Got it.'])
    await using backend = await chatBackend({ model, tools: [pickFile] })
    const told: string[] = []
    const chat = chatAt(backend.url, {
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
      onToolCall: ({ toolCall: { toolName, toolCallId } }) => {
        told.push(toolCallId)
        if (told.length === 1) void chat.addToolOutput({ tool: toolName, toolCallId, output: { name: 'menu.pdf' } })
        else void chat.addToolOutput({ tool: toolName, toolCallId, state: 'output-error', errorText: 'closed the window' })
      },
    })
    await chat.sendMessage({ text: 'pick' })
    await expect.poll(() => chat.lastMessage?.parts.at(-1)).toMatchObject({ type: 'text', text: 'Got it.', state: 'done' })
    expect(new Set(told).size).toBe(2)
    expect(told).toHaveLength(2)
    expect(toolParts(chat.lastMessage)).toMatchObject([
      { state: 'output-available', output: { name: 'menu.pdf' } },
      { state: 'output-error' },
    ])
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: '{"name":"menu.pdf"}' })
    expect(model.requests[2]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'closed the window', isError: true })
    expect(chat.messages).toHaveLength(2)
  })

  it('shows a tool’s question as a call without output, whose output is the answer', async () => {
    const model = scriptedModel([{ toolCalls: [{ name: 'book' }] }, 'Booked.'])
    await using backend = await chatBackend({ model, tools: [book] })
    const chat = chatAt(backend.url, { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls })
    await chat.sendMessage({ text: 'book' })
    const [part] = toolParts(chat.lastMessage)
    expect(part?.state).toBe('input-available')
    expect(chat.lastMessage?.parts).toContainEqual(
      expect.objectContaining({ type: 'data-question', data: expect.objectContaining({ about: 'For how many?' }) }),
    )
    await chat.addToolOutput({ tool: 'book', toolCallId: part?.toolCallId ?? '', output: 4 })
    await expect.poll(() => chat.lastMessage?.parts.at(-1)).toMatchObject({ type: 'text', text: 'Booked.', state: 'done' })
    expect(toolParts(chat.lastMessage)[0]).toMatchObject({ state: 'output-available', output: { people: 4 } })
  })

  it('starts a new run if the user sends a message instead of deciding, and runs nothing', async () => {
    paid.length = 0
    const model = scriptedModel([{ toolCalls: [{ name: 'refund', args: { euros: 1 } }] }, 'Well then.'])
    await using backend = await chatBackend({ model, tools: [refund] })
    const chat = chatAt(backend.url)
    await chat.sendMessage({ text: 'pay' })
    await chat.sendMessage({ text: 'forget it' })
    expect(chat.lastMessage?.parts.at(-1)).toMatchObject({ type: 'text', text: 'Well then.' })
    expect(paid).toEqual([])
    expect(model.requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
  })

  it('gets the whole message when it reconnects, and 204 if nothing is running', async () => {
    const held = Promise.withResolvers<void>()
    const model = scriptedModel([{ chunks: ['one ', held.promise, 'two'] }])
    await using backend = await chatBackend({ model })
    const transport = new DefaultChatTransport({ api: `${backend.url}/chat` })
    expect(await transport.reconnectToStream({ chatId: 'c1' })).toBeNull()
    const client = new AbortController()
    const reader = (await send(backend.url, [userMessage('count')], client.signal)).getReader()
    for (let read = await reader.read(); !(read.value?.type === 'text-delta'); ) read = await reader.read()
    client.abort()
    const stream = await transport.reconnectToStream({ chatId: 'c1' })
    held.resolve()
    if (stream === null) throw new Error('Expected a stream')
    const { message, errors } = await readChunks(stream)
    expect(errors).toEqual([])
    expect(message?.parts).toMatchObject([{ type: 'step-start' }, { type: 'text', text: 'one two', state: 'done' }])
    await expect.poll(() => backend.active.size).toBe(0)
    expect(await transport.reconnectToStream({ chatId: 'c1' })).toBeNull()
  })

  it('ends the run if it stops, and keeps the text so far', async () => {
    const model = scriptedModel([{ text: 'one ', hang: true }])
    const runs: RunStream[] = []
    await using server = await serveFetch(async (request) => {
      const run = new AgentRunner({ model }).stream(messagesFromUI(((await request.json()) as { messages: unknown }).messages))
      runs.push(run)
      return toUIMessageResponse(run)
    })
    const chat = chatAt(server.url)
    const sent = chat.sendMessage({ text: 'count' })
    await expect.poll(() => chat.lastMessage?.parts.at(-1)).toMatchObject({ type: 'text', text: 'one ' })
    await chat.stop()
    await sent
    expect(await runs[0]?.result).toMatchObject({ stopReason: 'aborted', text: 'one ' })
    expect(chat.status).toBe('ready')
  })

  it('sees a run that the server aborts as aborted', async () => {
    const abort = new AbortController()
    const run = new AgentRunner({ model: scriptedModel([{ text: 'one ', hang: true }]) }).stream('hi', { signal: abort.signal })
    const response = toUIMessageResponse(run)
    abort.abort()
    expect(await response.text()).toContain('data: {"type":"abort","reason":"The caller aborted the run."}\n\ndata: [DONE]')
  })
})
