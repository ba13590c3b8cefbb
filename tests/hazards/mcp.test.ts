import { getEventListeners } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { MockReply } from '../../src/testing/mock/reply.ts'
import { connectMcpServers, type McpTools } from '../../src/tools/mcp/index.ts'
import { callText, listed, odd } from '../tools/mcp/open-tools.ts'
import { nativeModes } from './modes.ts'
import { recordingLogger } from './recording-logger.ts'
import { resultTexts, stage } from './stage.ts'
import { call } from './tools.ts'
import { failOnUnhandledRejections } from './unhandled.ts'

failOnUnhandledRejections()

const mode = nativeModes.find(({ wire, streaming }) => wire === 'chat-completions' && streaming)
if (mode === undefined) throw new Error('no mode')

const strict = {
  type: 'object',
  properties: { n: { type: 'integer' }, at: { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] } },
  required: ['n'],
  additionalProperties: false,
}
const names = ['any', 'fails', 'refuse', 'hang', 'release', 'cancelled', 'echo', 'constructor', '__proto__', 'web_search', 'big']

describe('tools of an MCP server in a run', () => {
  let tools: McpTools
  beforeAll(async () => {
    const { logger } = recordingLogger()
    tools = await connectMcpServers(
      {
        odd: odd({ tools: names.map((name) => listed(name)) }),
        // Called by the same names as the tools of the first: only the prefix distinguishes them.
        other: odd({ tools: [listed('echo', { inputSchema: strict }), listed('no spaces'), listed('x'.repeat(70))] }, { prefix: 'odd_' }),
      },
      { logger },
    )
  })
  afterAll(() => tools.close())

  it('H13 invalid arguments by the server’s schema: refused here with field, expected and received; the server is not asked', async () => {
    const toolCalls = [call('odd___echo', { n: 'one' }), call('odd___echo', { at: {}, extra: 1 }), call('odd___echo', { n: 1 })]
    await using on = await stage(mode, [{ toolCalls }, 'done'], { tools })
    const [type, several, fine] = resultTexts(await on.run())
    expect(type).toBe('Invalid arguments for tool `odd___echo`: `n`: expected integer, got string "one". Correct them and call it again.')
    expect(several).toMatch(/missing required `n`.*unknown `extra`.*`at`: missing required `x`/)
    expect(fine).toBe('{"n":1}')
  })

  it('H14 `constructor` and `__proto__` as names of tools and keys of arguments are data', async () => {
    const args = JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":1}}')
    await using on = await stage(mode, [{ toolCalls: [call('odd__echo', args), call('constructor'), call('__proto__')] }, 'done'], {
      tools,
    })
    const [echoed = '', ...missing] = resultTexts(await on.run())
    expect(JSON.parse(echoed)).toEqual(args)
    expect(Object.keys(JSON.parse(echoed))).toEqual(['__proto__', 'constructor'])
    expect(missing).toEqual([expect.stringMatching(/^Tool not found: constructor/), expect.stringMatching(/^Tool not found: __proto__/)])
    expect(tools.get('odd__constructor')).toBeDefined()
    expect(tools.get('odd____proto__')).toBeDefined()
    expect({}).not.toHaveProperty('polluted')
  })

  it('H19 equal tool names, and names no provider accepts, are made unique and legal by prefixes', async () => {
    await using on = await stage(mode, ['done'], { tools })
    await on.run()
    const sent = on.requests()[0]?.tools?.map(({ function: { name } }) => name) ?? []
    expect(sent).toHaveLength(names.length + 3)
    expect(new Set(sent).size).toBe(sent.length)
    for (const name of sent) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
    expect(sent).toEqual(expect.arrayContaining(['odd__echo', 'odd___echo', 'odd___no_spaces']))
  })

  it('H20 a call the provider has run itself does not reach a tool of the same name', async () => {
    const delta = {
      content: 'It rains.',
      executed_tools: [{ index: 0, type: 'search', name: 'odd__web_search', arguments: '{}', output: 'rain' }],
    }
    const base = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'mock' }
    const chunk = { ...base, choices: [{ index: 0, delta, finish_reason: 'stop' }] }
    const reply: MockReply = { events: [chunk, 'data: [DONE]\n\n'] }
    await using on = await stage(mode, [reply, 'never asked'], { tools })
    const result = await on.run()
    expect(result).toMatchObject({ output: 'It rains.', toolCalls: [] })
  })

  it('H21 every result has a stable, useful text', async () => {
    const results = [
      { content: [] },
      { content: [{ type: 'text', text: '' }] },
      { content: [], structuredContent: { deep: [null, { a: 1e300 }] } },
      {
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b\ud800' },
        ],
      },
    ]
    const toolCalls = results.map((result) => call('odd__any', { result }))
    await using on = await stage(mode, [{ toolCalls }, 'done'], { tools })
    expect(resultTexts(await on.run())).toEqual(['(empty result)', '(empty result)', '{"deep":[null,{"a":1e+300}]}', 'a\nb\ufffd'])
  })

  it('H22 a large result is capped, and its value is not kept', async () => {
    await using on = await stage(mode, [{ toolCalls: [call('odd__big', { size: 5_000_000 })] }, 'done'], { tools })
    const result = await on.run()
    const [told = ''] = resultTexts(result)
    expect(told).toMatch(/^headx+\n\n\(… \d+ of 5000008 bytes cut here …\)\n\nx+tail$/)
    expect(told.length).toBeLessThan(66_000)
    expect(result.toolCalls[0]?.value).toBeUndefined()
  })

  it('H23 any failure is a result with a message, without stack or folder, and the run continues', async () => {
    const toolCalls = [call('odd__fails'), call('odd__refuse'), call('odd__any', { result: 5 }), call('odd__echo')]
    await using on = await stage(mode, [{ toolCalls }, 'done'], { tools })
    const result = await on.run()
    expect(result.stopReason).toBe('answered')
    const [fails, refused, nonsense, fine] = resultTexts(result)
    expect(fails).toBe('failed in .')
    expect(refused).toMatch(/^The MCP server `odd` refused the call: .*no such thing$/)
    expect(nonsense).toMatch(/^The MCP server `odd` /)
    expect(nonsense).not.toMatch(/\n\s+at |node_modules/)
    expect(fine).toBe('{}')
  })

  it('H28 a timed-out call: the server is told, the run continues, a late result is dropped', async () => {
    await using on = await stage(mode, [{ toolCalls: [call('odd__hang', { key: 'late' })] }, 'done'], { tools, toolTimeoutMs: 60 })
    const result = await on.run()
    expect(result.toolCalls[0]).toMatchObject({
      outcome: 'timeout',
      // It reports progress once, and then nothing more.
      content: expect.stringMatching(/^Tool `odd__hang` timed out after \d+ ms\. It may have taken effect\.$/),
    })
    expect(JSON.parse(await callText(tools, 'odd__cancelled')).length).toBeGreaterThan(0)
    expect(await callText(tools, 'odd__release', { key: 'late' })).toBe('released')
    expect(resultTexts(result)).toHaveLength(1)
  })

  it('H29 H30 an abort while a server never answers: settled immediately, finished results kept, no listener left, the next run works', async () => {
    const controller = new AbortController()
    const toolCalls = [call('odd__echo', { a: 1 }), call('odd__hang', { key: 'never' })]
    await using on = await stage(mode, [{ toolCalls }, 'done'], { tools })
    on.runner.on('TOOL_PROGRESS', () => void setImmediate(() => controller.abort()))
    const result = await on.run('go', { signal: controller.signal })
    expect(result).toMatchObject({ stopReason: 'aborted', toolCalls: [{ outcome: 'ok' }, { outcome: 'cancelled' }] })
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    expect(await on.run('again', { messages: result.messages })).toMatchObject({ stopReason: 'answered', output: 'done' })
  })
})
