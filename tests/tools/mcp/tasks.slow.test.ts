import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { AgentRunner, type Json, type RunResult } from '../../../src/index.ts'
import { MemoryRuns, memoryJournal, scriptedModel } from '../../../src/testing/index.ts'
import { connectMcpServers, type McpServerOptions, type McpTools } from '../../../src/tools/mcp/index.ts'
import { recordingLogger } from '../../hazards/recording-logger.ts'
import { callTool, Watch } from './open-tools.ts'
import { TaskServer } from './task-server.ts'

const logger = () => recordingLogger().logger
const open = ({ url }: TaskServer, options: McpServerOptions = {}) =>
  connectMcpServers({ jobs: { url, prefix: '', ...options } }, { logger: logger() })
const runnerOf = (tools: McpTools, options: object = {}) =>
  new AgentRunner({
    model: scriptedModel([{ toolCalls: [{ name: 'work', args: { n: 1 } }] }, 'Done.']),
    tools,
    logger: logger(),
    ...options,
  })
const callOf = ({ toolCalls: [call] }: Pick<RunResult, 'toolCalls'>) => [call?.outcome, call?.content]
const decided = (result: RunResult, answer: Json) => ({ decisions: result.pending.map((item) => ({ ...item, answer })) })
const rhyme = { role: 'user', content: { type: 'text', text: 'A rhyme?' } }
const sampling = { method: 'sampling/createMessage', params: { messages: [rhyme], maxTokens: 10 } }
const form = { message: 'How many?', requestedSchema: { type: 'object', properties: { count: { type: 'integer' } } } }
const elicitation = { method: 'elicitation/create', params: form }

describe.each(['2025-11-25', '2026-07-28'] as const)('a call that becomes a task (%s)', (revision) => {
  const start = (taskSupport?: string) => new TaskServer(revision, taskSupport).start()

  it('is polled until it has ended, beyond the call’s time limit, and across failed requests', async () => {
    await using server = await start()
    await using tools = await open(server)
    const seen: unknown[] = []
    const call = callTool(tools, 'work', {}, { timeoutMs: 200, onProgress: (update) => seen.push(update) })
    await server.until('tasks/get', 6)
    server.change('task-1', { statusMessage: 'half done' })
    await server.until('tasks/get', 8)
    server.isBroken = true
    await server.until('tasks/get', 9)
    server.isBroken = false
    server.finish('task-1', 'all of it')
    expect(await call).toMatchObject({ outcome: 'ok', content: 'all of it' })
    expect(seen).toEqual([{ status: 'working', message: 'half done' }])
    expect(server.count('tools/call')).toBe(1)
    const headers = server.sent.find(({ method }) => method === 'tasks/get')?.headers
    if (revision === '2026-07-28') expect(headers).toMatchObject({ 'mcp-method': 'tasks/get', 'mcp-name': 'task-1' })
  })

  it('is awaited by another process after a crash, and not repeated, though its tool is unsafe', async () => {
    await using server = await start()
    const kept = new MemoryRuns()
    const journal = memoryJournal(kept)
    {
      await using tools = await open(server)
      const crashed = runnerOf(tools, { journal })
        .run('Go.', { runId: 'r1' })
        .catch(() => {})
      await server.until('tasks/get', 2)
      await journal.close()
      await crashed
    }
    await using tools = await open(server)
    const runner = runnerOf(tools, { journal: memoryJournal(kept), model: scriptedModel(['Done.']) })
    const polls = server.count('tasks/get')
    const recovered = runner.recover()
    await server.until('tasks/get', polls + 2)
    server.finish('task-1', 'after all')
    await recovered
    const { result } = (await runner.runs.get('r1')) ?? {}
    expect(result?.toolCalls.map(({ outcome, content }) => [outcome, content])).toEqual([['ok', 'after all']])
    expect([server.count('tools/call'), server.count('tasks/cancel')]).toEqual([1, 0])
  })

  it('is cancelled when the run is, or when its time is over', async () => {
    await using server = await start()
    await using tools = await open(server, { tasks: { timeoutMs: 60_000 } })
    const controller = new AbortController()
    const run = runnerOf(tools).run('Go.', { signal: controller.signal })
    await server.until('tasks/get')
    controller.abort()
    expect((await run).stopReason).toBe('aborted')
    await server.until('tasks/cancel')
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const late = callTool(tools, 'work')
    await server.until('tasks/get', server.count('tasks/get') + 1)
    vi.advanceTimersByTime(60_000)
    expect(await late).toMatchObject({ outcome: 'timeout' })
    vi.useRealTimers()
    await server.until('tasks/cancel', 2)
    expect(server.sent.filter(({ method }) => method === 'tasks/cancel').map(({ params }) => params.taskId)).toEqual(['task-1', 'task-2'])
  })

  it('is cancelled when the run is, even while it asks something', async () => {
    await using server = await start()
    await using tools = await open(server, { sampling: true })
    const controller = new AbortController()
    const asking = Promise.withResolvers<void>()
    const model = scriptedModel(({ messages, signal }) => {
      if (!messages.some(({ content }) => content === 'A rhyme?')) return { toolCalls: [{ name: 'work', args: {} }] }
      asking.resolve()
      return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    })
    const run = runnerOf(tools, { model }).run('Go.', { signal: controller.signal })
    await server.until('tasks/get')
    server.change('task-1', { status: 'input_required', inputRequests: { rhyme: sampling } })
    if (revision === '2025-11-25') {
      await server.until('tasks/result')
      server.askOn('task-1', sampling)
    }
    await asking.promise
    controller.abort()
    expect((await run).stopReason).toBe('aborted')
    await server.until('tasks/cancel')
  })

  it('may fail, be cancelled or forgotten, and expire; the model is told', async () => {
    await using server = await start()
    await using tools = await open(server)
    const end = async (change: (id: string) => void) => {
      const call = callTool(tools, 'work')
      const id = `task-${server.tasks.size + 1}`
      await server.watch.until(() => server.tasks.has(id))
      change(id)
      return call
    }
    const failed = { status: 'failed', error: { code: -32603, message: 'out of paper' } }
    expect(await end((id) => server.change(id, failed))).toMatchObject({
      outcome: 'failed',
      content: expect.stringMatching(/out of paper/),
    })
    expect(await end((id) => server.change(id, { status: 'cancelled' }))).toMatchObject({
      content: expect.stringMatching(/has cancelled the task/),
    })
    expect(await end((id) => server.tasks.delete(id))).toMatchObject({ content: expect.stringMatching(/Task not found.*not known/) })
    expect(await end((id) => server.change(id, { ttl: 1 }))).toMatchObject({ content: expect.stringMatching(/has let the task expire/) })
    const isError = { status: 'completed', result: { content: [{ type: 'text', text: 'no such file' }], isError: true } }
    expect(await end((id) => server.change(id, isError))).toMatchObject({ outcome: 'failed', content: 'no such file' })
    const nothing = { status: 'completed', result: { content: 'text' } }
    expect(await end((id) => server.change(id, nothing))).toMatchObject({
      content: expect.stringMatching(/something other than a tool result/),
    })
  })

  it('may ask people and the model, and is answered once', async () => {
    await using server = await start()
    await using tools = await open(server, { sampling: true })
    const model = scriptedModel(({ messages }) => {
      if (messages.some(({ content }) => content === 'A rhyme?')) return 'thyme'
      return messages.at(-1)?.role === 'tool' ? 'Done.' : { toolCalls: [{ name: 'work', args: {} }] }
    })
    const runner = runnerOf(tools, { model })
    const started = runner.run('Go.')
    await server.until('tasks/get')
    if (revision === '2025-11-25') {
      server.change('task-1', { status: 'input_required' })
      await server.until('tasks/result')
      server.askOn('task-1', sampling)
      await server.watch.until(() => server.answers.length === 1)
      server.askOn('task-1', elicitation)
    } else {
      server.change('task-1', { status: 'input_required', inputRequests: { rhyme: sampling, count: elicitation } })
    }
    const paused = await started
    expect(paused.pending).toMatchObject([{ kind: 'question', about: { mcpServer: 'jobs', message: 'How many?' } }])
    const resumed = runner.resume(paused.state, decided(paused, { count: 3 }))
    if (revision === '2025-11-25') await server.watch.until(() => server.answers.length === 2)
    else await server.until('tasks/update', 2)
    server.change('task-1', { status: 'working' })
    server.finish('task-1', 'finished')
    expect(callOf(await resumed)).toEqual(['ok', 'finished'])
    const updates = server.sent.filter(({ method }) => method === 'tasks/update').map(({ params }) => params.inputResponses)
    const count = { action: 'accept', content: { count: 3 } }
    if (revision === '2025-11-25') expect(server.answers).toMatchObject([{ content: { text: 'thyme' } }, count])
    else expect(updates).toMatchObject([{ rhyme: { content: { text: 'thyme' } } }, { count }])
  })

  it('may ask in one process and be answered in another', async () => {
    await using server = await start()
    const elicitation = { method: 'elicitation/create', params: form }
    const ask = async (times: number) => {
      if (revision === '2026-07-28') return server.change('task-1', { status: 'input_required', inputRequests: { count: elicitation } })
      server.change('task-1', { status: 'input_required' })
      await server.until('tasks/result', times)
      server.askOn('task-1', elicitation)
    }
    const paused = await (async () => {
      await using tools = await open(server)
      const started = runnerOf(tools).run('Go.')
      await server.until('tasks/get')
      await ask(1)
      return await started
    })()
    const state = JSON.parse(JSON.stringify(paused.state))
    await using tools = await open(server)
    const resumed = runnerOf(tools, { model: scriptedModel(['Done.']) }).resume(state, decided(paused, { count: 3 }))
    if (revision === '2026-07-28') await server.until('tasks/update')
    else {
      await ask(2)
      await server.watch.until(() => server.answers.some((answer) => JSON.stringify(answer).includes('"count":3')))
    }
    server.finish('task-1', 'finished')
    expect(callOf(await resumed)).toEqual(['ok', 'finished'])
    expect(server.count('tools/call')).toBe(1)
  })

  it('does not happen if tasks are disabled', async () => {
    await using server = await start('optional')
    await using tools = await open(server, { tasks: false })
    const end = await callTool(tools, 'work')
    if (revision === '2025-11-25') expect(end).toMatchObject({ outcome: 'ok', content: 'at once' })
    else expect(end).toMatchObject({ outcome: 'failed' })
  })
})

it('a task reports progress by the token of its call, whichever connection polls it (2025-11-25)', async () => {
  await using server = await new TaskServer('2025-11-25').start()
  await using tools = await open(server)
  const seen: unknown[] = []
  const told = new Watch()
  const onProgress = (update: unknown) => {
    seen.push(update)
    told.changed()
  }
  const call = callTool(tools, 'work', {}, { onProgress })
  await server.until('tasks/get')
  server.hasForgotten = true
  await server.until('initialize', 2)
  server.change('task-1', { status: 'input_required' })
  await server.until('tasks/result')
  server.progressOn('task-1', 5)
  await told.until(() => seen.length > 0)
  expect(seen).toEqual([{ progress: 5 }])
  server.finish('task-1', 'done')
  expect(await call).toMatchObject({ content: 'done' })
  expect(server.count('tools/call')).toBe(1)
})

describe('a tool whose calls may be tasks (2025-11-25)', () => {
  it('is called as a task if a journal stores its id, and otherwise directly', async () => {
    await using server = await new TaskServer('2025-11-25', 'optional').start()
    await using tools = await open(server)
    expect(callOf(await runnerOf(tools).run('Go.'))).toEqual(['ok', 'at once'])
    const run = runnerOf(tools, { journal: memoryJournal() }).run('Go.')
    await server.until('tasks/get')
    server.finish('task-1', 'as a task')
    expect(callOf(await run)).toEqual(['ok', 'as a task'])
  })
})

describe('a task of 2026-07-28', () => {
  const start = () => new TaskServer('2026-07-28').start()

  it.each([
    ['people', { count: elicitation }],
    ['people and the model', { count: elicitation, rhyme: sampling }],
  ])('is not started twice if the process dies after its call was repeated with the answers of %s', async (_, asksFirst) => {
    await using server = await start()
    server.asksFirst = asksFirst
    const kept = new MemoryRuns()
    const journal = memoryJournal(kept)
    const model = scriptedModel(({ messages }) => {
      if (messages.some(({ content }) => content === 'A rhyme?')) return 'thyme'
      return messages.at(-1)?.role === 'tool' ? 'Done.' : { toolCalls: [{ name: 'work', args: {} }] }
    })
    {
      await using tools = await open(server, { sampling: true })
      const runner = runnerOf(tools, { journal, model })
      const paused = await runner.run('Go.', { runId: 'r1' })
      const crashed = runner.resume('r1', decided(paused, { count: 3 })).catch(() => {})
      await server.until('tasks/get', 2)
      await journal.close()
      await crashed
    }
    await using tools = await open(server, { sampling: true })
    const runner = runnerOf(tools, { journal: memoryJournal(kept), model })
    const polls = server.count('tasks/get')
    const recovered = runner.recover()
    await server.until('tasks/get', polls + 1)
    server.finish('task-1', 'after all')
    await recovered
    const { result } = (await runner.runs.get('r1')) ?? {}
    expect(result && callOf(result)).toEqual(['ok', 'after all'])
    expect([server.tasks.size, server.count('tools/call')]).toEqual([1, 2])
  })

  it('is continued if the process dies while the task receives an answer', async () => {
    await using server = await start()
    const kept = new MemoryRuns()
    const journal = memoryJournal(kept)
    {
      await using tools = await open(server)
      const runner = runnerOf(tools, { journal })
      const started = runner.run('Go.', { runId: 'r1' })
      await server.until('tasks/get')
      server.change('task-1', { status: 'input_required', inputRequests: { count: elicitation } })
      const paused = await started
      server.isSilent = true
      const crashed = runner.resume('r1', decided(paused, { count: 3 })).catch(() => {})
      await server.until('tasks/update')
      await journal.close()
      await crashed
    }
    server.isSilent = false
    await using tools = await open(server)
    const runner = runnerOf(tools, { journal: memoryJournal(kept), model: scriptedModel(['Done.']) })
    const recovered = runner.recover()
    await server.until('tasks/update', 2)
    server.finish('task-1', 'after all')
    await recovered
    const { result } = (await runner.runs.get('r1')) ?? {}
    expect(result && callOf(result)).toEqual(['ok', 'after all'])
    expect(server.count('tools/call')).toBe(1)
  })

  it('receives an answer across failed requests', async () => {
    await using server = await start()
    await using tools = await open(server)
    const runner = runnerOf(tools)
    const started = runner.run('Go.')
    await server.until('tasks/get')
    server.change('task-1', { status: 'input_required', inputRequests: { count: elicitation } })
    const paused = await started
    server.isBroken = true
    const resumed = runner.resume(paused.state, decided(paused, { count: 3 }))
    await server.until('tasks/update')
    server.isBroken = false
    await server.until('tasks/update', 2)
    server.finish('task-1', 'finished')
    expect(callOf(await resumed)).toEqual(['ok', 'finished'])
  })

  it('returns links that can be read, like any result', async () => {
    await using server = await start()
    await using tools = await open(server, { resources: 'links' })
    const read = { name: 'read_resource', args: { uri: 'note:1' } }
    const model = scriptedModel([{ toolCalls: [{ name: 'work', args: {} }] }, { toolCalls: [read] }, 'Done.'])
    const run = runnerOf(tools, { model }).run('Go.')
    await server.until('tasks/get')
    const link = { type: 'resource_link', name: 'Note', uri: 'note:1' }
    server.change('task-1', { status: 'completed', result: { content: [link] } })
    expect((await run).toolCalls.map(({ content }) => content)).toEqual(['Note: note:1', 'note:1:\nwhat is there'])
  })

  it('is not polled more often, and expires, if it asks for input without a request', async () => {
    await using server = await start()
    await using tools = await open(server)
    const call = callTool(tools, 'work')
    await server.until('tasks/get')
    const from = performance.now()
    const polls = server.count('tasks/get')
    server.change('task-1', { status: 'input_required', inputRequests: {} })
    await server.until('tasks/get', polls + 6)
    expect(performance.now() - from).toBeGreaterThan(200)
    server.change('task-1', { ttl: 1 })
    expect(await call).toMatchObject({ content: expect.stringMatching(/has let the task expire/) })
  })
})
