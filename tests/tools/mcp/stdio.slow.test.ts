import { describe, expect, it, vi } from 'vitest'
import { connectMcpServers } from '../../../src/tools/mcp/index.ts'
import { recordingLogger } from '../../hazards/recording-logger.ts'
import { callText, isRunning, listed, odd } from './open-tools.ts'

describe.concurrent('an MCP server over stdio', () => {
  it('leaves no process running, not even a stubborn server or its children', async () => {
    const { logger } = recordingLogger()
    const tools = await connectMcpServers({ odd: odd({ tools: [listed('pid'), listed('child')], stubborn: true }) }, { logger })
    const pids = [Number(await callText(tools, 'odd__pid')), Number(await callText(tools, 'odd__child'))]
    expect(pids.map(isRunning)).toEqual([true, true])
    await tools.close()
    // It has been killed, but its end may still be pending.
    await vi.waitFor(() => expect(pids.map(isRunning)).toEqual([false, false]), { timeout: 50_000 })
    expect(await callText(tools, 'odd__pid')).toMatch(/not running.*has been closed/)
    expect(tools.servers()).toEqual([{ name: 'odd', state: 'closed' }])
  })

  it.each([
    ['notices', /stopped during the call \(it sent more than 5000 notifications at once\)/],
    ['unknown', /stopped during the call \(it sent more than 5000 notifications at once\)/],
    ['pings', /stopped during the call \(it sent more than 100 requests at once\)/],
    ['answers', /stopped during the call \(it sent more than 100 answers to requests that were not made\)/],
  ])('is killed immediately if it floods its client with %s; other calls continue meanwhile', async (name, problem) => {
    const { logger } = recordingLogger()
    const servers = { bad: odd({ tools: [listed(name), listed('lively')] }), good: odd({ tools: [listed('echo')] }) }
    await using tools = await connectMcpServers(servers, { logger })
    // What a server may reasonably ask for does no harm.
    expect(await callText(tools, 'bad__lively')).toBe('done')
    const flooded = callText(tools, `bad__${name}`)
    expect(await callText(tools, 'good__echo', { a: 1 })).toBe('{"a":1}')
    expect(await flooded).toMatch(problem)
    expect(await callText(tools, 'good__echo', { a: 2 })).toBe('{"a":2}')
  })
})
