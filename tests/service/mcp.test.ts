import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createService } from '../../src/service/index.ts'
import { askClientModel, askClientRoots } from '../../src/tools/mcp/index.ts'
import { ask, askAll, defineTool } from '../../src/tools/tool.ts'
import { connectClient, textOf } from './mcp-client.ts'
import { configFile, startService, token } from './start-service.ts'

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  effect: 'read',
  execute: ({ a, b }) => ({ sum: a + b }),
})

describe.each(['legacy', 'modern'] as const)('MCP over HTTP, for a client of the %s protocol', (era) => {
  // The first to load all that a service needs.
  it('lists the tools and the agents, and calls both', { timeout: 60_000 }, async () => {
    const pay = defineTool({ name: 'pay', description: 'Pays.', approval: true, execute: () => 1 })
    const { url } = await startService({ tools: [add, pay], mcp: true })
    const { client } = await connectClient(url, { era })
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['add', 'ask_toolloop'])
    expect(await textOf(client.callTool({ name: 'add', arguments: { a: 2, b: 3 } }))).toBe('{"sum":5}')
    expect(await textOf(client.callTool({ name: 'ask_toolloop', arguments: { task: 'call add {"a":20,"b":22}' } }))).toMatch(/42/)
    await expect(client.callTool({ name: 'pay' })).rejects.toThrow(/Tool not found: pay/)
    expect(await client.callTool({ name: 'add', arguments: { a: 'two' } })).toMatchObject({ isError: true })
  })

  it('reports progress to the client, and cancels the tool with its call', async () => {
    const aborted = Promise.withResolvers<void>()
    const slow = defineTool({
      name: 'slow',
      description: 'Takes its time.',
      execute: (_args, { signal, progress }) => {
        signal.addEventListener('abort', () => aborted.resolve())
        progress({ progress: 1, total: 2, message: 'begun' })
        return new Promise(() => {})
      },
    })
    const { url } = await startService({ tools: [slow], mcp: true })
    const { client } = await connectClient(url, { era })
    const controller = new AbortController()
    const onprogress = (update: object) => {
      expect(update).toEqual({ progress: 1, total: 2, message: 'begun' })
      controller.abort(new Error('enough'))
    }
    await expect(client.callTool({ name: 'slow' }, { signal: controller.signal, onprogress })).rejects.toThrow(/enough/)
    await aborted.promise
  })

  it('turns a question of a tool into a form, and its answer reaches the tool', async () => {
    const greet = defineTool({
      name: 'greet',
      description: 'Greets.',
      execute: (_args, { answer, asked }) =>
        answer === undefined ? ask({ about: { message: 'Your name?' }, schema: { type: 'string' } }) : { answer, asked },
    })
    const { url } = await startService({ tools: [greet], mcp: true })
    const asked: unknown[] = []
    const { client } = await connectClient(url, {
      era,
      capabilities: { elicitation: { form: {} } },
      setUp: (one) =>
        one.setRequestHandler('elicitation/create', ({ params }) => {
          asked.push(params)
          return asked.length === 1 ? { action: 'accept', content: { answer: 'Ann' } } : { action: 'decline' }
        }),
    })
    expect(JSON.parse(await textOf(client.callTool({ name: 'greet' })))).toEqual({ answer: 'Ann', asked: { message: 'Your name?' } })
    expect(asked).toMatchObject([{ message: 'Your name?', requestedSchema: { type: 'object', required: ['answer'] } }])
    expect(await textOf(client.callTool({ name: 'greet' }))).toMatch(/the user did not answer/)
    const { client: dumb } = await connectClient(url, { era })
    const refused = dumb.callTool({ name: 'greet' })
    if (era === 'modern')
      await expect(refused).rejects.toMatchObject({ code: -32_021, data: { requiredCapabilities: { elicitation: {} } } })
    else expect(await textOf(refused)).toMatch(/nobody can answer it here/)
  })

  it('a tool asks the user, the model and its client’s folders at once, and knows what it can ask', async () => {
    const survey = defineTool({
      name: 'survey',
      description: 'Asks three.',
      execute: (_args, { answer, mcpClient }) => {
        if (mcpClient?.asksModel !== true) return { mcpClient }
        const question = {
          colour: ask({ about: { message: 'Which colour?' } }),
          capital: askClientModel({ messages: 'Capital of France?', instructions: 'One word.', maxOutputTokens: 9, temperature: 0 }),
          roots: askClientRoots(),
        }
        return answer === undefined ? askAll(question) : { answer, mcpClient }
      },
    })
    const { url } = await startService({ tools: [survey], mcp: true })
    const asked: unknown[] = []
    const { client } = await connectClient(url, {
      era,
      capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} },
      setUp: (one) => {
        one.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { answer: 'red' } }))
        one.setRequestHandler('sampling/createMessage', ({ params }) => {
          asked.push(params)
          return { role: 'assistant', content: { type: 'text', text: 'Paris' }, model: 'm-1', stopReason: 'endTurn' }
        })
        one.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///home/ann', name: 'home' }] }))
      },
    })
    expect(JSON.parse(await textOf(client.callTool({ name: 'survey' })))).toEqual({
      answer: {
        colour: 'red',
        capital: { text: 'Paris', model: 'm-1', stopReason: 'endTurn' },
        roots: [{ uri: 'file:///home/ann', name: 'home' }],
      },
      mcpClient: { name: 'test', version: '1', asksUser: true, asksModel: true, listsRoots: true },
    })
    const said = { role: 'user', content: { type: 'text', text: 'Capital of France?' } }
    expect(asked).toMatchObject([{ messages: [said], systemPrompt: 'One word.', maxTokens: 9, temperature: 0 }])
    const { client: dumb } = await connectClient(url, { era })
    expect(JSON.parse(await textOf(dumb.callTool({ name: 'survey' })))).toEqual({
      mcpClient: { name: 'test', version: '1', asksUser: false, asksModel: false, listsRoots: false },
    })
  })

  it('sends a tool’s log to a client that asks for it, if the program allows it, without secrets', async () => {
    const log = defineTool({
      name: 'log',
      description: 'Logs.',
      execute: (_args, { logger }) => {
        logger.debug({}, 'in detail')
        logger.warn({ count: 3, apiKey: 'secret-1' }, 'careful')
        logger.error({ text: 'x'.repeat(10_000) }, 'too long')
      },
    })
    for (const logToClient of [true, false]) {
      const { url } = await startService({ tools: [log], mcp: { agents: false, logToClient } })
      const told: object[] = []
      const { client } = await connectClient(url, {
        era,
        setUp: (one) => one.setNotificationHandler('notifications/message', ({ params }) => void told.push(params)),
      })
      if (era === 'legacy' && logToClient) await client.setLoggingLevel('warning')
      const _meta = { 'io.modelcontextprotocol/logLevel': 'warning' }
      await client.callTool({ name: 'log', ...(era === 'modern' ? { _meta } : {}) })
      const careful = { level: 'warning', logger: 'log', data: { message: 'careful', count: 3, apiKey: '[redacted]', tool: 'log' } }
      expect(told).toMatchObject(logToClient ? [careful, { level: 'error', data: { message: 'too long' } }] : [])
    }
  })
})

describe('MCP over HTTP', () => {
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
  }
  const accept = { accept: 'application/json, text/event-stream' }
  const sessionOf = async (opening: Promise<Response>) => {
    const opened = await opening
    await opened.text()
    return opened.headers.get('mcp-session-id') ?? ''
  }

  it('is off by default, and may be the only API', async () => {
    const off = await startService({ tools: [add] })
    expect((await off.post('/mcp', initialize, accept)).status).toBe(404)
    const { ask, post } = await startService({ tools: [add], mcp: { only: true } })
    expect((await post('/mcp', initialize, accept)).status).toBe(200)
    expect((await ask('/healthz')).status).toBe(200)
    for (const path of ['/v1/models', '/admin/', '/admin/api/state', '/agui']) expect((await ask(path)).status).toBe(404)
    const { tools } = await (await connectClient((await startService({ tools: [add], mcp: { only: true } })).url)).client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['add'])
  })

  it('needs a token with the role run, and binds a session to its caller', async () => {
    const [ann, bob] = ['ann-b7Kq2-token-xyz', 'bob-p4Wm9-token-xyz']
    const tokens = [
      { name: 'ann', roles: ['run' as const], env: 'ANN' },
      { name: 'bob', roles: ['run' as const], env: 'BOB' },
    ]
    const config = { service: { mcp: true, auth: { tokens } } }
    const { post, ask } = await startService({ tools: [add], config, env: { ANN: ann, BOB: bob } })
    const as = (token: string) => ({ ...accept, authorization: `Bearer ${token}` })
    expect((await post('/mcp', initialize, as('nobody-has-this-one'))).status).toBe(401)
    const session = await sessionOf(post('/mcp', initialize, as(ann)))
    const list = (token: string) =>
      post('/mcp', { jsonrpc: '2.0', id: 2, method: 'tools/list' }, { ...as(token), 'mcp-session-id': session })
    expect((await list(bob)).status).toBe(404)
    expect((await ask('/mcp', { headers: { ...as(bob), 'mcp-session-id': session } })).status).toBe(404)
    expect((await ask('/mcp', { method: 'DELETE', headers: { ...as(bob), 'mcp-session-id': session } })).status).toBe(404)
    expect((await list(ann)).status).toBe(200)
    expect((await ask('/mcp', { method: 'DELETE', headers: { ...as(ann), 'mcp-session-id': session } })).status).toBe(200)
    expect((await list(ann)).status).toBe(404)
  })

  it('refuses pages of other sites, and names that point here', async () => {
    const { post, ask } = await startService({ tools: [add], config: { service: { mcp: true, origins: ['https://inspector.example'] } } })
    expect((await post('/mcp', initialize, { ...accept, origin: 'https://evil.example' })).status).toBe(403)
    const allowed = await post('/mcp', initialize, { ...accept, origin: 'https://inspector.example' })
    expect(allowed.headers.get('access-control-expose-headers')).toMatch(/mcp-session-id/)
    const asked = { origin: 'https://inspector.example', 'access-control-request-headers': 'authorization,mcp-session-id' }
    const preflight = await ask('/mcp', { method: 'OPTIONS', headers: asked })
    expect(preflight.headers.get('access-control-allow-methods')).toMatch(/DELETE/)
  })

  it('names an external token issuer, and lets the program check tokens', async () => {
    const resource = 'https://tools.example/mcp'
    const authorization = { resource, servers: ['https://login.example'], scopes: ['tools'] }
    const authenticate = ({ headers }: Request) => {
      const scopes: Readonly<Record<string, readonly string[]>> = { 'Bearer good': ['tools'], 'Bearer poor': [] }
      const granted = scopes[headers.get('authorization') ?? '']
      return granted && { name: 'ann', roles: granted.includes('tools') ? (['run'] as const) : [] }
    }
    const { url, post, ask } = await startService({ tools: [add], token: undefined, mcp: { authorization }, authenticate })
    const metadata = `${new URL(resource).origin}/.well-known/oauth-protected-resource/mcp`
    const as = (bearer: string) => post('/mcp', initialize, { ...accept, authorization: `Bearer ${bearer}` })
    const unknown = await as('bad')
    expect(unknown.status).toBe(401)
    expect(unknown.headers.get('www-authenticate')).toBe(`Bearer resource_metadata="${metadata}", scope="tools"`)
    const poor = await as('poor')
    expect(poor.status).toBe(403)
    expect(poor.headers.get('www-authenticate')).toBe(`Bearer error="insufficient_scope", resource_metadata="${metadata}", scope="tools"`)
    expect((await as('good')).status).toBe(200)
    const document = await fetch(new URL('/.well-known/oauth-protected-resource/mcp', url))
    expect(await document.json()).toEqual({
      resource,
      authorization_servers: ['https://login.example'],
      bearer_methods_supported: ['header'],
      scopes_supported: ['tools'],
    })
    // Other routes have no such tokens.
    expect((await ask('/v1/models', { headers: { authorization: 'Bearer bad' } })).headers.get('www-authenticate')).toBeNull()
    const wrong: [object, RegExp][] = [
      [{ ...authorization, resource: 'here' }, /mcp\.authorization\.resource/],
      [{ ...authorization, servers: [] }, /mcp\.authorization\.servers/],
      [{ ...authorization, scopes: ['a"b'] }, /mcp\.authorization\.scopes/],
      [{ ...authorization, scope: [] }, /scope/],
    ]
    for (const [given, message] of wrong)
      expect(() => createService({ authenticate, mcp: { authorization: given as typeof authorization } })).toThrow(message)
    await expect(createService({ config: { service: { mcp: { agents: ['none'] } } } }).ready).rejects.toThrow(/service\/mcp\/agents\/0/)
    expect(() => createService({ mcp: { authorization } })).toThrow(/without `authenticate`/)
    expect(() => createService({ mcp: { sessionIdleMs: 0 } })).toThrow(/mcp\.sessionIdleMs/)
  })

  it('limits sessions that are opened at the same time too', async () => {
    const headers = { ...accept, 'content-type': 'application/json', authorization: `Bearer ${token}`, host: 'localhost' }
    const body = JSON.stringify(initialize)
    for (const bounds of [{ maxSessions: 2 }, { maxSessionsOfCaller: 2 }]) {
      const { service, ask } = await startService({ tools: [add], mcp: bounds })
      const open = () => service.fetch(new Request('http://localhost/mcp', { method: 'POST', body, headers }))
      const opened = await Promise.all(Array.from({ length: 12 }, open))
      const isOpen = async (response: Response) => {
        const id = response.headers.get('mcp-session-id')
        return id !== null && (await ask('/mcp', { method: 'DELETE', headers: { 'mcp-session-id': id } })).status === 200
      }
      expect((await Promise.all(opened.map(isOpen))).filter(Boolean)).toHaveLength(2)
    }
  })

  it('treats each message of an array as a request', async () => {
    const { post } = await startService({ tools: [add], config: { service: { mcp: true, requestsPerMinute: 50 } } })
    const headers = {
      ...accept,
      'mcp-session-id': await sessionOf(
        post('/mcp', { ...initialize, params: { ...initialize.params, protocolVersion: '2025-03-26' } }, accept),
      ),
    }
    const batch = (length: number) => Array.from({ length }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' }))
    const first = await post('/mcp', batch(40), headers)
    expect(first.status).toBe(200)
    await first.text()
    expect((await post('/mcp', batch(40), headers)).status).toBe(429)
    // More than there may be at all.
    expect((await post('/mcp', batch(100), headers)).status).toBe(429)
    const small = await post('/mcp', batch(2), headers)
    expect(small.status).toBe(200)
    await small.text()
  })

  it('ends a call when its client has left, and frees its place', async () => {
    const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const ended = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let calls = 0
    const never = defineTool({
      name: 'never',
      description: 'Never ends.',
      execute: (_args, { signal }) => {
        const call = calls++
        signal.addEventListener('abort', () => ended[call]?.resolve())
        begun[call]?.resolve()
        return new Promise(() => {})
      },
    })
    const { post, ask } = await startService({ tools: [never], config: { service: { mcp: true, concurrentRuns: 1 } } })
    const session = { ...accept, 'mcp-session-id': await sessionOf(post('/mcp', initialize, accept)) }
    const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'never' } }
    const older = await post('/mcp', call, session)
    await begun[0]?.promise
    const full = await post('/mcp', { ...call, id: 3 }, session)
    expect(await full.text()).toMatch(/at most 1 runs at once/)
    await older.body?.cancel()
    await ended[0]?.promise
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
      'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    }
    const controller = new AbortController()
    const standard = { ...accept, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'never' }
    const body = JSON.stringify({ ...call, params: { name: 'never', _meta: meta } })
    const headers = { ...standard, 'content-type': 'application/json' }
    const gone = ask('/mcp', { method: 'POST', body, headers, signal: controller.signal })
    await begun[1]?.promise
    controller.abort()
    await expect(gone).rejects.toThrow()
    await ended[1]?.promise
  })

  it('disconnects a client that reads nothing, and ends its call', async () => {
    const aborted = Promise.withResolvers<void>()
    const flood = defineTool({
      name: 'flood',
      description: 'Reports without end.',
      execute: async (_args, { signal, progress }) => {
        for (; !signal.aborted; await new Promise(setImmediate)) progress('x'.repeat(4_000))
        aborted.resolve()
      },
    })
    const { service } = await startService({ tools: [flood], mcp: true })
    const headers = { ...accept, 'content-type': 'application/json', authorization: `Bearer ${token}`, host: 'localhost' }
    const send = (message: object, more: object = {}) =>
      service.fetch(
        new Request('http://localhost/mcp', { method: 'POST', body: JSON.stringify(message), headers: { ...headers, ...more } }),
      )
    const session = { 'mcp-session-id': await sessionOf(send(initialize)) }
    const params = { name: 'flood', _meta: { progressToken: 1 } }
    const unread = await send({ jsonrpc: '2.0', id: 2, method: 'tools/call', params }, session)
    await aborted.promise
    await expect(unread.text()).rejects.toThrow(/too slow/)
  })

  it('returns the value of a tool with an output schema as data, and fails if it does not match', async () => {
    const outputSchema = { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] } as const
    const sum = defineTool({ name: 'sum', description: 'Sums.', outputSchema, execute: () => ({ sum: 5 }) })
    const wrong = defineTool({ name: 'wrong', description: 'Is wrong.', outputSchema, execute: () => ({ sum: 'five' }) })
    const long = defineTool({ name: 'long', description: 'Is long.', outputSchema, execute: () => ({ sum: 1, text: 'x'.repeat(100_000) }) })
    const { url } = await startService({ tools: [sum, wrong, long], mcp: { agents: false } })
    const { client } = await connectClient(url)
    expect((await client.listTools()).tools[0]?.outputSchema).toEqual(outputSchema)
    expect((await client.callTool({ name: 'sum' })).structuredContent).toEqual({ sum: 5 })
    expect(await client.callTool({ name: 'wrong' })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/output schema says: `sum`/) }],
    })
    expect(await client.callTool({ name: 'long' })).toMatchObject({ isError: true })
  })

  it('offers Skills as prompts and resources with their tools, and updates them with the configuration', async () => {
    const { folder, file, write } = await configFile('')
    const skill = async (name: string, text: string) => {
      await mkdir(join(folder, 'skills', name), { recursive: true })
      await writeFile(join(folder, 'skills', name, 'SKILL.md'), `---\nname: ${name}\ndescription: How to greet.\n---\n${text}\n`)
    }
    await skill('greeting', 'Say Moin.')
    const yaml = (mcp: string) => `skills: { paths: [skills] }\nservice: { mcp: ${mcp} }\n`
    await write(yaml('true'))
    const { url } = await startService({ configFile: file, cwd: folder, tools: [add] })
    const changed = Promise.withResolvers<void>()
    for (const era of ['legacy', 'modern'] as const) {
      const { client } = await connectClient(url, {
        era,
        listChanged: { prompts: { debounceMs: 0, autoRefresh: false, onChanged: () => changed.resolve() } },
      })
      expect((await client.listPrompts()).prompts).toEqual([{ name: 'greeting', description: 'How to greet.' }])
      const { messages } = await client.getPrompt({ name: 'greeting' })
      expect(messages).toEqual([{ role: 'user', content: { type: 'text', text: expect.stringMatching(/Say Moin\./) } }])
      const { resources } = await client.listResources()
      expect(resources).toMatchObject([{ name: 'greeting', uri: 'skill://greeting/SKILL.md', mimeType: 'text/markdown' }])
      const { contents } = await client.readResource({ uri: 'skill://greeting/SKILL.md' })
      expect(contents).toMatchObject([{ text: expect.stringMatching(/^Say Moin\./) }])
      await expect(client.readResource({ uri: 'skill://greeting/../../etc/passwd' })).rejects.toThrow(/not found/i)
    }
    await write(yaml('{ tools: [add] }'))
    await changed.promise
    const { client } = await connectClient(url)
    expect(client.getServerCapabilities()).not.toHaveProperty('prompts')
  })

  it('accepts an answer only for the call it was requested by', async () => {
    const pick = defineTool({
      name: 'pick',
      description: 'Asks.',
      parameters: { type: 'object', properties: { n: { type: 'number' } } },
      execute: ({ n }, { answer }) => (answer === undefined ? ask({ about: `Really ${n}?` }) : `${n}: ${answer}`),
    })
    const { post } = await startService({ tools: [pick], mcp: true })
    const send = async (params: object) => {
      const meta = {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
      }
      const headers = { ...accept, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'pick' }
      const response = await post(
        '/mcp',
        { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'pick', _meta: meta, ...params } },
        headers,
      )
      return (await response.json()) as { result?: { requestState?: string; content?: { text: string }[] }; error?: { message: string } }
    }
    const { requestState } = (await send({ arguments: { n: 1 } })).result ?? {}
    const inputResponses = { answer: { action: 'accept', content: { answer: 'yes' } } }
    expect((await send({ arguments: { n: 1 }, requestState, inputResponses })).result?.content?.[0]?.text).toBe('1: yes')
    const odd = { answer: { action: 'accept', content: { answer: { yes: true } } } }
    expect((await send({ arguments: { n: 1 }, requestState, inputResponses: odd })).result?.content?.[0]?.text).toMatch(
      /not what the tool asked for/,
    )
    expect((await send({ arguments: { n: 2 }, requestState, inputResponses })).error?.message).toMatch(/belongs to another call/)
    expect((await send({ arguments: { n: 1 }, requestState: `${requestState}x`, inputResponses })).error?.message).toMatch(
      /Invalid or expired/,
    )
    // Nothing was asked of it, and its question could be any: it asks.
    expect((await send({ arguments: { n: 1 }, inputResponses })).result?.requestState).toBeDefined()
  })

  it('accepts an answer before its question, if that has a name; other messages are ignored', async () => {
    const greet = defineTool({
      name: 'greet',
      description: 'Greets.',
      execute: (_args, { answer }) =>
        answer === undefined ? ask({ about: { name: 'who', message: 'Your name?' }, schema: { type: 'string' } }) : `Hello ${answer}`,
    })
    const { post } = await startService({ tools: [greet], mcp: true })
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
    }
    const send = async (inputResponses: object) => {
      const headers = { ...accept, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'greet' }
      const params = { name: 'greet', _meta: meta, inputResponses }
      const response = await post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, headers)
      const { result } = (await response.json()) as { result: { content?: { text: string }[]; requestState?: string } }
      return result.content?.[0]?.text ?? result.requestState?.slice(0, 3)
    }
    const given = { action: 'accept', content: { answer: 'Ann' } }
    expect(await send({ who: given, other: given })).toBe('Hello Ann')
    expect(await send({ who: { action: 'accept', content: { answer: 7 } } })).toMatch(/not what the tool asked for/)
    expect(await send({ other: given })).toMatch(/^v1\./)
  })

  it('notifies clients when the configuration changes their tools', async () => {
    const { file, write } = await configFile('tools: { builtin: [calculate] }\nservice: { mcp: { agents: [] } }\n')
    const { url } = await startService({ configFile: file, tools: [add] })
    const told = Promise.withResolvers<string[]>()
    const onChanged = (_error: unknown, tools: readonly { name: string }[] | null) => told.resolve((tools ?? []).map(({ name }) => name))
    const { client } = await connectClient(url, { era: 'legacy', listChanged: { tools: { debounceMs: 0, onChanged } } })
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['add', 'calculate'])
    await write('tools: { builtin: [calculate, current_time] }\nservice: { mcp: { agents: [], tools: [calculate, current_time] } }\n')
    expect(await told.promise).toEqual(['calculate', 'current_time'])
    await expect(client.callTool({ name: 'add', arguments: { a: 1, b: 1 } })).rejects.toThrow(/Tool not found/)
  })

  it('lets calls finish when the service shuts down, and ends every stream', async () => {
    const gate = Promise.withResolvers<string>()
    const begun = Promise.withResolvers<void>()
    const slow = defineTool({
      name: 'slow',
      description: 'Waits.',
      execute: () => {
        begun.resolve()
        return gate.promise
      },
    })
    const { url, listening, ask } = await startService({ tools: [slow], mcp: true })
    const { client } = await connectClient(url, { era: 'legacy' })
    const called = client.callTool({ name: 'slow' })
    await begun.promise
    const closed = listening.close(10_000)
    expect((await ask('/mcp', { method: 'POST' })).status).toBe(503)
    gate.resolve('done')
    expect(await called).toMatchObject({ content: [{ text: 'done' }] })
    await closed
  })
})
