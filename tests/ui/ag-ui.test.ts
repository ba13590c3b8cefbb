import { type BaseEvent, EventType, HttpAgent, type Interrupt, type RunAgentInput, type RunFinishedEvent } from '@ag-ui/client'
import { describe, expect, it, vi } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { RunStream } from '../../src/agent/runner/run-stream.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import type { RunnerOptions, RunResult } from '../../src/agent/types/options.ts'
import { createLogger } from '../../src/core/logger.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { type AnyTool, ask, defineTool } from '../../src/tools/tool.ts'
import { decisionsFromAgUi, inputFromAgUi, toAgUiResponse } from '../../src/ui/index.ts'
import { serveFetch } from '../fetch-server.ts'

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
const book = defineTool({
  name: 'book',
  description: 'Books.',
  execute: (_args, { answer }) =>
    answer === undefined ? ask({ about: 'For how many?', schema: { type: 'number' } }) : `booked for ${answer}`,
})

/** A backend as an application would write it: paused runs by thread. */
async function agUiBackend({ tools = [], ...options }: Omit<RunnerOptions, 'tools'> & { tools?: readonly AnyTool[] }) {
  const runner = new AgentRunner({ logger, ...options })
  const paused = new Map<string, RunResult>()
  const active = new Map<string, RunStream>()
  const server = await serveFetch(async (request) => {
    const input = inputFromAgUi(await request.json())
    const again = active.get(input.threadId)
    if (again !== undefined) return toAgUiResponse(again, { input })
    const waiting = paused.get(input.threadId)
    const decisions = waiting === undefined ? [] : decisionsFromAgUi(input, waiting.pending)
    const all = { tools: [...tools, ...input.tools] }
    const run =
      waiting === undefined || decisions.length === 0
        ? runner.stream(input.messages, all)
        : runner.resumeStream(waiting.state, { decisions, ...all })
    if (decisions.length === 0) paused.delete(input.threadId)
    active.set(input.threadId, run)
    const ended = (result: RunResult) => {
      active.delete(input.threadId)
      if (result.stopReason === 'paused') paused.set(input.threadId, result)
      else paused.delete(input.threadId)
    }
    run.result.then(ended, () => active.delete(input.threadId))
    return toAgUiResponse(run, { input, onDisconnect: request.headers.get('x-stay') === null ? 'abort' : 'continue' })
  })
  return { ...server, active }
}

/** The real client, which checks the order and shape of every event, with what it saw. */
function agentAt(url: string, headers: Record<string, string> = {}) {
  const agent = new HttpAgent({ url, threadId: 't1', headers })
  const events: BaseEvent[] = []
  const warned = vi.spyOn(console, 'warn')
  const run = async (parameters: Parameters<HttpAgent['runAgent']>[0] = {}) => {
    events.length = 0
    const ended = await agent.runAgent(parameters, { onEvent: ({ event }) => void events.push(event) })
    // A client of 1.0 strips unknown fields and warns.
    expect(warned.mock.calls).toEqual([])
    return ended
  }
  const say = (content: string) => agent.addMessage({ id: crypto.randomUUID(), role: 'user', content })
  const types = () => events.map(({ type }) => type)
  const finished = () => events.at(-1) as RunFinishedEvent
  const interrupts = (): Interrupt[] => {
    const { outcome } = finished()
    return outcome?.type === 'interrupt' ? outcome.interrupts : []
  }
  return { agent, events, run, say, types, finished, interrupts }
}

describe('AG-UI 1.0', () => {
  it('sends text, reasoning, steps and parallel tools in the order that the client requires', async () => {
    const model = scriptedModel([
      {
        reasoning: 'Two cities.',
        text: 'I look. ',
        interleave: true,
        toolCalls: [
          { name: 'weather', args: { city: 'Oslo' } },
          { name: 'weather', args: { city: 'Rome' } },
        ],
        usage: { inputTokens: 10, outputTokens: 5 },
      },
      { text: 'Both 21.', usage: { inputTokens: 20, outputTokens: 3 } },
    ])
    await using backend = await agUiBackend({ model, tools: [weather] })
    const { agent, run, say, finished, types, events } = agentAt(backend.url)
    say('weather?')
    await run({ runId: 'r1' })
    expect(events[0]).toMatchObject({ type: 'RUN_STARTED', threadId: 't1', runId: 'r1', protocolVersion: '1.0' })
    expect(agent.messages).toMatchObject([
      { role: 'user' },
      { role: 'reasoning', content: 'Two cities.' },
      {
        role: 'assistant',
        content: 'I look. ',
        toolCalls: [{ function: { name: 'weather', arguments: '{"city":"Oslo"}' } }, { function: { arguments: '{"city":"Rome"}' } }],
      },
      { role: 'tool', content: '{"city":"Oslo","celsius":21}' },
      { role: 'tool', content: '{"city":"Rome","celsius":21}' },
      { role: 'assistant', content: 'Both 21.' },
    ])
    expect(types().filter((type) => type === EventType.STEP_STARTED)).toHaveLength(2)
    expect(finished()).toMatchObject({
      type: 'RUN_FINISHED',
      outcome: { type: 'success' },
      usage: [{ provider: 'scripted', model: 'scripted-model', inputTokens: 30, outputTokens: 8, totalTokens: 38 }],
      metadata: { stopReason: 'answered' },
    })
    say('again')
    expect(
      inputFromAgUi(JSON.parse(JSON.stringify({ threadId: 't', runId: 'r', messages: agent.messages } satisfies Partial<RunAgentInput>)))
        .messages,
    ).toHaveLength(6)
  })

  it('ends the run with an error, and reveals nothing of the provider’s message', async () => {
    await using backend = await agUiBackend({ model: scriptedModel([{ text: 'Let me', error: new Error('key sk-123 refused') }]) })
    const { run, say, events } = agentAt(backend.url)
    say('hi')
    await run().catch(() => {})
    expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', message: 'The provider answered with an error.', code: 'provider_error' })
  })

  it('gives results to failed and unrunnable calls, and distinguishes repeated ids of a provider', async () => {
    const model = scriptedModel([
      { toolCalls: [{ id: 'c', name: 'weather', args: {} }] },
      { toolCalls: [{ id: 'c', name: 'nothing' }] },
      'Sorry.',
    ])
    await using backend = await agUiBackend({ model, tools: [weather] })
    const { agent, run, say } = agentAt(backend.url)
    say('go')
    await run()
    const results = agent.messages.filter(({ role }) => role === 'tool')
    expect(results.map(({ content }) => content)).toEqual([expect.stringContaining('city'), expect.stringContaining('Tool not found')])
    expect(new Set(results.map((message) => (message.role === 'tool' ? message.toolCallId : ''))).size).toBe(2)
  })

  it('sends an approval with edited arguments, a refusal, and a question as interrupts, answered by the next input', async () => {
    paid.length = 0
    const calls = [{ name: 'refund', args: { euros: 250 } }, { name: 'refund', args: { euros: 20 } }, { name: 'book' }]
    const model = scriptedModel([{ toolCalls: calls }, 'All done.'])
    await using backend = await agUiBackend({ model, tools: [refund, book] })
    const { agent, events, run, say, interrupts, types, finished } = agentAt(backend.url)
    say('pay')
    await run()
    expect(interrupts()).toMatchObject([
      { reason: 'tool_call', metadata: { tool: 'refund', args: { euros: 250 } }, responseSchema: { required: ['approved'] } },
      { reason: 'tool_call' },
      { reason: 'input_required', message: 'For how many?', responseSchema: { type: 'number' } },
    ])
    expect(agent.pendingInterrupts).toHaveLength(3)
    const [edit, refuse, question] = interrupts().map(({ id }) => id) as [string, string, string]
    await run({
      resume: [
        { interruptId: edit, status: 'resolved', payload: { approved: true, editedArgs: { euros: 200 } } },
        { interruptId: refuse, status: 'cancelled' },
        { interruptId: question, status: 'resolved', payload: 4 },
      ],
    })
    expect(paid).toEqual([200])
    expect(events.filter(({ type }) => type === 'CUSTOM')).toMatchObject([
      { name: 'decision_made', value: { kind: 'approval', tool: 'refund', approved: true } },
      { name: 'decision_made', value: { kind: 'approval', tool: 'refund', approved: false } },
      { name: 'decision_made', value: { kind: 'question', tool: 'book', approved: true } },
    ])
    expect(types()).not.toContain('TOOL_CALL_START')
    expect(finished()).toMatchObject({ outcome: { type: 'success' } })
    const results = agent.messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
    expect(results).toEqual(expect.arrayContaining([expect.stringContaining('200 euros'), 'booked for 4']))
    expect(agent.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'All done.' })
  })

  it('P3.2 sends what nested agents wait for as interrupts, answered by the next input', async () => {
    paid.length = 0
    const inner = new AgentRunner({
      model: scriptedModel(({ messages }) =>
        messages.at(-1)?.role === 'user' ? { toolCalls: [{ name: 'refund', args: { euros: 7 } }, { name: 'pick_file' }] } : 'done',
      ),
      tools: [refund, defineTool({ name: 'pick_file', description: 'Picks.' })],
    })
    const helper = asTool(inner, { name: 'helper', description: 'Helps.' })
    const model = scriptedModel([{ toolCalls: [{ id: 'outer', name: 'helper', args: { task: 'pay' } }] }, 'All done.'])
    await using backend = await agUiBackend({ model, tools: [helper] })
    const { agent, run, say, interrupts, finished } = agentAt(backend.url)
    say('pay')
    await run()
    const path = [{ agent: 'helper', toolCallId: 'outer' }]
    expect(interrupts()).toMatchObject([
      { reason: 'tool_call', toolCallId: 'outer', metadata: { kind: 'approval', tool: 'refund', args: { euros: 7 }, path } },
      { reason: 'input_required', toolCallId: 'outer', metadata: { kind: 'client_tool', tool: 'pick_file', path } },
    ])
    const [approval, file] = interrupts().map(({ id }) => id) as [string, string]
    await run({
      resume: [
        { interruptId: approval, status: 'resolved', payload: { approved: true } },
        { interruptId: file, status: 'resolved', payload: 'menu.pdf' },
      ],
    })
    expect(paid).toEqual([7])
    expect(finished()).toMatchObject({ outcome: { type: 'success' } })
    expect(agent.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'All done.' })
    expect(JSON.stringify(agent.messages)).not.toContain('refund')
  })

  it('reads the page’s tools from the input, and their results from the next one', async () => {
    const model = scriptedModel([{ toolCalls: [{ name: 'pick_file', args: { kind: 'pdf' } }] }, 'Got it.'])
    await using backend = await agUiBackend({ model })
    const { agent, run, say, finished } = agentAt(backend.url)
    const tools = [{ name: 'pick_file', description: 'Picks.', parameters: { type: 'object', properties: { kind: { type: 'string' } } } }]
    say('pick')
    await run({ tools })
    const { outcome } = finished()
    const [toolCallId = ''] = outcome?.type === 'success' ? (outcome.pendingToolCallIds ?? []) : []
    expect(agent.messages.at(-1)).toMatchObject({
      role: 'assistant',
      toolCalls: [{ id: toolCallId, function: { arguments: '{"kind":"pdf"}' } }],
    })
    agent.addMessage({ id: 'm', role: 'tool', toolCallId, content: 'menu.pdf' })
    await run({ tools })
    expect(agent.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'Got it.' })
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'menu.pdf' })
  })

  it.each([
    ['a short one', 'menu.pdf'],
    ['one that the agent cuts', 'menu '.repeat(40_000)],
  ])('E1.5 does not send back a result that the page has sent: %s', async (_what, content) => {
    const calls = { toolCalls: [{ name: 'pick_file' }, { name: 'weather', args: { city: 'Oslo' } }] }
    await using backend = await agUiBackend({ model: scriptedModel([calls, 'Got it.']), tools: [weather] })
    const { agent, events, run, say } = agentAt(backend.url)
    const tools = [{ name: 'pick_file', description: 'Picks.', parameters: { type: 'object', properties: {} } }]
    const results = () => events.filter(({ type }) => type === EventType.TOOL_CALL_RESULT)
    say('pick')
    await run({ tools })
    expect(results()).toMatchObject([{ content: expect.stringContaining('celsius') }])
    const toolCallId = agent.messages.flatMap((message) => ('toolCalls' in message ? (message.toolCalls ?? []) : []))[0]?.id ?? ''
    agent.addMessage({ id: 'm', role: 'tool', toolCallId, content })
    await run({ tools })
    expect(results()).toEqual([])
    expect(agent.messages.filter((message) => message.role === 'tool' && message.toolCallId === toolCallId)).toHaveLength(1)
    expect(agent.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'Got it.' })
  })

  it('ends the run if the client stops, and sends everything to one that reconnects', async () => {
    const held = Promise.withResolvers<void>()
    const model = scriptedModel([{ text: 'one ', hang: true }, { chunks: ['two ', held.promise, 'three'] }])
    await using backend = await agUiBackend({ model })
    const first = agentAt(backend.url)
    first.say('count')
    const stopped = first.run().catch(() => {})
    await expect.poll(() => first.types()).toContain('TEXT_MESSAGE_CONTENT')
    const [run] = backend.active.values()
    first.agent.abortRun()
    await stopped
    expect((await run?.result)?.stopReason).toBe('aborted')

    const second = agentAt(backend.url, { 'x-stay': 'yes' })
    second.say('count')
    const left = second.run().catch(() => {})
    await expect.poll(() => second.types()).toContain('TEXT_MESSAGE_CONTENT')
    second.agent.abortRun()
    await left
    const third = agentAt(backend.url)
    third.say('count')
    const again = third.run()
    await expect.poll(() => third.types()).toContain('TEXT_MESSAGE_CONTENT')
    held.resolve()
    await again
    expect(third.agent.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'two three' })
  })

  it('F7 says that an answer was cut', async () => {
    const run = new AgentRunner({ model: scriptedModel([{ text: 'Half', finishReason: 'length' }]), logger }).stream('hi')
    const events = (await toAgUiResponse(run).text()).trim().split('\n\n')
    expect(JSON.parse(events.at(-1)?.slice('data: '.length) ?? '')).toMatchObject({
      type: 'RUN_FINISHED',
      outcome: { type: 'success' },
      metadata: { stopReason: 'truncated' },
    })
  })

  it('F7 sends a continued answer as one message', async () => {
    const model = scriptedModel([{ text: 'Half', finishReason: 'length' }, ' and half.'])
    await using backend = await agUiBackend({ model, onTruncated: 'continue' })
    const { agent, run, say, types } = agentAt(backend.url)
    say('go')
    await run()
    expect(agent.messages).toMatchObject([{ role: 'user' }, { role: 'assistant', content: 'Half and half.' }])
    expect(types().filter((type) => type === 'STEP_STARTED')).toHaveLength(1)
  })

  it('sends a run that the server aborts as cancelled, and an answer with a schema as the result', async () => {
    const abort = new AbortController()
    const run = new AgentRunner({ model: scriptedModel([{ text: 'one ', hang: true }]) }).stream('hi', { signal: abort.signal })
    const response = toAgUiResponse(run)
    abort.abort()
    const text = await response.text()
    expect(text).toContain('"outcome":{"type":"cancelled"}')
    expect(text).toMatch(/^data: \{"type":"RUN_STARTED","threadId":"(run_[\w-]+)","runId":"\1"/)
    const output = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const
    const structured = new AgentRunner({ model: scriptedModel(['{"n":1}']) }).stream('hi', { output })
    expect(await toAgUiResponse(structured).text()).toContain('"result":{"n":1}')
  })
})
