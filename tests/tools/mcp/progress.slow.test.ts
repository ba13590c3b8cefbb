import { fileURLToPath } from 'node:url'
import { createMcpHandler, Server } from '@modelcontextprotocol/server'
import { describe, expect, it } from 'vitest'
import { AgentRunner, Event } from '../../../src/index.ts'
import { scriptedModel } from '../../../src/testing/index.ts'
import { connectMcpServers, type McpServer } from '../../../src/tools/mcp/index.ts'
import { recordingLogger } from '../../hazards/recording-logger.ts'
import { callText } from './open-tools.ts'

const program = fileURLToPath(new URL('progress-server.ts', import.meta.url))
const steps = [
  { progress: 1, total: 2, message: 'step 1' },
  { progress: 2, total: 2, message: 'step 2' },
]

/** A server at an address, of either revision. */
function address(protocolVersion: '2025-11-25' | '2026-07-28'): { server: McpServer; ended: Promise<void> } {
  const ended = Promise.withResolvers<void>()
  const handler = createMcpHandler(() => {
    const server = new Server({ name: 'progress', version: '1' }, { capabilities: { tools: {} } })
    server.setRequestHandler('tools/list', () => ({ tools: [{ name: 'work', inputSchema: { type: 'object' as const } }] }))
    server.setRequestHandler('tools/call', async (_request, { mcpReq }) => {
      const { progressToken = '' } = mcpReq._meta ?? {}
      for (const step of steps) await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, ...step } })
      mcpReq.signal.addEventListener('abort', () => ended.resolve())
      return new Promise<never>(() => {})
    })
    return server
  })
  const fetch = (url: string | URL, init?: RequestInit) => handler.fetch(new Request(url, init))
  return { server: { url: 'http://localhost/mcp', fetch, prefix: '', protocolVersion }, ended: ended.promise }
}

describe.each(['2025-11-25', '2026-07-28'] as const)('a call in flight (%s)', (protocolVersion) => {
  /** A run that is aborted once it has seen all progress, or whose call times out. */
  const run = async (server: McpServer, how: 'abort' | 'timeout') => {
    const tools = await connectMcpServers({ slow: server }, { logger: recordingLogger().logger })
    const model = scriptedModel([{ toolCalls: [{ name: 'work', args: {} }] }, 'Done.'])
    const runner = new AgentRunner({ model, tools, toolTimeoutMs: how === 'timeout' ? 1_000 : 60_000, logger: recordingLogger().logger })
    const seen: unknown[] = []
    const controller = new AbortController()
    runner.on(Event.TOOL_PROGRESS, ({ update }) => {
      seen.push(update)
      if (seen.length === 2 && how === 'abort') controller.abort()
    })
    const { toolCalls } = await runner.run('Go.', { signal: controller.signal })
    return { tools, seen, outcome: toolCalls[0]?.outcome }
  }

  it.each(['abort', 'timeout'] as const)('reports progress of a program, and tells the server about its end by %s', async (how) => {
    const env = { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '' }
    const { tools, seen, outcome } = await run({ command: process.execPath, args: [program], env, prefix: '', protocolVersion }, how)
    await using _open = tools
    expect(seen).toEqual(steps)
    expect(outcome).toBe(how === 'abort' ? 'cancelled' : 'timeout')
    await expect.poll(() => callText(tools, 'ended')).toBe('cancelled')
  })

  it('reports progress over HTTP, and ends with the run', async () => {
    const { server, ended } = address(protocolVersion)
    const { tools, seen, outcome } = await run(server, 'abort')
    await using _open = tools
    expect(seen).toEqual(steps)
    expect(outcome).toBe('cancelled')
    await ended
  })
})
