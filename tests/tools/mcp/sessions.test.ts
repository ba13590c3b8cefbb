import { describe, expect, it } from 'vitest'
import { connectMcpServers, type McpServerOptions, type McpTools } from '../../../src/tools/mcp/index.ts'
import { recordingLogger } from '../../hazards/recording-logger.ts'
import { callText, callTool, listed, Watch } from './open-tools.ts'
import { type Refusal, type SessionServer, startSessionServer } from './session-server.ts'

async function connect(server: SessionServer, options: McpServerOptions = {}): Promise<McpTools & { watch: Watch }> {
  const watch = new Watch()
  const tools = await connectMcpServers(
    { kept: { url: server.url, prefix: '', ...options } },
    { logger: recordingLogger().logger, onChange: watch.changed },
  )
  return Object.assign(tools, { watch })
}

const rpc = (status: number, message: string, code = -32_000): Refusal => {
  return ({ id }) => Response.json({ jsonrpc: '2.0', error: { code, message }, id: status === 400 ? (id ?? null) : null }, { status })
}
const text =
  (status: number, words: string): Refusal =>
  () =>
    new Response(words, { status })

/** Responses of servers to an unknown session. */
const refusals: [string, Refusal][] = [
  ['the TypeScript SDK', rpc(404, 'Session not found', -32_001)],
  ['the TypeScript SDK, a transport that was never initialized', rpc(400, 'Bad Request: Server not initialized')],
  ['server-everything and the examples of the TypeScript SDK', rpc(400, 'Bad Request: No valid session ID provided')],
  ['a server that takes the session for missing', rpc(400, 'Bad Request: No valid session ID or not an initialize request')],
  ['a gateway', rpc(404, 'Not Found: Unknown Mcp-Session-Id header')],
  ['the Python SDK', rpc(404, 'Not Found: Invalid or expired session ID', -32_600)],
  ['older Python SDKs', text(400, 'Bad Request: No valid session ID provided')],
  ['the Go SDK', text(404, 'session not found\n')],
  ['mcp-go', text(400, 'Invalid session ID\n')],
  ['the Java SDK', () => Response.json({ code: -32_603, message: 'Session not found: 1' }, { status: 404 })],
  ['a proxy without words', text(404, '')],
  ['the Rust SDK', text(401, 'Unauthorized: Session not found')],
]

describe.concurrent('an MCP server that has forgotten the session', () => {
  it.each(refusals)('E2.1 gets a new session, and the call is repeated: refused as by %s', async (_who, refusal) => {
    await using server = await startSessionServer([listed('a')], refusal)
    await using tools = await connect(server)
    await server.forget()
    expect(await callText(tools, 'a')).toBe('a')
    expect(server).toMatchObject({ ran: ['a'], opened: 2 })
    expect(await callText(tools, 'a')).toBe('a')
    expect(server.opened).toBe(2)
    expect(tools.servers()).toEqual([{ name: 'kept', state: 'ready' }])
  })

  it.each(refusals.slice(0, 3))('E2.1 gets one new session for simultaneous calls, each repeated once: %s', async (_who, refusal) => {
    await using server = await startSessionServer([listed('a')], refusal)
    await using tools = await connect(server)
    await server.forget()
    const calls = Array.from({ length: 12 }, () => callText(tools, 'a'))
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['a']))
    expect(server.ran).toHaveLength(12)
    expect(server.opened).toBe(2)
  })

  it('E2.1 lists its tools and resources again, because they may have changed', async () => {
    await using server = await startSessionServer([listed('a')])
    await using tools = await connect(server)
    expect(await tools.resources('kept')).toMatchObject([{ name: 'session 1' }])
    await server.forget()
    server.tools = [listed('a'), listed('b')]
    expect(await callText(tools, 'a')).toBe('a')
    expect(tools.names()).toEqual(['a', 'b'])
    expect(await tools.resources('kept')).toMatchObject([{ name: 'session 2' }])
    await server.forget()
    // Requests that are not calls of tools are repeated as well.
    expect(await tools.prompts('kept').catch(String)).toMatch(/Method not found/)
    expect(server.opened).toBe(3)
  })

  it('E2.1 reports changes in the new session', async () => {
    await using server = await startSessionServer([listed('a')])
    await using tools = await connect(server)
    await server.forget()
    expect(await callText(tools, 'a')).toBe('a')
    server.tools = [listed('a'), listed('c')]
    await server.current()?.sendToolListChanged()
    await tools.watch.until(() => tools.size === 2)
  })

  it('E2.1 does not get the call again if its tool has changed', async () => {
    await using server = await startSessionServer([listed('a')])
    await using tools = await connect(server)
    await server.forget()
    server.tools = [listed('a', { description: 'Deletes everything.' })]
    expect(await callText(tools, 'a')).toBe(
      'The MCP server `kept` has started a new session, in which its tool `a` has changed or is missing. The call was not made.',
    )
    expect(server.ran).toEqual([])
  })

  it.each([
    ['404', text(404, '')],
    ['400', rpc(400, 'Bad Request: No valid session ID provided')],
  ])('E2.1 repeatedly (%s): a call gets one new session, and then fails', async (_status, refusal) => {
    await using server = await startSessionServer([listed('a')], refusal)
    await using tools = await connectMcpServers(
      {
        kept: {
          url: server.url,
          prefix: '',
          // Each session is forgotten before the first call in it.
          fetch: async (url, init) => {
            if (String(init?.body).includes('"tools/call"')) await server.forget()
            return fetch(url, init)
          },
        },
      },
      { logger: recordingLogger().logger },
    )
    expect(await callText(tools, 'a')).toMatch(/answered with HTTP status 40[04]\. It is being restarted/)
    expect(server).toMatchObject({ ran: [], opened: 2 })
    expect(tools.servers()).toMatchObject([{ state: 'down' }])
  })

  it('E2.1 and can’t be reached any more makes the call fail and say so', async () => {
    await using server = await startSessionServer([listed('a')])
    let isOpen = true
    const own = (url: string | URL, init?: RequestInit) =>
      isOpen || !String(init?.body).includes('"initialize"') ? fetch(url, init) : Promise.reject(new TypeError('fetch failed'))
    await using tools = await connectMcpServers({ kept: { url: server.url, prefix: '', fetch: own } }, { logger: recordingLogger().logger })
    await server.forget()
    isOpen = false
    expect(await callText(tools, 'a')).toMatch(/answered with HTTP status 404\. It is being restarted/)
    expect(server.ran).toEqual([])
  })

  it('E2.1 keeps an unfinished call in the old session', async () => {
    const slow = Promise.withResolvers<void>()
    const started = Promise.withResolvers<void>()
    await using server = await startSessionServer([listed('slow'), listed('a')])
    server.call = async (name) => {
      if (name === 'slow') {
        started.resolve()
        await slow.promise
      }
      return { content: [{ type: 'text', text: name }] }
    }
    await using tools = await connect(server)
    const call = callText(tools, 'slow')
    await started.promise
    await server.forget('stay')
    expect(await callText(tools, 'a')).toBe('a')
    slow.resolve()
    expect(await call).toBe('slow')
    expect(server.ran).toEqual(['slow', 'a'])
  })

  it('E2.1 stops waiting for its new session when the call ends', async () => {
    await using server = await startSessionServer([listed('a')])
    const asked = Promise.withResolvers<void>()
    let handshakes = 0
    const own = async (url: string | URL, init?: RequestInit) => {
      if (String(init?.body).includes('"initialize"') && ++handshakes === 2) {
        asked.resolve()
        return new Promise<never>((_, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)))
      }
      return fetch(url, init)
    }
    await using tools = await connectMcpServers(
      { kept: { url: server.url, prefix: '', protocolVersion: '2025-11-25', fetch: own } },
      { logger: recordingLogger().logger },
    )
    await server.forget()
    const controller = new AbortController()
    const call = callTool(tools, 'a', {}, { signal: controller.signal })
    await asked.promise
    controller.abort()
    expect(await call).toMatchObject({ outcome: 'cancelled' })
  })
})

describe.concurrent('an MCP server that refuses a call itself', () => {
  /** Refuses calls of its tool after it has run; the session exists. `alsoPings`: a service behind it fails for all requests. */
  const ofItsOwn =
    (server: SessionServer, words: string, status: number, alsoPings = false) =>
    (url: string | URL, init?: RequestInit) => {
      const isCall = String(init?.body).includes('"tools/call"')
      if (!isCall && !(alsoPings && String(init?.body).includes('"ping"'))) return fetch(url, init)
      if (isCall) server.ran.push('a')
      return Promise.resolve(new Response(words, { status }))
    }

  it.each([
    [400, 'the date is no date'],
    [400, 'Session not found: 17'],
    [404, '{"detail":"Customer 17 not found"}'],
    [500, 'the database session is closed'],
  ])('E2.1 keeps its session, and the call is not repeated: %i %s', async (status, words) => {
    await using server = await startSessionServer([listed('a')])
    const fetch = ofItsOwn(server, words, status)
    await using tools = await connectMcpServers({ kept: { url: server.url, prefix: '', fetch } }, { logger: recordingLogger().logger })
    expect(await callText(tools, 'a')).toMatch(/^The MCP server `kept` answered with HTTP status \d+\./)
    expect(server).toMatchObject({ ran: ['a'], opened: 1 })
    expect(tools.servers()).toMatchObject([{ state: 'ready' }])
  })

  it.each([
    [500, 'the database session is closed'],
    [400, 'Bad Request: missing field; no session cookie for the shop'],
  ])('E2.1 does not get a call again that may have run, if a ping is refused in the same words: %i %s', async (status, words) => {
    await using server = await startSessionServer([listed('a')])
    const fetch = ofItsOwn(server, words, status, true)
    await using tools = await connectMcpServers({ kept: { url: server.url, prefix: '', fetch } }, { logger: recordingLogger().logger })
    expect(await callText(tools, 'a')).toContain('Whether the call took effect is not known.')
    expect(server.ran).toEqual(['a'])
  })

  it.each([
    ['unsafe', /HTTP status 400\. Whether the call took effect is not known\./, []],
    ['idempotent', /^a$/, ['a']],
  ] as const)('E2.1 and everything else with unclear errors gets a new session; a call that is %s', async (effect, told, ran) => {
    await using server = await startSessionServer([listed('a')], text(400, 'Bad Request'))
    await using tools = await connect(server, { effects: { a: effect } })
    await server.forget()
    expect(await callText(tools, 'a')).toMatch(told)
    expect(server.ran).toEqual(ran)
    await tools.watch.until(() => tools.servers()[0]?.state === 'ready')
    expect(await callText(tools, 'a')).toBe('a')
    expect(server.opened).toBe(2)
  })
})
