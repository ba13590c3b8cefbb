import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { createMcpHandler, Server } from '@modelcontextprotocol/server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectMcpServers, type McpServer, type McpTools } from '../../../src/tools/mcp/index.ts'
import { recordingLogger } from '../../hazards/recording-logger.ts'
import { callText, callTool, Watch } from './open-tools.ts'

// The protocol's reference server for testing clients.
const program = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'))

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  return typeof address === 'object' && address !== null ? address.port : 0
}

async function startHttp(given?: number): Promise<{ url: string; port: number; child: ChildProcess }> {
  const port = given ?? (await freePort())
  const child = spawn(process.execPath, [program, 'streamableHttp'], { env: { PORT: String(port) }, stdio: ['ignore', 'ignore', 'pipe'] })
  for await (const chunk of child.stderr) if (String(chunk).includes('listening')) break
  return { url: `http://127.0.0.1:${port}/mcp`, port, child }
}

it('E2.1 restarting the server "everything" opens a new session for the next call', async () => {
  const { url, port, child } = await startHttp()
  await using tools = await connectMcpServers({ every: { url } }, { logger: recordingLogger().logger })
  expect(await callText(tools, 'every__echo', { message: 'before' })).toBe('Echo: before')
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
  const restarted = await startHttp(port)
  try {
    const calls = ['one', 'two', 'three'].map((message) => callText(tools, 'every__echo', { message }))
    expect(await Promise.all(calls)).toEqual(['Echo: one', 'Echo: two', 'Echo: three'])
    expect(tools.servers()).toEqual([{ name: 'every', state: 'ready' }])
  } finally {
    restarted.child.kill('SIGKILL')
  }
})

describe.concurrent.each(['stdio', 'http'])('the server "everything" over %s', (transport) => {
  const { logger, records } = recordingLogger()
  let child: ChildProcess | undefined
  let tools: McpTools
  beforeAll(async () => {
    let server: McpServer = { command: process.execPath, args: [program, 'stdio'] }
    if (transport === 'http') {
      const started = await startHttp()
      child = started.child
      server = { url: started.url }
    }
    tools = await connectMcpServers({ every: server }, { logger })
  })
  afterAll(async () => {
    await tools.close()
    child?.kill('SIGKILL')
  })

  it('lists tools, all of them usable', () => {
    expect(tools.names()).toEqual(expect.arrayContaining(['every__echo', 'every__get-sum', 'every__get-tiny-image']))
    expect(records.filter(({ level }) => level === 'warn')).toEqual([])
  })

  it('returns texts, data, pictures and resources', async () => {
    expect(await callText(tools, 'every__echo', { message: 'grüße' })).toBe('Echo: grüße')
    expect(await callText(tools, 'every__get-sum', { a: 2, b: 40 })).toMatch(/42/)
    const weather = await callTool(tools, 'every__get-structured-content', { location: 'Chicago' })
    expect(weather).toMatchObject({ outcome: 'ok', value: { structured: { temperature: expect.any(Number) } } })
    expect(await callTool(tools, 'every__get-tiny-image')).toMatchObject({
      content: expect.arrayContaining([expect.objectContaining({ type: 'image', mediaType: 'image/png' })]),
    })
    expect(await callText(tools, 'every__get-resource-links', { count: 2 })).toMatch(/demo:\/\/resource/)
  })

  it('H13 is not asked if the arguments are invalid', async () => {
    expect(await callTool(tools, 'every__get-sum', { a: 'two' })).toMatchObject({
      outcome: 'rejected',
      code: 'invalid_arguments',
      content: expect.stringMatching(/^Invalid arguments for tool `every__get-sum`: .*`a`: expected number, got string/),
    })
  })

  it('reports progress, and finishes a long operation', async () => {
    const seen: unknown[] = []
    const watch = new Watch()
    const onProgress = (update: unknown) => {
      seen.push(update)
      watch.changed()
    }
    const controller = new AbortController()
    const args = { duration: 0.4, steps: 4 }
    const call = callTool(tools, 'every__trigger-long-running-operation', args, { onProgress })
    const other = callTool(tools, 'every__trigger-long-running-operation', { duration: 60, steps: 600 }, { signal: controller.signal })
    const first = await Promise.race([watch.until(() => seen.length > 0).then(() => 'progress'), call])
    controller.abort()
    expect(first, JSON.stringify(records)).toBe('progress')
    expect(await other).toMatchObject({ outcome: 'cancelled' })
    expect(await call).toMatchObject({ outcome: 'ok' })
    expect(seen[0]).toEqual({ progress: 1, total: 4 })
  })
})

describe('a server that only supports the protocol without a handshake', () => {
  it('is understood: its calls are answered and its list is followed', async () => {
    const watch = new Watch()
    const args = [fileURLToPath(new URL('newer-server.ts', import.meta.url))]
    await using tools = await connectMcpServers({ newer: { command: process.execPath, args } }, { onChange: watch.changed })
    expect(await callText(tools, 'newer__grow1')).toBe('2 tools')
    await watch.until(() => tools.size === 2)
  })

  it('is understood over HTTP too, where a call ends with its request', async () => {
    const aborted = Promise.withResolvers<string>()
    const { fetch } = createMcpHandler(
      () => {
        const server = new Server({ name: 'newer', version: '1' }, { capabilities: { tools: {} } })
        server.setRequestHandler('tools/list', () => ({ tools: [{ name: 'hang', inputSchema: { type: 'object' as const } }] }))
        server.setRequestHandler('tools/call', (_request, { mcpReq: { signal } }) => {
          signal.addEventListener('abort', () => aborted.resolve('aborted'))
          return new Promise(() => {})
        })
        return server
      },
      { legacy: 'reject' },
    )
    const server = { url: 'http://localhost/mcp', fetch: (url: string | URL, init?: RequestInit) => fetch(new Request(url, init)) }
    await using tools = await connectMcpServers({ newer: server }, { logger: recordingLogger().logger })
    expect(await callTool(tools, 'newer__hang', {}, { timeoutMs: 50 })).toMatchObject({ outcome: 'timeout' })
    expect(await aborted.promise).toBe('aborted')
  })

  it('is followed over HTTP even if the stream of changes breaks', async () => {
    let count = 1
    const handler = createMcpHandler(
      () => {
        const server = new Server({ name: 'newer', version: '1' }, { capabilities: { tools: { listChanged: true } } })
        server.setRequestHandler('tools/list', () => ({
          tools: Array.from({ length: count }, (_, at) => ({ name: `t${at}`, inputSchema: { type: 'object' as const } })),
        }))
        return server
      },
      { legacy: 'reject' },
    )
    const streams: AbortController[] = []
    const fetch = async (url: string | URL, init?: RequestInit) => {
      const response = await handler.fetch(new Request(url, init))
      if (!String(init?.body).includes('subscriptions/listen') || response.body === null) return response
      const cut = new AbortController()
      streams.push(cut)
      const body = response.body.pipeThrough(new TransformStream(), { signal: cut.signal })
      return new Response(body, { status: response.status, headers: response.headers })
    }
    const watch = new Watch()
    const options = { logger: recordingLogger().logger, onChange: watch.changed }
    await using tools = await connectMcpServers({ newer: { url: 'http://localhost/mcp', fetch } }, options)
    expect(tools.size).toBe(1)
    // Nothing announces this change.
    count = 2
    streams[0]?.abort()
    await watch.until(() => tools.size === 2)
    expect(tools.servers()).toMatchObject([{ state: 'ready' }])
    count = 3
    handler.notify.toolsChanged()
    await watch.until(() => tools.size === 3)
    expect(streams).toHaveLength(2)
  })
})
