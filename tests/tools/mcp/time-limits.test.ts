import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../../src/agent/agent-runner.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { connectMcpServers, type McpServerOptions } from '../../../src/tools/mcp/index.ts'
import type { ToolContext } from '../../../src/tools/tool.ts'
import { recordingLogger } from '../../hazards/recording-logger.ts'
import { listed } from './open-tools.ts'
import { type SessionServer, startSessionServer } from './session-server.ts'

const connect = (server: SessionServer, options: McpServerOptions = {}) =>
  connectMcpServers({ s: { url: server.url, prefix: '', ...options } }, { logger: recordingLogger().logger })

/** The time limits that a call sets while its server reports progress three times. */
async function limitsOf(timeoutMs: number | undefined, options: McpServerOptions = {}): Promise<number[]> {
  await using server = await startSessionServer([listed('a')])
  server.call = async (name, _server, report) => {
    for (const progress of [1, 2, 3]) await report(progress)
    return { content: [{ type: 'text', text: name }] }
  }
  await using tools = await connect(server, options)
  const limits: number[] = []
  const ctx = {
    signal: new AbortController().signal,
    progress: () => {},
    extendTimeout: (milliseconds: number) => limits.push(milliseconds),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  }
  await tools.get('a')?.execute?.({} as never, ctx as Partial<ToolContext> as ToolContext<never>)
  return limits
}

describe.concurrent('the time limit of an MCP tool’s call', () => {
  it('E2.2 restarts with each notification of progress', async () => {
    expect(await limitsOf(90_000)).toEqual([90_000, 90_000, 90_000])
    expect(await limitsOf(undefined)).toEqual([])
  })

  it('E2.2 ends at `maxToolTimeoutMs`, an hour by default, counted from the start of the call', async () => {
    const left = await limitsOf(90_000, { maxToolTimeoutMs: 90_001 })
    expect(left).toHaveLength(3)
    expect(left.every((limit, at) => limit > 0 && limit <= (left[at - 1] ?? 90_000))).toBe(true)
    const [hour = 0] = await limitsOf(3_599_999)
    expect(hour).toBeLessThanOrEqual(3_599_999)
  })

  it('E2.2 is not reduced by a smaller `maxToolTimeoutMs`', async () => {
    const limits = await limitsOf(90_000, { maxToolTimeoutMs: 1 })
    for (const limit of limits) expect(limit).toBeGreaterThan(60_000)
    expect(limits).toHaveLength(3)
  })

  it('E2.2 is the tool’s own, else its server’s, else the run’s', async () => {
    await using server = await startSessionServer([listed('a'), listed('b'), listed('constructor')])
    const limits = async (options: McpServerOptions) => {
      await using tools = await connect(server, { resources: 'all', ...options })
      return Object.fromEntries(tools.list().map(({ name, timeoutMs }) => [name, timeoutMs]))
    }
    const none = { list_resources: undefined, read_resource: undefined }
    expect(await limits({})).toEqual({ a: undefined, b: undefined, constructor: undefined, ...none })
    expect(await limits({ toolTimeoutMs: 5, timeouts: { a: 9, read_resource: 7 } })).toEqual({
      a: 9,
      b: 5,
      constructor: 5,
      list_resources: 5,
      read_resource: 7,
    })
  })

  it('E2.2 expires without progress; the model sees the time that passed', async () => {
    await using server = await startSessionServer([listed('a')])
    server.call = async (_name, _server, report) => {
      await report(1)
      return new Promise<never>(() => {})
    }
    await using tools = await connect(server, { timeouts: { a: 500 } })
    const model = scriptedModel([{ toolCalls: [{ name: 'a', args: {} }] }, 'done'])
    const { toolCalls } = await new AgentRunner({ model, tools, logger: recordingLogger().logger }).run('go')
    expect(toolCalls[0]?.outcome).toBe('timeout')
    const [, told = ''] = /^Tool `a` timed out after (\d+) ms\./.exec(String(toolCalls[0]?.content)) ?? []
    expect(Number(told)).toBeGreaterThan(500)
  })

  it.each([
    ['maxToolTimeoutMs', { maxToolTimeoutMs: 0 }, /`servers.s.maxToolTimeoutMs` to be a number of milliseconds > 0, got `0`/],
    ['timeouts', { timeouts: { a: '5' } }, /`servers.s.timeouts.a` to be a number of milliseconds > 0, got `"5"`/],
    ['timeouts of nothing', { timeouts: { a: null } }, /`servers.s.timeouts.a` to be a number of milliseconds > 0, got `null`/],
    ['timeouts as a number', { timeouts: 5 }, /`servers.s.timeouts` to be a mapping of names to milliseconds, got `5`/],
  ])('E2.2 is refused if it is invalid: %s', async (_what, options, message) => {
    await expect(connectMcpServers({ s: { url: 'http://127.0.0.1:1', ...(options as McpServerOptions) } })).rejects.toThrow(message)
  })
})
