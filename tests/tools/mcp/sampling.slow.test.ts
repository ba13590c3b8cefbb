import { fileURLToPath } from 'node:url'
import { createMcpHandler, inputRequired, Server } from '@modelcontextprotocol/server'
import { describe, expect, it } from 'vitest'
import { AgentRunner, Event, type ModelRequest } from '../../../src/index.ts'
import { MemoryRuns, memoryJournal, scriptedModel } from '../../../src/testing/index.ts'
import { connectMcpServers, type McpServerOptions, type McpTools } from '../../../src/tools/mcp/index.ts'
import { recordingLogger } from '../../hazards/recording-logger.ts'
import { callTool } from './open-tools.ts'

const logger = () => recordingLogger().logger
const question = (text: string, maxTokens = 50) => ({
  systemPrompt: 'Be brief.',
  messages: [{ role: 'user' as const, content: { type: 'text' as const, text } }],
  maxTokens,
})

/** A server of 2025-11-25, as a program, that asks the model while it holds its call open. */
const openProgram = ({ env: own, ...options }: McpServerOptions & { env?: Record<string, string> }) => {
  const args = [fileURLToPath(new URL('sampling-server.ts', import.meta.url))]
  const env = { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '', ...own }
  return connectMcpServers({ poet: { command: process.execPath, args, env, prefix: '', ...options } }, { logger: logger() })
}

/** A server of 2026-07-28, which returns requests to the model in place of a result. */
const { fetch: handle } = createMcpHandler(
  () => {
    const server = new Server({ name: 'poet', version: '1' }, { capabilities: { tools: {} } })
    const names = ['ask', 'ask-often', 'ask-both']
    server.setRequestHandler('tools/list', () => ({ tools: names.map((name) => ({ name, inputSchema: { type: 'object' as const } })) }))
    server.setRequestHandler('tools/call', ({ params: { name } }, { mcpReq }) => {
      const answers = mcpReq.inputResponses
      const ask = (text: string) => inputRequired.createMessage(question(text))
      if (name === 'ask-often') return inputRequired({ inputRequests: { [`n${Math.random()}`]: ask(`Once more, ${Math.random()}`) } })
      if (answers !== undefined) return { content: [{ type: 'text' as const, text: JSON.stringify(answers) }] }
      const sure = inputRequired.elicit({
        message: 'Sure?',
        requestedSchema: { type: 'object', properties: { sure: { type: 'boolean' } } },
      })
      return inputRequired({ inputRequests: { a: ask('A rhyme?'), ...(name === 'ask-both' ? { sure } : {}) }, requestState: 's' })
    })
    return server
  },
  { legacy: 'reject' },
)
const openAddress = (options: McpServerOptions) => {
  const fetch = (url: string | URL, init?: RequestInit) => handle(new Request(url, init))
  return connectMcpServers({ poet: { url: 'http://localhost/mcp', fetch, prefix: '', ...options } }, { logger: logger() })
}

/** A run that calls one tool, whose model answers the server's requests too. */
function runOf(tools: McpTools, name: string, options: object = {}) {
  const asked: ModelRequest[] = []
  const model = scriptedModel((request) => {
    if (request.messages.some(({ content }) => content === 'Go.')) {
      return request.messages.at(-1)?.role === 'tool' ? 'Done.' : { toolCalls: [{ name, args: {} }] }
    }
    asked.push({ ...request, messages: [...request.messages] })
    return { text: `answer ${asked.length}`, usage: { inputTokens: 100, outputTokens: 20, totalTokens: 120 } }
  })
  const runner = new AgentRunner({ model, tools, logger: logger(), ...options })
  return { runner, asked }
}

it('a server may ask the model if all open calls belong to one run, but not otherwise (2025-11-25)', async () => {
  await using tools = await openProgram({ sampling: true })
  const toolCalls = [{ name: 'listen' }, { name: 'ask' }]
  const model = scriptedModel(({ messages: [first, ...rest] }) => {
    if (first?.content !== 'Go.') return 'thyme'
    return rest.length > 0 ? 'Done.' : { toolCalls }
  })
  const one = await new AgentRunner({ model, tools, logger: logger() }).run('Go.')
  expect(one.toolCalls.map(({ content }) => content)).toEqual(['"asked"', expect.stringContaining('thyme')])

  await using others = await openProgram({ sampling: true })
  const [listening, asking] = [runOf(others, 'listen'), runOf(others, 'ask')]
  const started = Promise.withResolvers<void>()
  listening.runner.on(Event.TOOL_CALL_START, () => started.resolve())
  const listened = listening.runner.run('Go.')
  await started.promise
  expect((await asking.runner.run('Go.')).toolCalls[0]).toMatchObject({ outcome: 'failed' })
  expect((await listened).toolCalls[0]?.content).toBe('"asked"')
  expect([...listening.asked, ...asking.asked]).toEqual([])
})

describe.each([
  ['2025-11-25', openProgram],
  ['2026-07-28', openAddress],
] as const)('a server’s request to the model during a call (%s)', (_revision, open) => {
  it('is refused unless allowed', async () => {
    await using tools = await open({})
    const { runner, asked } = runOf(tools, 'ask')
    const { toolCalls } = await runner.run('Go.')
    expect(toolCalls[0]).toMatchObject({ outcome: 'failed' })
    expect(asked).toEqual([])
  })

  it('is answered by the run’s model, within limits, and counts as usage of the call', async () => {
    await using tools = await open({ sampling: { maxTokens: 30 } })
    const { runner, asked } = runOf(tools, 'ask')
    const { toolCalls, usage } = await runner.run('Go.')
    expect(toolCalls[0]).toMatchObject({
      outcome: 'ok',
      content: expect.stringContaining('answer 1'),
      nested: { usage: { totalTokens: 120 } },
    })
    expect(usage.totalTokens).toBeGreaterThanOrEqual(120)
    expect(asked).toMatchObject([
      {
        maxOutputTokens: 30,
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'A rhyme?' },
        ],
      },
    ])
    expect(asked[0]?.tools ?? []).toEqual([])
  })

  it('is limited in number, and ends with the run’s limits', async () => {
    await using tools = await open({ sampling: { maxRequests: 3 } })
    const often = runOf(tools, 'ask-often')
    const { toolCalls } = await often.runner.run('Go.')
    expect(toolCalls[0]).toMatchObject({
      outcome: 'failed',
      content: expect.stringMatching(/sent more than 3 requests to the model in one call/),
    })
    expect(often.asked).toHaveLength(3)
    const poor = runOf(tools, 'ask-often', { limits: { tokens: 200 } })
    const result = await poor.runner.run('Go.')
    expect(result.stopReason).toBe('budget')
    expect(poor.asked.length).toBeLessThanOrEqual(2)
  })

  it('is refused outside of a run', async () => {
    await using tools = await open({ sampling: true })
    expect(await callTool(tools, 'ask')).toMatchObject({ outcome: 'failed', content: expect.stringMatching(/no run with a model/) })
  })
})

describe('an answer of the model', () => {
  it('counts against the server’s limit even if it fails, because it costs as well', async () => {
    await using tools = await openProgram({ sampling: { maxRequests: 3 } })
    let asked = 0
    const model = scriptedModel(({ messages }) => {
      if (messages.at(-1)?.role === 'tool') return 'Done.'
      if (messages.some(({ content }) => content === 'Go.')) return { toolCalls: [{ name: 'ask-whatever-comes', args: {} }] }
      asked++
      return { text: '', finishReason: 'content_filter' }
    })
    const { toolCalls } = await new AgentRunner({ model, tools, logger: logger() }).run('Go.')
    expect(toolCalls[0]).toMatchObject({ outcome: 'ok', content: expect.stringMatching(/more than 3 requests to the model in one call/) })
    expect(asked).toBe(3)
  })

  it('is not requested again if a person’s answer makes the call run again', async () => {
    await using tools = await openAddress({ sampling: true })
    const { runner, asked } = runOf(tools, 'ask-both')
    const paused = await runner.run('Go.')
    expect(paused.pending).toMatchObject([{ about: { message: 'Sure?' } }])
    const state = JSON.parse(JSON.stringify(paused.state))
    await using later = await openAddress({ sampling: true })
    const again = runOf(later, 'ask-both')
    const result = await again.runner.resume(state, { decisions: paused.pending.map((item) => ({ ...item, answer: { sure: true } })) })
    expect(JSON.parse(String(result.toolCalls[0]?.content))).toMatchObject({
      a: { content: { text: 'answer 1' } },
      sure: { action: 'accept' },
    })
    expect([asked.length, again.asked.length]).toEqual([1, 0])
  })

  it('is read from the journal if a repeatable call runs again after a crash', async () => {
    const kept = new MemoryRuns()
    const journal = memoryJournal(kept)
    const effects = { 'ask-slowly': 'idempotent' } as const
    await using tools = await openProgram({ sampling: true, effects, env: { SLOW: 'yes' } })
    const first = runOf(tools, 'ask-slowly', { journal })
    const answered = new Promise((resolve) => first.runner.on(Event.TOOL_PROGRESS, resolve))
    const crashed = first.runner.run('Go.', { runId: 'r1' }).catch(() => {})
    // The server reports progress once it has its answer, and stops there.
    await answered
    await journal.close()
    await crashed
    await using later = await openProgram({ sampling: true, effects })
    const second = runOf(later, 'ask-slowly', { journal: memoryJournal(kept) })
    const [recovered] = await second.runner.recover()
    expect(recovered?.stopReason).toBe('answered')
    expect((await second.runner.runs.get('r1'))?.result?.toolCalls[0]).toMatchObject({
      outcome: 'ok',
      content: expect.stringContaining('answer 1'),
    })
    expect([first.asked.length, second.asked.length]).toEqual([1, 0])
  })
})
