import { expect, it } from 'vitest'
import { connectClient, textOf } from './mcp-client.ts'
import { measuredService } from './measured-service.ts'
import { openSocket } from './raw-http.ts'
import { configFile, token } from './start-service.ts'

const clients = 1_000
const yaml = 'service: { mcp: { agents: [] }, requestsPerMinute: 1000000, openStreams: 5000, concurrentRuns: 5000 }\n'
const head = (url: string, length: number, more = '') =>
  `POST /mcp HTTP/1.1\r\nhost: ${new URL(url).host}\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\n` +
  `accept: application/json, text/event-stream\r\ncontent-length: ${length}\r\n${more}\r\n`
const message = (method: string, params: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })

const parsed = (lines: string) =>
  Object.fromEntries(
    lines
      .trim()
      .split('\r\n')
      .map((line) => line.split(': ')),
  )

async function openMeasured(places = 5_000) {
  const { folder, file } = await configFile(yaml.replaceAll('5000', String(places)))
  const service = await measuredService({ cwd: folder, configFile: file })
  const gauge = async (name: string) => Number(new RegExp(`${name} (\\d+)`).exec(await (await service.ask('/metrics')).text())?.[1])
  return { ...service, sessions: () => gauge('toolloop_mcp_sessions_open') }
}

it('a thousand MCP clients at once are answered, and cost little more than their sessions', { timeout: 300_000 }, async () => {
  const { url, measure, sessions } = await openMeasured()
  const before = await measure()
  const open = await Promise.all(Array.from({ length: clients }, async () => connectClient(url, { era: 'legacy' })))
  const said = await Promise.all(
    open.map(({ client }, at) => textOf(client.callTool({ name: 'echo', arguments: { text: `hello ${at}` } }))),
  )
  expect(said).toEqual(open.map((_, at) => `hello ${at}`))
  expect(await sessions()).toBe(clients)
  expect((await measure()).heldMB - before.heldMB).toBeLessThan(100)
  await Promise.all(open.map(({ transport }) => transport.terminateSession()))
  expect(await sessions()).toBe(0)
})

it('clients that vanish, send half a body, or read nothing hold nothing for long', { timeout: 300_000 }, async () => {
  const { url, ask, measure } = await openMeasured(200)
  const before = await measure()
  const call = message('tools/call', {
    name: 'page',
    arguments: { piece: 'x', count: 60_000 },
    _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} },
  })
  const standard = 'mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: page\r\n'
  const sockets = Array.from({ length: 600 }, (_, at) => {
    const opened = openSocket(url)
    if (at % 3 === 0) opened.socket.write(head(url, 100_000) + '{"jsonrpc":"2.0",'.padEnd(1_000))
    else {
      opened.socket.pause()
      opened.socket.write(head(url, call.length, standard) + call)
      if (at % 3 === 1) opened.socket.destroySoon()
    }
    return opened
  })
  // The service still answers.
  expect((await ask('/mcp', { method: 'DELETE' })).status).toBe(400)
  expect((await measure()).heldMB - before.heldMB).toBeLessThan(60)
  for (const { socket } of sockets) socket.destroy()
  // Every place is free again: as many calls as there are places are made at once.
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...parsed(standard) }
  const statuses = () =>
    Promise.all(Array.from({ length: 200 }, async () => (await ask('/mcp', { method: 'POST', body: call, headers })).status))
  await expect.poll(async () => (await statuses()).every((status) => status === 200), { timeout: 60_000 }).toBe(true)
})
