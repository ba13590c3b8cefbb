import type { ServerResponse } from 'node:http'
import { describe, expect, it, vi } from 'vitest'
import { connectMcpServers } from '../../../src/tools/mcp/index.ts'
import { recordingLogger } from '../../hazards/recording-logger.ts'
import { type Answer, json, result, startOddHttpServer } from './odd-http-server.ts'
import { callText, callTool, listed, Watch } from './open-tools.ts'

const events = (response: Parameters<Answer>[0]) => response.writeHead(200, { 'content-type': 'text/event-stream' })
const event = (message: object) => `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`

/** A page as gateways and proxies send it. */
function sendPage(response: ServerResponse, status: number, title: string): void {
  response.writeHead(status, { 'content-type': 'text/html' })
  response.end(`<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${title}</h1></center>\r\n</body>\r\n</html>\r\n`)
}

/** The odd server's tools, by name. */
const answers: Record<string, Answer> = {
  echo: (response, { message: { id, params } }) =>
    json(response, { jsonrpc: '2.0', id, result: result(JSON.stringify(params?.arguments)) }),
  cut: (response) => void events(response).write('event: mess', () => response.destroy()),
  'end-early': (response) => void events(response).end(': nothing\n\n'),
  'cut-json': (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
    response.write('{"jsonrpc"', () => response.destroy())
  },
  huge: (response) => void response.setHeader('content-type', 'application/json').end(`"${'x'.repeat(11_000_000)}"`),
  'huge-event': (response) => void events(response).end(`data: "${'x'.repeat(11_000_000)}"\n\n`),
  html: (response) => void response.setHeader('content-type', 'text/html').end('<h1>Sign in</h1>'),
  error: (response) => void response.writeHead(503).end('busy'),
  gateway: (response) => sendPage(response, 502, 'Bad Gateway'),
  forbidden: (response) => sendPage(response, 403, 'Attention Required! | Cloudflare'),
  /** A tool that returns what it was sent. */
  quotes: (response, { message: { id } }) => {
    const text = 'HTTP 502: <!doctype html><html><head><title>Bad Gateway</title></head><body>x</body></html>'
    events(response).end(event({ id, result: { content: [{ type: 'text', text }], isError: true } }))
  },
  /** An error response that never ends. */
  'endless-error': (response) => {
    response.writeHead(500)
    const write = (): void => void response.write('x'.repeat(100_000), (error) => error ?? write())
    write()
  },
  /** More bytes in total than one message may have, but not in any single message; each ends in its own chunk. */
  'many-events': async (response, { message: { id } }) => {
    const data = 'x'.repeat(1_000_000)
    events(response)
    const write = (text: string) => new Promise<void>((resolve) => response.write(text, () => setImmediate(resolve)))
    for (let sent = 0; sent < 12; sent++) {
      await write(event({ method: 'notifications/message', params: { level: 'info', data } }).slice(0, -1))
      await write('\n')
    }
    response.end(event({ id, result: result('after all') }))
  },
  away: (response) => void response.writeHead(307, { location: 'http://169.254.169.254/latest' }).end(),
  'stays-open': (response, { message: { id } }) => void events(response).write(event({ id, result: result('done') })),
  hang: (response, { message: { params } }) => {
    const progress = { progressToken: params?._meta?.progressToken, progress: 1 }
    events(response).write(event({ method: 'notifications/progress', params: progress }))
  },
}
const tools = Object.keys(answers).map((name) => listed(name))
const startServer = () => startOddHttpServer(tools, (response, request) => answers[request.message.params?.name ?? '']?.(response, request))

describe.concurrent('an MCP server over HTTP', () => {
  it('is asked for its list again if it reports a change during a call, even after that call', async () => {
    const own = [listed('become')]
    await using server = await startOddHttpServer(own, (response, { message: { id } }) => {
      own.push(listed('new'))
      events(response).end(event({ method: 'notifications/tools/list_changed' }) + event({ id, result: result('changed') }))
    })
    const watch = new Watch()
    await using open = await connectMcpServers({ odd: { url: server.url } }, { logger: recordingLogger().logger, onChange: watch.changed })
    expect(await callText(open, 'odd__become')).toBe('changed')
    await watch.until(() => open.size === 2)
  })

  it('receives headers, including changing ones, and the end of its session', async () => {
    await using server = await startServer()
    let turn = 0
    const headers = () => ({ authorization: `Bearer turn-${++turn}` })
    const open = await connectMcpServers({ odd: { url: server.url, headers, startTimeoutMs: 50_000 } })
    expect(open.names()).toEqual(Object.keys(answers).map((name) => `odd__${name}`))
    expect(await callText(open, 'odd__echo', { a: 1 })).toBe('{"a":1}')
    await open.close()
    const sent = server.requests.map(({ headers: { authorization } }) => authorization)
    expect(new Set(sent).size).toBe(server.requests.length)
    expect(server.requests.at(-1)).toMatchObject({ method: 'DELETE', headers: { 'mcp-session-id': 'one' } })
  })

  it.each([
    [
      'cut',
      /^The MCP server `odd` did not answer \(the connection closed before the response arrived\)\. Whether the call took effect is not known\./,
    ],
    ['end-early', /did not answer \(the connection closed before the response arrived\)/],
    ['cut-json', /did not answer \(.*\)\. Whether the call took effect/],
    ['huge', /did not answer \(the server sent a message of more than 5500000 bytes\)/],
    ['huge-event', /did not answer/],
    ['html', /did not answer \(Unexpected content type: text\/html\)/],
    ['error', /answered with HTTP status 503\. It is being restarted/],
    ['gateway', /answered with HTTP status 502 and an HTML page titled "Bad Gateway"\. It is being restarted/],
    ['forbidden', /answered with HTTP status 403 and an HTML page titled "Attention Required! \| Cloudflare"\.$/],
    ['quotes', /^HTTP 502: an HTML page titled "Bad Gateway"$/],
    ['endless-error', /answered with HTTP status 500\. It is being restarted/],
    ['away', /answered with HTTP status 307/],
  ])('E2.9 with a broken response (%s) makes the call fail immediately, with a message', async (name, words) => {
    await using server = await startServer()
    await using open = await connectMcpServers({ odd: { url: server.url } }, { logger: recordingLogger().logger })
    expect(await callText(open, `odd__${name}`)).toMatch(words)
  })

  it('may send more in one stream than in one message', async () => {
    await using server = await startServer()
    await using open = await connectMcpServers({ odd: { url: server.url } }, { logger: recordingLogger().logger })
    expect(await callText(open, 'odd__many-events')).toBe('after all')
  })

  it('has a configurable start timeout, however much it lists', async () => {
    const properties = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`key${at}`, { type: 'string' }]))
    const many = Array.from({ length: 40 }, (_, at) => listed(`t${at}`, { inputSchema: { type: 'object', properties } }))
    await using server = await startOddHttpServer(many, () => {})
    const open = (startTimeoutMs: number, url = server.url) =>
      connectMcpServers({ odd: { url, startTimeoutMs } }, { logger: recordingLogger().logger })
    await expect(open(300)).rejects.toThrow('it was not ready within 300 ms')
    await using small = await startServer()
    for (const startTimeoutMs of [2 ** 31, Number.POSITIVE_INFINITY]) await (await open(startTimeoutMs, small.url)).close()
  })

  it('gets its connection back from a call that is over', async () => {
    await using server = await startServer()
    await using open = await connectMcpServers({ odd: { url: server.url } }, { logger: recordingLogger().logger })
    expect(await callText(open, 'odd__stays-open')).toBe('done')
    const controller = new AbortController()
    const onProgress = () => controller.abort()
    expect(await callTool(open, 'odd__hang', {}, { signal: controller.signal, onProgress })).toMatchObject({ outcome: 'cancelled' })
    await vi.waitFor(() => expect(server.requests.map(({ message }) => message.method)).toContain('notifications/cancelled'), {
      timeout: 50_000,
    })
    expect(await callText(open, 'odd__echo')).toBe('{}')
    await vi.waitFor(() => expect(server.open.size).toBe(0), { timeout: 50_000 })
  })

  it('is connected to again after it has forgotten the session or was down', async () => {
    const watch = new Watch()
    await using server = await startServer()
    const options = { logger: recordingLogger().logger, onChange: watch.changed }
    await using open = await connectMcpServers({ odd: { url: server.url } }, options)
    server.session = 'two'
    expect(await callText(open, 'odd__echo')).toBe('{}')
    await server.stop()
    expect(await callText(open, 'odd__echo')).toMatch(/did not answer \((the host refused the connection|the connection broke)\)\. Whether/)
    expect(open.servers()[0]).toMatchObject({ state: 'down' })
    await server.start()
    await watch.until(() => open.servers()[0]?.state === 'ready')
    expect(await callText(open, 'odd__echo')).toBe('{}')
  })

  it.each<[string, Answer, RegExp]>([
    ['never answers', () => {}, /was not ready within 200 ms/],
    ['wants to know who asks', (response) => void response.writeHead(401).end('who are you?'), /could not be started: .*who are you/],
    [
      'is behind a gateway',
      (response) => sendPage(response, 502, 'Bad Gateway'),
      /could not be started: it answered with HTTP status 502 and an HTML page titled "Bad Gateway"$/,
    ],
    [
      'is behind a sign-in',
      (response) => sendPage(response, 401, 'Sign in'),
      /could not be started: it requires a sign-in: give it `auth` \(it says: an HTML page titled "Sign in"\)$/,
    ],
    ['is none', (response) => void response.setHeader('content-type', 'text/html').end('<h1>Hello</h1>'), /Unexpected content type/],
  ])('E2.9 that %s fails to connect, and leaves no connection', async (what, handshake, words) => {
    await using server = await startOddHttpServer([], () => {}, handshake)
    const url = `${server.url}?key=secret-in-address`
    const startTimeoutMs = what === 'never answers' ? 200 : 50_000
    const opening = connectMcpServers({ odd: { url, startTimeoutMs } }, { logger: recordingLogger().logger })
    const error: unknown = await opening.catch((reason: unknown) => reason)
    expect(String(error)).toMatch(words)
    expect(error).toMatchObject({ code: 'mcp_server_failed', message: expect.not.stringContaining('secret-in-address') })
    await vi.waitFor(() => expect(server.open.size).toBe(0), { timeout: 50_000 })
  })
})
