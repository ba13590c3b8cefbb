import { describe, expect, it } from 'vitest'
import { type ScriptedTurn, scriptedModel } from '../../src/testing/index.ts'
import { ask, defineTool } from '../../src/tools/tool.ts'
import { legacyPeer, modernPeer, type Request } from './mcp-peer.ts'
import { configFile, json, startService } from './start-service.ts'

/** Waits until it is told to go on. */
function gatedTool() {
  const gate = Promise.withResolvers<string>()
  const aborted = Promise.withResolvers<void>()
  const tool = defineTool({
    name: 'wait',
    description: 'Waits.',
    execute: (_args, { signal }) => {
      signal.addEventListener('abort', () => aborted.resolve())
      return gate.promise
    },
  })
  return { tool, gate, aborted }
}
const waits = { toolCalls: [{ name: 'wait', args: {} }] }
const call = { name: 'ask_toolloop', arguments: { task: 'go' } }

const state = (peer: Request, taskId: unknown) => peer('tasks/get', { taskId: String(taskId) })
const until = (peer: Request, taskId: unknown, status: string) => expect.poll(async () => (await state(peer, taskId)).status).toBe(status)

const payTool = () => {
  const paid: unknown[] = []
  const tool = defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters: { type: 'object', properties: { euros: { type: 'number' }, pin: { type: 'string' } } },
    secrets: ['pin'],
    approval: true,
    execute: (args) => void paid.push(args),
  })
  return { tool, paid }
}

describe('an agent called as a task, by a client of 2026-07-28', () => {
  it('has a handle immediately, and its result at the end', async () => {
    const { tool, gate } = gatedTool()
    const { post } = await startService({ tools: [tool], model: scriptedModel([waits, 'done']), mcp: true })
    const peer = modernPeer(post)
    expect(await peer('server/discover')).toMatchObject({ capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } })
    const created = await peer('tools/call', call)
    expect(created).toMatchObject({ resultType: 'task', taskId: expect.stringMatching(/^run_/), status: 'working', ttlMs: 3_600_000 })
    for (const name of ['content', 'result', 'task']) expect(created).not.toHaveProperty(name)
    expect(await state(peer, created.taskId)).toMatchObject({ resultType: 'complete', status: 'working', pollIntervalMs: 1_000 })
    gate.resolve('x')
    await until(peer, created.taskId, 'completed')
    expect(await state(peer, created.taskId)).toMatchObject({ result: { content: [{ type: 'text', text: 'done' }] } })
    // It is a run like any other.
    expect(await peer('tasks/get', { taskId: 'run_none' })).toMatchObject({ error: { code: -32_602 } })
    for (const gone of ['tasks/result', 'tasks/list']) expect(await peer(gone, { taskId: 'x' })).toMatchObject({ error: { code: -32_601 } })
  })

  it('is not created for a client without tasks, nor for a tool that is not an agent', async () => {
    const add = defineTool({ name: 'add', description: 'Adds.', execute: () => 5 })
    const { post } = await startService({ tools: [add], model: scriptedModel(['done']), mcp: true })
    const simple = modernPeer(post, {})
    expect(await simple('tools/call', call)).toMatchObject({ resultType: 'complete', content: [{ text: 'done' }] })
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
      expect(await simple(method, { taskId: 'run_x', inputResponses: {} })).toMatchObject({ error: { code: -32_021 } })
    expect(await modernPeer(post)('tools/call', { name: 'add' })).toMatchObject({ resultType: 'complete', content: [{ text: '5' }] })
    expect(await modernPeer(post)('tools/call', { name: 'ask_toolloop', arguments: {} })).toMatchObject({ isError: true })
  })

  it('can be cancelled, and is unchanged once it has ended', async () => {
    const { tool, aborted } = gatedTool()
    const { post } = await startService({ tools: [tool], model: scriptedModel([waits, 'done']), mcp: true })
    const peer = modernPeer(post)
    const { taskId } = await peer('tools/call', call)
    expect(Object.keys(await peer('tasks/cancel', { taskId: String(taskId) })).sort()).toEqual(['_meta', 'resultType'])
    await aborted.promise
    expect(await state(peer, taskId)).toMatchObject({ status: 'cancelled' })
    await peer('tasks/cancel', { taskId: String(taskId) })
    expect(await state(peer, taskId)).toMatchObject({ status: 'cancelled' })
  })

  it('an agent without an answer has completed with an error', async () => {
    const model = scriptedModel(() => {
      throw new Error('no model today')
    })
    const { post } = await startService({ model, mcp: true })
    const peer = modernPeer(post)
    const { taskId } = await peer('tools/call', call)
    await until(peer, taskId, 'completed')
    expect(await state(peer, taskId)).toMatchObject({ result: { isError: true, content: [{ text: expect.stringMatching(/no answer/) }] } })
  })

  it('F7 an agent whose answer was cut has completed with an error, which has the partial answer', async () => {
    const half = { text: 'Half', finishReason: 'length' } as const
    const { post } = await startService({ model: scriptedModel([half, half]), mcp: true })
    const failed = { isError: true, content: [{ text: expect.stringMatching(/cut off at a token limit.*Half/) }] }
    const peer = modernPeer(post)
    const { taskId } = await peer('tools/call', call)
    await until(peer, taskId, 'completed')
    expect(await state(peer, taskId)).toMatchObject({ result: failed })
    expect(await modernPeer(post, {})('tools/call', call)).toMatchObject(failed)
  })

  it('asks the user for approvals and answers, one at a time or all at once', async () => {
    const { tool, paid } = payTool()
    const greet = defineTool({
      name: 'greet',
      description: 'Greets.',
      execute: (_args, { answer }) => (answer === undefined ? ask({ about: { message: 'Who is it?' } }) : `Hello ${answer}`),
    })
    const both: ScriptedTurn = { toolCalls: [{ name: 'pay', args: { euros: 5 } }, { name: 'greet' }] }
    const { post } = await startService({ tools: [tool, greet], model: scriptedModel([both, 'paid']), mcp: true })
    const peer = modernPeer(post)
    const { taskId } = await peer('tools/call', call)
    await until(peer, taskId, 'input_required')
    // Nobody can be asked by one that shows no forms: it waits for a decision over the API.
    expect(await state(modernPeer(post, { extensions: { 'io.modelcontextprotocol/tasks': {} } }), taskId)).toMatchObject({
      status: 'working',
      statusMessage: 'Somebody has to decide',
    })
    const { inputRequests } = (await state(peer, taskId)) as { inputRequests: Record<string, { params: { message: string } }> }
    const [approval = '', question = ''] = Object.keys(inputRequests)
    expect(Object.values(inputRequests)).toMatchObject([
      { method: 'elicitation/create', params: { message: 'Allow the call of pay with {"euros":5}?' } },
      { method: 'elicitation/create', params: { message: 'Who is it?' } },
    ])
    const update = (inputResponses: object) => peer('tasks/update', { taskId: String(taskId), inputResponses: { ...inputResponses } })
    const accept = (content: object) => ({ action: 'accept', content })
    expect(await update({ [question]: accept({ answer: 7 }) })).toMatchObject({ error: { code: -32_602 } })
    await update({ [approval]: { action: 'cancel' }, other: accept({}) })
    await update({ [question]: accept({ answer: 'Ann' }) })
    await until(peer, taskId, 'input_required')
    expect(Object.keys(((await state(peer, taskId)) as { inputRequests: object }).inputRequests)).toEqual([approval])
    expect(paid).toEqual([])
    await update({ [approval]: accept({ approve: true }) })
    await until(peer, taskId, 'completed')
    expect(paid).toEqual([{ euros: 5 }])
  })

  it('does not ask about a call that is shown only in part', async () => {
    const { tool, paid } = payTool()
    const model = scriptedModel([{ toolCalls: [{ name: 'pay', args: { euros: 5, pin: '4711-0815' } }] }, 'paid'])
    const { post, ask: get } = await startService({ tools: [tool], model, mcp: true })
    const peer = modernPeer(post)
    const { taskId } = await peer('tools/call', call)
    await expect.poll(async () => (await state(peer, taskId)).statusMessage).toBe('Somebody has to decide')
    const waiting = await state(peer, taskId)
    expect(waiting).not.toHaveProperty('inputRequests')
    const { pending } = await json(get(`/v1/runs/${taskId}`))
    expect(pending[0].hidden).toEqual(['/args/pin'])
    const inputResponses = { [pending[0].fingerprint]: { action: 'accept', content: { approve: true } } }
    await peer('tasks/update', { taskId: String(taskId), inputResponses })
    expect([(await state(peer, taskId)).status, paid]).toEqual(['working', []])
  })

  it('does not ask about a call that is too long to be read', async () => {
    const { tool } = payTool()
    const model = scriptedModel([{ toolCalls: [{ name: 'pay', args: { euros: 5, note: 'x'.repeat(20_000) } }] }, 'paid'])
    const { post } = await startService({ tools: [tool], model, mcp: true })
    const peer = modernPeer(post)
    const { taskId } = await peer('tools/call', call)
    await expect.poll(async () => (await state(peer, taskId)).statusMessage).toBe('Somebody has to decide')
    expect(await state(peer, taskId)).not.toHaveProperty('inputRequests')
  })

  it('belongs to its caller, who has a limited number of them', async () => {
    const { tool } = gatedTool()
    const [ann, bob] = ['ann-b7Kq2-token-xyz', 'bob-p4Wm9-token-xyz']
    const tokens = [
      { name: 'ann', roles: ['run' as const], env: 'ANN' },
      { name: 'bob', roles: ['admin' as const], env: 'BOB' },
    ]
    const { post } = await startService({
      tools: [tool],
      model: scriptedModel(() => waits),
      config: { service: { mcp: true, auth: { tokens }, concurrentRuns: 2 } },
      env: { ANN: ann, BOB: bob },
    })
    const as = (bearer: string) => modernPeer((path, body, headers) => post(path, body, { ...headers, authorization: `Bearer ${bearer}` }))
    const { taskId } = await as(ann)('tools/call', call)
    await as(ann)('tools/call', call)
    expect(await as(ann)('tools/call', call)).toMatchObject({ error: { message: expect.stringMatching(/at most 2 runs at once/) } })
    // Not even an admin's, who may see it elsewhere.
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update'])
      expect(await as(bob)(method, { taskId: String(taskId) })).toMatchObject({ error: { code: -32_602 } })
    expect(await state(as(ann), taskId)).toMatchObject({ status: 'working' })
  })

  it('continues in the next process of a service that stores its runs', async () => {
    const { folder, file } = await configFile('service: { mcp: true, keepRuns: { folder: kept } }\n')
    const { tool, paid } = payTool()
    const start = (replies: unknown[]) =>
      startService({ tools: [tool], model: scriptedModel(replies as never), cwd: folder, configFile: file })
    const first = await start([{ toolCalls: [{ name: 'pay', args: { euros: 5 } }] }])
    const { taskId } = await modernPeer(first.post)('tools/call', call)
    await until(modernPeer(first.post), taskId, 'input_required')
    await first.listening.close(0)
    const { post } = await start(['paid'])
    const peer = modernPeer(post)
    const { inputRequests = {} } = (await state(peer, taskId)) as { inputRequests?: object }
    const answers = Object.keys(inputRequests).map((key) => [key, { action: 'accept', content: { approve: true } }])
    await peer('tasks/update', { taskId: String(taskId), inputResponses: Object.fromEntries(answers) })
    await until(peer, taskId, 'completed')
    expect(paid).toEqual([{ euros: 5 }])
  })
})

describe('an agent called as a task, by a client of 2025-11-25', () => {
  it('is created if the client asks for it, and its result can be waited for', async () => {
    const { tool, gate } = gatedTool()
    const { post } = await startService({ tools: [tool], model: scriptedModel([waits, 'done', 'at once']), mcp: true })
    const peer = await legacyPeer(post)
    const { tools } = (await peer('tools/list')) as { tools: object[] }
    expect(tools).toMatchObject([{ name: 'wait' }, { name: 'ask_toolloop', execution: { taskSupport: 'optional' } }])
    expect(tools[0]).not.toHaveProperty('execution')
    const { task } = (await peer('tools/call', { ...call, task: { ttl: 1_000 } })) as { task: { taskId: string } }
    expect(task).toMatchObject({ status: 'working', ttl: 3_600_000, pollInterval: 1_000 })
    expect(await state(peer, task.taskId)).toMatchObject({ taskId: task.taskId, status: 'working' })
    const result = peer('tasks/result', { taskId: task.taskId })
    gate.resolve('x')
    expect(await result).toMatchObject({
      content: [{ text: 'done' }],
      _meta: { 'io.modelcontextprotocol/related-task': { taskId: task.taskId } },
    })
    expect(await state(peer, task.taskId)).toMatchObject({ status: 'completed' })
    expect(await peer('tasks/cancel', { taskId: task.taskId })).toMatchObject({ error: { code: -32_602 } })
    expect(await peer('tools/call', call)).toMatchObject({ content: [{ text: 'at once' }] })
  })

  it('can be cancelled, and fails with its agent’s partial result', async () => {
    const { tool } = gatedTool()
    const model = scriptedModel(({ messages }) => {
      if (JSON.stringify(messages).includes('fail')) throw new Error('no model today')
      return waits
    })
    const { post } = await startService({ tools: [tool], model, mcp: true })
    const peer = await legacyPeer(post)
    const start = async (task: string) => {
      const created = await peer('tools/call', { name: 'ask_toolloop', arguments: { task }, task: {} })
      return (created as { task: { taskId: string } }).task.taskId
    }
    const taskId = await start('go')
    expect(await peer('tasks/cancel', { taskId })).toMatchObject({ taskId, status: 'cancelled' })
    expect(await peer('tasks/result', { taskId })).toMatchObject({ error: { message: expect.stringMatching(/cancelled/) } })
    const failing = await start('fail')
    expect(await peer('tasks/result', { taskId: failing })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/no answer/) }],
    })
    expect(await state(peer, failing)).toMatchObject({ status: 'failed' })
  })

  it('asks the user while its result is waited for', async () => {
    const { tool, paid } = payTool()
    const model = scriptedModel([{ toolCalls: [{ name: 'pay', args: { euros: 5 } }] }, 'paid'])
    const { post } = await startService({ tools: [tool], model, mcp: true })
    const asked: unknown[] = []
    const peer = await legacyPeer(post, (params) => {
      asked.push(params)
      return { action: 'accept', content: { approve: true } }
    })
    const { task } = (await peer('tools/call', { ...call, task: {} })) as { task: { taskId: string } }
    expect(await peer('tasks/result', { taskId: task.taskId })).toMatchObject({ content: [{ text: 'paid' }] })
    expect(asked).toMatchObject([{ message: 'Allow the call of pay with {"euros":5}?' }])
    expect(paid).toEqual([{ euros: 5 }])
  })
})

it('takes one place of its caller', async () => {
  const { post } = await startService({ model: scriptedModel(['done']), config: { service: { mcp: true, concurrentRuns: 1 } } })
  expect(await modernPeer(post, {})('tools/call', call)).toMatchObject({ content: [{ text: 'done' }] })
})
