import { HttpAgent, type RunFinishedEvent } from '@ag-ui/client'
import { DefaultChatTransport, isToolUIPart, lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from 'ai'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { ask as askSomebody, defineTool } from '../../src/tools/tool.ts'
import { Chat, readChunks, userMessage } from '../ui/chat.ts'
import { configFile, framesOf, startService, token } from './start-service.ts'

const headers = { authorization: `Bearer ${token}` }
const parameters = {
  type: 'object',
  properties: { euros: { type: 'number' }, pin: { type: 'string' } },
  required: ['euros'],
} as const

function refunds(secrets: readonly ('euros' | 'pin')[] = []) {
  const paid: unknown[] = []
  const tool = defineTool({
    name: 'refund',
    description: 'Pays back.',
    parameters,
    approval: true,
    secrets,
    execute: (args) => {
      paid.push(args)
      return `${args.euros} euros were paid`
    },
  })
  return { paid, tool }
}

const transportTo = (url: string, query = '') => new DefaultChatTransport({ api: `${url}/ui/chat${query}`, headers })
const send = (url: string, messages: UIMessage[]) =>
  transportTo(url).sendMessages({ trigger: 'submit-message', chatId: 'c1', messageId: undefined, messages, abortSignal: undefined })
/** The JSON of a response, whose fields each test knows. */
async function jsonOf<T>(response: Response | Promise<Response>): Promise<T> {
  return (await (await response).json()) as T
}
interface Listed {
  data: { stopReason: string; function: { name: string } }[]
}
const toolParts = (message: UIMessage | undefined) => (message?.parts ?? []).filter(isToolUIPart)

describe('/ui/chat', () => {
  it('useChat’s client: text, a tool, an approval; the run is one of /v1/runs', async () => {
    const { paid, tool } = refunds()
    const model = scriptedModel([{ text: 'Well. ', toolCalls: [{ name: 'refund', args: { euros: 10 } }] }, 'Paid.'])
    const { url, ask } = await startService({ model, tools: [tool] })
    const chat = new Chat({ transport: transportTo(url), sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses })
    await chat.sendMessage({ text: 'pay me' })
    const [part] = toolParts(chat.lastMessage)
    expect(part).toMatchObject({ state: 'approval-requested', input: { euros: 10 } })
    expect(paid).toEqual([])
    await chat.addToolApprovalResponse({ id: part?.approval?.id ?? '', approved: true })
    await expect.poll(() => chat.lastMessage?.parts.at(-1)).toMatchObject({ type: 'text', text: 'Paid.', state: 'done' })
    expect(paid).toEqual([{ euros: 10 }])
    expect(chat.messages).toHaveLength(2)
    const { data } = await jsonOf<Listed>(ask('/v1/runs'))
    expect(data).toMatchObject([{ kind: 'run', status: 'ended', stopReason: 'answered', input: 'pay me' }])
    await chat.sendMessage({ text: 'thanks' }).catch(() => {})
    expect(model.requests[2]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user'])
  })

  it('secrets are hidden, and hidden arguments are not approved unseen', async () => {
    const { paid, tool } = refunds(['pin'])
    const model = scriptedModel([{ toolCalls: [{ name: 'refund', args: { euros: 10, pin: '4711-0815' } }] }, 'Paid with 4711-0815.'])
    const { url } = await startService({ model, tools: [tool] })
    const first = await readChunks(await send(url, [userMessage('pay')]))
    expect(JSON.stringify(first.chunks)).not.toContain('4711')
    const [part] = toolParts(first.message)
    const answer = (approved: object): UIMessage[] => [
      userMessage('pay'),
      {
        ...(first.message as UIMessage),
        parts: [
          { ...part, state: 'approval-responded', approval: { ...part?.approval, approved: true }, ...approved },
        ] as UIMessage['parts'],
      },
    ]
    await expect(send(url, answer({}))).rejects.toThrow('hidden_arguments')
    await expect(send(url, answer({ input: { euros: 20, pin: '[redacted]' } }))).rejects.toThrow('hidden_arguments')
    expect(paid).toEqual([])
    const { chunks } = await readChunks(await send(url, answer({ input: { euros: 20, pin: '1' } })))
    expect(paid).toEqual([{ euros: 20, pin: '1' }])
    expect(chunks.at(-1)).toMatchObject({ type: 'finish' })
  })

  it('needs a token, and a chat belongs to its owner', async () => {
    const { paid, tool } = refunds()
    const model = scriptedModel([{ toolCalls: [{ name: 'refund', args: { euros: 10 } }] }, 'Hello Bob.'])
    const authenticate = (request: Request) => ({ name: request.headers.get('x-user') ?? '', roles: ['run' as const] })
    const { url } = await startService({ model, tools: [tool], authenticate })
    const as = (user: string, messages: unknown) =>
      fetch(`${url}/ui/chat`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-user': user },
        body: JSON.stringify({ id: 'c1', messages }),
      }).then((response) => response.text())
    const asked = await as('ann', [userMessage('pay')])
    const [, id, toolCallId] = /"approvalId":"([^"]+)","toolCallId":"([^"]+)"/.exec(asked) ?? []
    const approved = {
      role: 'assistant',
      parts: [{ type: 'tool-refund', toolCallId, state: 'approval-responded', input: { euros: 10 }, approval: { id, approved: true } }],
    }
    expect(await as('bob', [userMessage('pay'), approved])).toContain('"finishReason":"stop"')
    expect(paid).toEqual([])
    const { url: closed } = await startService({ model })
    expect((await fetch(`${closed}/ui/chat`, { method: 'POST' })).status).toBe(401)
    expect((await fetch(`${closed}/ui/chat/c1/stream`)).status).toBe(401)
    expect((await fetch(`${closed}/agui`, { method: 'POST' })).status).toBe(401)
  })

  it('refuses an invalid UI message, with its path, before anything is started', async () => {
    const { post, ask } = await startService({ model: scriptedModel([]) })
    for (const messages of [[], [{ role: 'user', parts: [{ type: 'text' }] }], [{ role: 'system', parts: [] }]])
      expect((await post('/ui/chat', { id: 'c1', messages })).status).toBe(400)
    const messages = [{ role: 'user', parts: [{ type: 'text', text: 1 }] }]
    expect((await jsonOf<{ error: object }>(post('/ui/chat', { id: 'c1', messages }))).error).toMatchObject({
      code: 'invalid_message',
      message: 'Expected messages[0].parts[0].text to be a string, got `1`',
    })
    expect((await post('/ui/chat', { messages: [userMessage('hi')] })).status).toBe(400)
    expect((await post('/ui/chat?model=none', { id: 'c1', messages: [userMessage('hi')] })).status).toBe(404)
    expect((await jsonOf<Listed>(ask('/v1/runs'))).data).toEqual([])
  })

  it('a client that reconnects gets the message from its beginning; one that stops it ends the run', async () => {
    const held = Promise.withResolvers<void>()
    const model = scriptedModel([{ chunks: ['one ', held.promise, 'two'] }, { text: 'three ', hang: true }])
    const { url, post, ask } = await startService({ model })
    expect(await transportTo(url).reconnectToStream({ chatId: 'c1' })).toBeNull()
    const client = new AbortController()
    const leaving = await transportTo(url).sendMessages({
      trigger: 'submit-message',
      chatId: 'c1',
      messageId: undefined,
      messages: [userMessage('count')],
      abortSignal: client.signal,
    })
    const reader = leaving.getReader()
    for (let read = await reader.read(); read.value?.type !== 'text-delta'; ) read = await reader.read()
    client.abort()
    const stream = await transportTo(url).reconnectToStream({ chatId: 'c1' })
    held.resolve()
    if (stream === null) throw new Error('Expected a stream')
    const { message, errors } = await readChunks(stream)
    expect([errors, message?.parts.at(-1)]).toEqual([[], expect.objectContaining({ text: 'one two', state: 'done' })])
    expect(message?.id).toMatch(/^msg_run_/)

    const second = (await send(url, [userMessage('go on')])).getReader()
    for (let read = await second.read(); read.value?.type !== 'text-delta'; ) read = await second.read()
    expect((await post('/ui/chat/c1/stop', {})).status).toBe(204)
    const { data } = await jsonOf<Listed>(ask('/v1/runs'))
    expect(data[0]).toMatchObject({ stopReason: 'aborted' })
    expect((await post('/ui/chat/other/stop', {})).status).toBe(204)
  })

  it('a client that reconnects after decisions gets the whole message, unchanged', async () => {
    const held = Promise.withResolvers<void>()
    const { tool } = refunds()
    const pickFile = defineTool({ name: 'pick_file', description: 'Lets the user choose.' })
    const book = defineTool({
      name: 'book',
      description: 'Books.',
      execute: (_args, { answer }) => (answer === undefined ? askSomebody({ about: 'For how many?' }) : `for ${answer}`),
    })
    const refund = { name: 'refund', args: { euros: 10 } }
    const toolCalls = [refund, { name: 'refund', args: { euros: 20 } }, { name: 'pick_file' }, { name: 'book' }]
    const model = scriptedModel([{ text: 'Well. ', toolCalls }, { chunks: ['Do', held.promise, 'ne.'] }])
    const { url } = await startService({ model, tools: [tool, pickFile, book] })
    const asked = (await readChunks(await send(url, [userMessage('pay')]))).message as UIMessage
    const parts = asked.parts.map((part) => {
      if (!isToolUIPart(part)) return part
      if (part.approval === undefined) return { ...part, state: 'output-available', output: part.type === 'tool-book' ? 4 : 'menu.pdf' }
      const approved = JSON.stringify(part.input) === '{"euros":10}'
      return { ...part, state: 'approval-responded', approval: { ...part.approval, approved } }
    }) as UIMessage['parts']
    const going = (await send(url, [userMessage('pay'), { ...asked, parts }])).getReader()
    for (let read = await going.read(); read.value?.type !== 'text-delta'; ) read = await going.read()
    const stream = await transportTo(url).reconnectToStream({ chatId: 'c1' })
    held.resolve()
    if (stream === null) throw new Error('Expected a stream')
    const { message, errors } = await readChunks(stream)
    expect(errors).toEqual([])
    expect(message?.id).toBe(asked.id)
    expect(message?.parts).toMatchObject([
      { type: 'step-start' },
      { type: 'text', text: 'Well. ' },
      { type: 'tool-refund', state: 'output-available', output: '10 euros were paid' },
      { type: 'tool-refund', state: 'output-denied', input: { euros: 20 } },
      { type: 'tool-pick_file', state: 'output-available', output: 'menu.pdf' },
      { type: 'tool-book', state: 'output-available', output: 'for 4' },
      { type: 'data-question' },
      { type: 'data-decision', data: { tool: 'refund', approved: true } },
      { type: 'data-decision', data: { tool: 'refund', approved: false } },
      { type: 'data-decision', data: { tool: 'pick_file' } },
      { type: 'data-decision', data: { tool: 'book' } },
      { type: 'step-start' },
      { type: 'text', text: 'Done.', state: 'done' },
    ])
  })

  it('a client that reconnects gets the decisions of others', async () => {
    const { paid, tool } = refunds()
    const model = scriptedModel([{ text: 'Well. ', toolCalls: [{ name: 'refund', args: { euros: 10 } }] }, 'Paid.'])
    const { url, ask, post } = await startService({ model, tools: [tool] })
    const chat = new Chat({ transport: transportTo(url) })
    await chat.sendMessage({ text: 'pay me' })
    await chat.resumeStream()
    expect(toolParts(chat.lastMessage)).toMatchObject([{ state: 'approval-requested' }])
    const [run] = (await jsonOf<{ data: { id: string; pending: object[] }[] }>(ask('/v1/runs'))).data
    const decisions = run?.pending.map((item) => ({ ...item, approved: true }))
    expect((await post(`/v1/runs/${run?.id}/decisions`, { decisions })).status).toBe(200)
    await expect.poll(() => jsonOf(ask(`/v1/runs/${run?.id}`))).toMatchObject({ stopReason: 'answered' })
    await chat.resumeStream()
    expect(paid).toEqual([{ euros: 10 }])
    expect(chat.messages).toHaveLength(2)
    expect(toolParts(chat.lastMessage)).toMatchObject([{ state: 'output-available', output: '10 euros were paid' }])
    expect(chat.lastMessage?.parts.at(-1)).toMatchObject({ type: 'text', text: 'Paid.', state: 'done' })
  })

  it('a new message while a run is running or waiting ends that run', async () => {
    const { paid, tool } = refunds()
    const model = scriptedModel([{ text: 'one ', hang: true }, { toolCalls: [{ name: 'refund', args: { euros: 1 } }] }, 'Three.'])
    const { url, ask } = await startService({ model, tools: [tool] })
    const first = (await send(url, [userMessage('one')])).getReader()
    for (let read = await first.read(); read.value?.type !== 'text-delta'; ) read = await first.read()
    await expect(
      transportTo(url, '?model=none').sendMessages({
        trigger: 'submit-message',
        chatId: 'c1',
        messageId: undefined,
        messages: [userMessage('x')],
        abortSignal: undefined,
      }),
    ).rejects.toThrow('model_not_found')
    expect((await jsonOf<{ data: { status: string }[] }>(ask('/v1/runs'))).data).toMatchObject([{ status: 'running' }])
    const second = await readChunks(await send(url, [userMessage('two')]))
    expect(second.chunks).toContainEqual(expect.objectContaining({ type: 'tool-approval-request' }))
    await readChunks(await send(url, [userMessage('three')]))
    await vi.waitFor(async () => {
      const { data } = await jsonOf<Listed>(ask('/v1/runs'))
      expect(data.map(({ stopReason }) => stopReason)).toEqual(['answered', 'aborted', 'aborted'])
    })
    expect(paid).toEqual([])
  })

  it('on several machines, the run of a chat is the one that was recorded last, whatever their clocks say', async () => {
    const { folder, file } = await configFile('service: { keepRuns: { folder: runs } }\n')
    const options = { configFile: file, cwd: folder }
    const asked = Promise.withResolvers<void>()
    const held = Promise.withResolvers<void>()
    const context = () => {
      asked.resolve()
      return held.promise
    }
    const ahead = await startService({ ...options, model: scriptedModel([{ text: 'the first run', hang: true }]) })
    const other = await startService({ ...options, model: scriptedModel([{ text: 'the second run', hang: true }]), context })
    const body = { id: 'c1', messages: [userMessage('go')] }
    // It has looked for a run of this chat, and found none.
    const second = other.post('/ui/chat', body)
    await asked.promise
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 })
    onTestFinished(() => void vi.useRealTimers())
    await ahead.post('/ui/chat', body)
    vi.useRealTimers()
    held.resolve()
    await second
    let text = ''
    for await (const { data } of framesOf(await ahead.ask('/ui/chat/c1/stream'))) {
      text += JSON.parse(data).delta ?? ''
      if (text.endsWith('run')) break
    }
    expect(text).toBe('the second run')
  })
})

describe('/agui', () => {
  it('HttpAgent: text, the page’s tools, an approval with edited arguments', async () => {
    const { paid, tool } = refunds()
    const calls = [{ name: 'refund', args: { euros: 250 } }, { name: 'pick_file' }]
    const model = scriptedModel([{ reasoning: 'Hm.', text: 'Look: ', toolCalls: calls }, 'All done.'])
    const { url } = await startService({ model, tools: [tool] })
    const agent = new HttpAgent({ url: `${url}/agui`, threadId: 't1', headers })
    const ends: RunFinishedEvent[] = []
    agent.subscribe({ onRunFinishedEvent: ({ event }) => void ends.push(event) })
    const tools = [{ name: 'pick_file', description: 'Picks.', parameters: { type: 'object', properties: {} } }]
    agent.addMessage({ id: '1', role: 'user', content: 'pay' })
    await agent.runAgent({ tools })
    const [interrupt] = agent.pendingInterrupts
    expect(interrupt).toMatchObject({ reason: 'tool_call', metadata: { tool: 'refund', args: { euros: 250 } } })
    const picked = agent.messages
      .flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
      .find(({ function: called }) => called.name === 'pick_file')
    agent.addMessage({ id: '2', role: 'tool', toolCallId: picked?.id ?? '', content: 'menu.pdf' })
    await agent.runAgent({
      tools,
      resume: [{ interruptId: interrupt?.id ?? '', status: 'resolved', payload: { approved: true, editedArgs: { euros: 200 } } }],
    })
    expect(paid).toEqual([{ euros: 200 }])
    expect(agent.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'All done.' })
    expect(ends.at(-1)).toMatchObject({ threadId: 't1', outcome: { type: 'success' } })
  })
})

describe('repeated answers don’t end the call they allowed', () => {
  async function startHeld() {
    const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const paid: unknown[] = []
    const execute = async (args: object) => {
      begun.resolve()
      await held.promise
      return `${paid.push(args)} was paid`
    }
    const refund = defineTool({ name: 'refund', description: 'Pays back.', parameters, approval: true, execute })
    const model = scriptedModel([{ toolCalls: [{ name: 'refund', args: { euros: 10 } }] }, 'Paid.'])
    const { url, post } = await startService({ model, tools: [refund] })
    return { url, post, paid, begun: begun.promise, letGoOn: held.resolve }
  }

  it('of useChat', async () => {
    const { url, paid, begun, letGoOn } = await startHeld()
    const first = await readChunks(await send(url, [userMessage('pay')]))
    const [part] = toolParts(first.message)
    const approval = { ...part?.approval, approved: true }
    const approved = { ...(first.message as UIMessage), parts: [{ ...part, state: 'approval-responded', approval }] as UIMessage['parts'] }
    const answer = send(url, [userMessage('pay'), approved])
    await begun
    await expect(send(url, [userMessage('pay'), approved])).rejects.toThrow('not_pending')
    letGoOn()
    expect((await readChunks(await answer)).chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'stop' })
    expect(paid).toEqual([{ euros: 10 }])
  })

  it('of AG-UI', async () => {
    const { post, paid, begun, letGoOn } = await startHeld()
    const input = { threadId: 't', runId: 'r1', messages: [{ id: '1', role: 'user', content: 'pay' }] }
    const asked = await (await post('/agui', input)).text()
    const [, interruptId = ''] = /"interrupts":\[\{"id":"([^"]+)"/.exec(asked) ?? []
    const decided = { ...input, resume: [{ interruptId, status: 'resolved', payload: { approved: true } }] }
    const answer = post('/agui', decided)
    await begun
    expect((await post('/agui', decided)).status).toBe(409)
    letGoOn()
    expect(await (await answer).text()).toContain('"outcome":{"type":"success"')
    expect(paid).toEqual([{ euros: 10 }])
  })
})

describe('the context of a run', () => {
  it('reaches tools, approvals and instructions, and a resumed run, which acts for its owner', async () => {
    interface User {
      tenant: string
    }
    const seen: string[] = []
    const tenantOf = (context: unknown) => (context as User).tenant
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      approval: (_args, { context }) => void seen.push(`approval ${tenantOf(context)}`) === undefined,
      execute: (_args, { context }) => `paid after ${seen.push(`tool ${tenantOf(context)}`)}`,
    })
    const model = scriptedModel([{ toolCalls: [{ name: 'pay' }] }, 'done'])
    const asked: string[] = []
    const { url, post, ask } = await startService({
      model,
      tools: [pay],
      agent: { instructions: ({ context }) => `You work for ${tenantOf(context)}.` },
      authenticate: (request) => ({
        name: request.headers.get('x-user') ?? '',
        roles: request.headers.get('x-user') === 'root' ? ['run', 'admin'] : ['run'],
      }),
      context: async (request, identity) => {
        asked.push(`${identity.name} by ${request?.headers.get('x-user')}`)
        return { tenant: `tenant of ${identity.name}` }
      },
    })
    const run = await jsonOf<{ id: string; pending: object[] }>(post('/v1/runs', { input: 'pay' }, { 'x-user': 'ann' }))
    const decisions = run.pending.map((item) => ({ ...item, approved: true }))
    const done = post(`/v1/runs/${run.id}/decisions`, { decisions }, { 'x-user': 'root' })
    expect(await jsonOf(done)).toMatchObject({ stopReason: 'answered' })
    expect(seen).toEqual(['approval tenant of ann', 'tool tenant of ann'])
    expect(model.requests[0]?.messages[0]).toEqual({ role: 'system', content: 'You work for tenant of ann.' })
    expect(asked).toEqual(['ann by ann', 'ann by root'])
    expect(JSON.stringify(await (await ask(`/v1/runs/${run.id}`, { headers: { 'x-user': 'ann' } })).json())).not.toContain('"tenant"')
    expect(url).toContain('127.0.0.1')
  })

  it('that is not available starts nothing', async () => {
    const model = scriptedModel([])
    const context = () => Promise.reject(new Error('the database is away'))
    const { post, ask, log } = await startService({ model, context })
    for (const [path, body] of [
      ['/v1/runs', { input: 'hi' }],
      ['/v1/chat/completions', { model: 'toolloop', messages: [{ role: 'user', content: 'hi' }] }],
      ['/ui/chat', { id: 'c', messages: [userMessage('hi')] }],
      ['/agui', { threadId: 't', runId: 'r', messages: [] }],
    ] as const)
      expect((await post(path, body)).status, path).toBe(500)
    expect(log()).toContain('the database is away')
    expect((await jsonOf<Listed>(ask('/v1/runs'))).data).toEqual([])
  })
})

describe('a program’s service', () => {
  it('has the built-in tools that it names, and no others', async () => {
    const names = async (options: Parameters<typeof startService>[0]) => {
      const { ask } = await startService({ model: scriptedModel([]), ...options })
      const { data } = await jsonOf<Listed>(ask('/v1/tools'))
      return data.map(({ function: { name } }) => name)
    }
    expect(await names({})).toEqual([])
    expect(await names({ builtinTools: ['calculate'] })).toEqual(['calculate'])
    await expect(startService({ builtinTools: ['calculator'] })).rejects.toThrow('Expected `builtinTools` to be names among list_files')
    expect(await names({ builtinTools: ['calculate'], config: { tools: { builtin: ['current_time'] } } })).toEqual(['current_time'])
  })

  it('answers below its base path, and nowhere else', async () => {
    const { ask } = await startService({ model: scriptedModel([]), basePath: '/agent/v2' })
    expect((await ask('/agent/v2/healthz')).status).toBe(200)
    expect((await ask('/agent/v2/v1/runs')).status).toBe(200)
    expect((await ask('/agent/v2/admin/')).headers.get('content-type')).toContain('text/html')
    for (const path of ['/healthz', '/agent/healthz', '/agent/v2', '/agent/v2healthz', '/x/agent/v2/healthz'])
      expect((await ask(path)).status, path).toBe(404)
    await expect(startService({ basePath: 'agent/' })).rejects.toThrow('Expected `basePath` to be a path such as `/agent`, got `"agent/"`')
  })
})
