import { describe, expect, it } from 'vitest'
import { defineTool } from '../../src/tools/tool.ts'
import { startService } from './start-service.ts'

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  effect: 'read',
  execute: ({ a, b }) => ({ sum: a + b }),
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

  it('sessions are limited: the longest idle one makes room, those in use do not, and none outlives its time', async () => {
    const { post, ask } = await startService({ tools: [add], mcp: { maxSessionsOfCaller: 2, sessionIdleMs: 1_500 } })
    const open = () => sessionOf(post('/mcp', initialize, accept))
    const listen = (session: string) => ask('/mcp', { headers: { accept: 'text/event-stream', 'mcp-session-id': session } })
    const first = await open()
    const stream = await listen(first)
    const second = await open()
    const third = await open()
    expect((await listen(second)).status).toBe(404)
    const other = await listen(third)
    expect([stream.status, other.status]).toEqual([200, 200])
    expect((await post('/mcp', initialize, accept)).status).toBe(429)
    const openSessions = async () => /toolloop_mcp_sessions_open (\d+)/.exec(await (await ask('/metrics')).text())?.[1]
    expect(await openSessions()).toBe('2')
    await Promise.all([stream.body?.cancel(), other.body?.cancel()])
    await expect.poll(openSessions).toBe('0')
  })
})
