import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it, vi } from 'vitest'
import type { ContentPart } from '../../../src/core/messages.ts'
import { connectMcpServers } from '../../../src/tools/mcp/index.ts'
import { recordingLogger } from '../../hazards/recording-logger.ts'
import { callText, callTool, isRunning, listed, odd, Watch } from './open-tools.ts'

describe.concurrent('an MCP server over stdio', () => {
  it('lists tools of all pages with a prefix and legal unique names that don’t depend on their order', async () => {
    const names = ['echo', 'get.weather', 'get weather', 'get_weather', '天气', 'x'.repeat(80)]
    const open = async (order: string[]) => {
      await using tools = await connectMcpServers({ odd: odd({ tools: order.map((name) => listed(name)) }) })
      return tools.names()
    }
    const [found, reversed] = await Promise.all([open(names), open(names.toReversed())])
    expect(found).toHaveLength(names.length)
    expect(new Set(found).size).toBe(names.length)
    for (const name of found) expect(name).toMatch(/^odd__[a-zA-Z0-9_-]{1,59}$/)
    expect(found.slice(0, 1)).toEqual(['odd__echo'])
    expect(found[3]).toBe('odd__get_weather')
    expect(found[0]).toBe(reversed.at(-1))
    expect(found[5]).toBe(reversed[0])
  })

  it('leaves out an unusable tool with a warning, and keeps the others', async () => {
    const { logger, records } = recordingLogger()
    const deep = JSON.parse(`${'{"not":'.repeat(2_000)}true${'}'.repeat(2_000)}`)
    const unusable = [
      listed('no-schema', { inputSchema: undefined }),
      listed('array', { inputSchema: { type: 'array' } }),
      listed('deep', { inputSchema: { type: 'object', properties: { a: deep } } }),
      listed('huge'),
      listed('wordy', { description: 5 }),
      listed(''),
      'not a tool',
      listed('echo'),
    ]
    await using tools = await connectMcpServers({ odd: odd({ tools: [listed('echo'), ...unusable] as object[] }) }, { logger })
    expect(tools.names()).toEqual(['odd__echo'])
    const warned = records.filter(({ level }) => level === 'warn')
    expect(warned).toHaveLength(unusable.length)
    expect(warned.map(({ fields }) => fields)).toContainEqual(expect.objectContaining({ server: 'odd', tool: 'array' }))
    expect(await callText(tools, 'odd__echo', { a: 1 })).toBe('{"a":1}')
  })

  it('E3.3 E3.5 repairs a schema that can be read in only one way, with a warning, and does not assert a format', async () => {
    const { logger, records } = recordingLogger()
    const id = { type: 'string', format: 'uuid' }
    const page = { type: 'integer', minimum: 0, exclusiveMinimum: true }
    const url = { type: 'string', pattern: '^https\\:\\/\\/' }
    const echo = listed('echo', {
      inputSchema: { type: 'object', properties: { id, page, url, odd: { type: 'strng' } }, required: ['id', 'id'] },
    })
    const elsewhere = listed('elsewhere', { inputSchema: { type: 'object', $ref: 'http://127.0.0.1:9/schema.json' } })
    await using tools = await connectMcpServers({ odd: odd({ tools: [echo, elsewhere] }) }, { logger })
    expect(tools.names().sort()).toEqual(['odd__echo', 'odd__elsewhere'])
    const sent = tools.getAllSpecs().find((spec) => spec.function.name === 'odd__echo')?.function.parameters
    expect(sent).toEqual({
      type: 'object',
      properties: { id, page: { type: 'integer', exclusiveMinimum: 0 }, url, odd: {} },
      required: ['id'],
    })
    const args = { id: 'b1946ac924924d23a5b61f0a8f5b7c3d', page: 1, url: 'https://example.com', odd: 7 }
    expect(JSON.parse(await callText(tools, 'odd__echo', args))).toEqual(args)
    for (const wrong of [{ page: 1 }, { id: 'a', page: 0 }, { id: 'a', url: 'http://example.com' }])
      expect(await callText(tools, 'odd__echo', wrong)).toContain('Invalid arguments')
    const warned = records.filter(({ level }) => level === 'warn')
    expect(warned.map(({ fields }) => fields)).toEqual([
      expect.objectContaining({
        server: 'odd',
        tool: 'echo',
        problem: expect.stringContaining('#/properties/page/exclusiveMinimum: true read as 0'),
      }),
      expect.objectContaining({ server: 'odd', tool: 'elsewhere', problem: expect.stringContaining('#/$ref') }),
    ])
  })

  it('gets only the safe part of the environment, and the configured variables', async () => {
    process.env.MCP_TEST_SECRET_OF_HOST = 'host-secret'
    await using tools = await connectMcpServers({ odd: odd({ tools: [listed('env')] }, { env: { OWN: 'given' }, cwd: '/' }) })
    const seen: Record<string, string> = JSON.parse(await callText(tools, 'odd__env'))
    expect(seen).toMatchObject({ OWN: 'given', PATH: process.env.PATH })
    const allowed = ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER', 'OWN', 'NODE_COMPILE_CACHE']
    expect(Object.keys(seen).filter((name) => !allowed.includes(name))).toEqual([])
  })

  it('H16 has the secrets of its environment and output redacted in the log', async () => {
    const { logger, records } = recordingLogger()
    const env = { SERVICE_TOKEN: 'very-secret-value-1' }
    const server = odd({ tools: [listed('echo')], stderr: 'started with very-secret-value-1' }, { env })
    await (await connectMcpServers({ odd: server }, { logger })).close()
    const dying = connectMcpServers({ odd: odd({ start: 'exit', stderr: 'very-secret-value-1 is wrong' }, { env }) }, { logger })
    await expect(dying).rejects.toMatchObject({ message: expect.not.stringContaining('very-secret') })
    expect(records.map(({ fields }) => fields)).toContainEqual({ server: 'odd', stderr: 'started with [redacted]' })
    expect(JSON.stringify(records)).not.toContain('very-secret')
  })

  it('returns data for the app and text for the model; pictures, sound and resources as parts', async () => {
    await using tools = await connectMcpServers({ odd: odd({ tools: [listed('any')] }) })
    const result = async (value: object) => callTool(tools, 'odd__any', { result: value })
    expect(await result({ content: [], structuredContent: { a: [1] } })).toMatchObject({
      content: '{"a":[1]}',
      value: { structured: { a: [1] } },
    })
    expect(await result({ content: [] })).toMatchObject({ outcome: 'ok', content: '(empty result)' })
    const data = Buffer.from('bytes').toString('base64')
    const content = [
      { type: 'text', text: 'one' },
      { type: 'image', data, mimeType: 'image/png' },
      { type: 'image', data, mimeType: 'text/html' },
      { type: 'audio', data, mimeType: 'audio/wav' },
      { type: 'resource_link', uri: 'file:///a.txt', name: 'a', description: 'the file' },
      { type: 'resource', resource: { uri: 'file:///b.txt', text: 'words' } },
      { type: 'resource', resource: { uri: 'file:///dir/c.pdf?x', blob: data, mimeType: 'application/pdf' } },
      { type: 'resource', resource: { uri: 'file:///d.png', blob: data, mimeType: 'image/png' } },
      { type: 'resource', resource: { uri: 'file:///e.txt', blob: data, mimeType: 'text/plain' } },
    ]
    expect(await result({ content })).toMatchObject({
      content: [
        { type: 'text', text: 'one' },
        { type: 'image', data, mediaType: 'image/png' },
        { type: 'file', data, mediaType: 'text/html' },
        { type: 'file', data, mediaType: 'audio/wav' },
        { type: 'text', text: 'a: file:///a.txt\nthe file' },
        { type: 'text', text: 'file:///b.txt:\nwords' },
        { type: 'file', data, mediaType: 'application/pdf', name: 'c.pdf' },
        { type: 'image', data, mediaType: 'image/png' },
        { type: 'text', text: 'file:///e.txt:\nbytes' },
      ],
    })
  })

  it('has the first of very many parts of a result kept, including pictures', async () => {
    await using tools = await connectMcpServers({ odd: odd({ tools: [listed('any')] }) })
    for (const part of [
      { type: 'text', text: 'x' },
      { type: 'image', data: 'AA==', mimeType: 'image/png' },
    ]) {
      const content = [...Array(300).fill(part), { type: 'image', data: 'AA==', mimeType: 'image/png' }]
      const { content: kept } = (await callTool(tools, 'odd__any', { result: { content } })) as { content: ContentPart[] }
      expect(kept).toHaveLength(257)
      expect(kept.at(-1)).toMatchObject({ type: 'text', text: expect.stringMatching(/^\(… \d+ bytes left out …\)$/) })
    }
  })

  it('gets no model, folders or user input unless that is allowed', async () => {
    await using tools = await connectMcpServers({ odd: { ...odd({ tools: [listed('asks')] }), questions: false } })
    expect(await callText(tools, 'odd__asks')).toBe(
      '__proto__: -32601,elicitation/create: -32601,nothing: -32601,roots/list: -32601,sampling/createMessage: -32601',
    )
  })

  const answerOf = (result: string) => `{"jsonrpc":"2.0","id":ID,"result":${result}}\n`

  it.each<[string, object, RegExp]>([
    ['a result of very many values', { head: '{"jsonrpc":"2.0","id":ID,"result":{"a":[', unit: '[],', count: 100_000 }, /50000 values/],
    ['very many levels', { unit: '[', head: '{"a":', count: 300_000 }, /50000 values/],
    [
      'an answer with what no JSON has',
      { head: '{"jsonrpc":"2.0","id":ID,"result":{"content":[]},}\n', tail: answerOf('5') },
      /something other/,
    ],
    [
      'an answer of another version',
      { head: '{"jsonrpc":"1.0","id":ID,"result":{"content":[]}}\n' },
      /something other than a (response|tool result)/,
    ],
    [
      'parts that are none',
      { head: answerOf('{"content":[1,null,{"type":"script"},{"type":"image","data":5}]}') },
      /something other than a tool result/,
    ],
    ['an error that is none', { head: '{"jsonrpc":"2.0","id":ID,"error":"no"}\n' }, /something other than a response/],
    ['prototypes', { head: answerOf('{"content":[],"structuredContent":{"__proto__":{"polluted":1}}}') }, /^\{\}$/],
    ['two answers', { head: answerOf('{"content":[{"type":"text","text":"first"}]}'), tail: answerOf('{"content":[]}') }, /^first$/],
    ['bytes that are no text', { head: answerOf('{"content":[{"type":"text","text":"\ud800"}]}') }, /^\ufffd+$/],
  ])('answers with %s: only that call fails or is understood, with a message', async (_what, raw, words) => {
    const { logger } = recordingLogger()
    const watch = new Watch()
    await using tools = await connectMcpServers(
      { odd: odd({ tools: [listed('raw'), listed('echo')] }) },
      { logger, onChange: watch.changed },
    )
    expect(await callText(tools, 'odd__raw', raw)).toMatch(words)
    expect(Reflect.get({}, 'polluted')).toBeUndefined()
    await watch.until(() => tools.servers()[0]?.state === 'ready')
    expect(await callText(tools, 'odd__echo', { a: 1 })).toBe('{"a":1}')
  })

  it('returns failed, refused and invalid calls as failures with a message; the next call works', async () => {
    await using tools = await connectMcpServers({
      odd: odd({ tools: ['fails', 'refuse', 'nonsense', 'echo'].map((name) => listed(name)) }),
    })
    // The model must not see this machine's folder.
    expect(await callTool(tools, 'odd__fails')).toMatchObject({ outcome: 'failed', content: 'failed in .', code: 'tool_failed' })
    expect(await callText(tools, 'odd__refuse')).toMatch(/^The MCP server `odd` refused the call: .*no such thing/)
    expect(await callText(tools, 'odd__nonsense')).toBe('The MCP server `odd` answered with something other than a tool result.')
    expect(await callTool(tools, 'odd__echo')).toMatchObject({ outcome: 'ok' })
  })

  it('reports progress to the caller, receives time limit and cancellation, and has a late answer dropped', async () => {
    const { logger, records } = recordingLogger()
    const server = odd({ tools: ['hang', 'release', 'cancelled'].map((name) => listed(name)) })
    await using tools = await connectMcpServers({ odd: server }, { logger })
    expect(await callTool(tools, 'odd__hang', { key: 'a' }, { timeoutMs: 50 })).toMatchObject({ outcome: 'timeout' })
    const controller = new AbortController()
    const progress: unknown[] = []
    const onProgress = (update: unknown) => {
      progress.push(update)
      controller.abort()
    }
    expect(await callTool(tools, 'odd__hang', { key: 'b' }, { signal: controller.signal, onProgress })).toMatchObject({
      outcome: 'cancelled',
    })
    expect(progress).toEqual([{ progress: 1, total: 2, message: 'half' }])
    expect(JSON.parse(await callText(tools, 'odd__cancelled'))).toHaveLength(2)
    expect(await callText(tools, 'odd__release', { key: 'a' })).toBe('released')
    expect(records.filter(({ level }) => level === 'warn')).toEqual([])
  })

  it('loses neither progress that arrives with the answer, nor an answer that is its last output', async () => {
    const { logger } = recordingLogger()
    await using tools = await connectMcpServers({ odd: odd({ tools: [listed('hasty'), listed('parting')] }) }, { logger })
    const progress: unknown[] = []
    expect(await callText(tools, 'odd__hasty', {}, { onProgress: (update) => progress.push(update) })).toBe('done')
    expect(progress).toEqual([{ progress: 1 }, { progress: 2 }])
    expect(await callText(tools, 'odd__parting')).toBe('farewell')
  })

  it('has changes of its list followed', async () => {
    const watch = new Watch()
    await using tools = await connectMcpServers({ odd: odd({ tools: [listed('become')] }) }, { onChange: watch.changed })
    const specs = tools.getAllSpecs()
    expect(tools.getAllSpecs()).toBe(specs)
    const kept = tools.get('odd__become')
    await callTool(tools, 'odd__become', { tools: [listed('become'), listed('echo')] })
    await watch.until(() => tools.size === 2)
    expect(tools.getAllSpecs()).not.toBe(specs)
    expect(tools.get('odd__become')).toBe(kept)
    expect(await callText(tools, 'odd__echo', { now: true })).toBe('{"now":true}')
    await callTool(tools, 'odd__become', { tools: [] })
    await watch.until(() => tools.size === 0)
  })

  it('is listed only occasionally if it endlessly reports changes', async () => {
    const { logger } = recordingLogger()
    await using tools = await connectMcpServers({ odd: odd({ tools: [listed('lists'), listed('echo')], restless: true }) }, { logger })
    const start = performance.now()
    for (let turn = 0; turn < 50; turn++) await callText(tools, 'odd__echo')
    const lists = Number(await callText(tools, 'odd__lists'))
    // Four a second, of two pages each: one at the start, one immediately, one that has just begun.
    expect(lists / 2).toBeLessThanOrEqual((performance.now() - start) / 250 + 3)
  })

  it('dies during a call: the call fails with a message, its tools say that it is down, and it is restarted', async () => {
    const watch = new Watch()
    const { logger } = recordingLogger()
    const server = odd({ tools: ['die', 'pid'].map((name) => listed(name)) })
    await using tools = await connectMcpServers({ odd: server }, { logger, onChange: watch.changed })
    const first = await callText(tools, 'odd__pid')
    expect(await callText(tools, 'odd__die')).toBe(
      'The MCP server `odd` stopped during the call (it exited with code 7). Whether the call took effect is not known. ' +
        'It is being restarted: try again later, or continue without it.',
    )
    expect(tools.servers()).toEqual([{ name: 'odd', state: 'down', problem: 'it exited with code 7' }])
    expect(await callText(tools, 'odd__pid')).toMatch(
      /^The MCP server `odd` is not running \(it exited with code 7\)\. It is being restarted/,
    )
    await watch.until(() => tools.servers()[0]?.state === 'ready')
    expect(await callText(tools, 'odd__pid')).not.toBe(first)
  })

  it('ends with the process, even if that forgets to close it', async () => {
    const server = JSON.stringify(odd({ tools: [listed('pid'), listed('child')], stubborn: true }))
    const script = `
      const { connectMcpServers } = await import(${JSON.stringify(new URL('../../../src/tools/mcp/index.ts', import.meta.url))})
      const tools = await connectMcpServers({ odd: ${server} })
      const pids = ['odd__pid', 'odd__child'].map((name) => tools.get(name).execute({}, { signal: new AbortController().signal, progress() {} }))
      console.log((await Promise.all(pids)).map(({ content }) => content).join())
      process.exit(0)`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])
    const pids = stdout.trim().split(',').map(Number)
    expect(pids).toHaveLength(2)
    await vi.waitFor(() => expect(pids.map(isRunning)).toEqual([false, false]), { timeout: 50_000 })
  })

  it.each([
    ['never answers the handshake', { start: 'silent' }, /was not ready within 300 ms/],
    ['never lists its tools', { start: 'no-tools-list' }, /was not ready within 300 ms/],
    ['exits at once', { start: 'exit', stderr: 'bad\nlast words' }, /it exited with code 3 \(its last words: last words\)/],
    ['floods its output', { start: 'flood' }, /printed more than 1048576 bytes that are not messages/],
    ['floods its output with empty lines', { start: 'newlines' }, /printed more than 1048576 bytes that are not messages/],
    ['floods its output with what is nearly a message', { start: 'objects' }, /printed more than 1000 objects that are not messages/],
    ['sends a message without end', { start: 'endless-line' }, /a message of more than 5500000 bytes/],
    ['sends a message of very many values', { start: 'values' }, /a message of more than 50000 values/],
    ['lists its tools on pages without end', { start: 'endless-list' }, /its list of tools has more than 100 pages/],
    ['lists very many tools', { start: 'many-tools' }, /it lists more than 2000 tools/],
  ] as const)('that %s is abandoned, and ends', async (_what, oddity, problem) => {
    const { logger } = recordingLogger()
    // Only a silent server must run into the limit.
    const startTimeoutMs = oddity.start === 'silent' || oddity.start === 'no-tools-list' ? 300 : 50_000
    const opening = connectMcpServers({ odd: odd(oddity, { startTimeoutMs }) }, { logger })
    const error = await opening.catch((reason: unknown) => reason)
    expect(String(error)).toMatch(problem)
    expect(error).toMatchObject({ code: 'mcp_server_failed' })
  })

  it('that can’t be started says so, and the others are ended', async () => {
    const { logger } = recordingLogger()
    const servers = { good: odd({ tools: [listed('pid')] }), bad: { command: 'no-such-program' } }
    await expect(connectMcpServers(servers, { logger })).rejects.toMatchObject({
      code: 'mcp_server_failed',
      message: 'The MCP server `bad` could not be started: there is no program `no-such-program`',
    })
  })

  it('that is optional may fail: the others work', async () => {
    const { logger, records } = recordingLogger()
    const servers = { good: odd({ tools: [listed('echo')] }), bad: { command: 'no-such-program', optional: true } }
    await using tools = await connectMcpServers(servers, { logger })
    expect(tools.names()).toEqual(['good__echo'])
    expect(tools.servers()).toMatchObject([{ state: 'ready' }, { state: 'down', problem: expect.stringMatching(/no program/) }])
    expect(records).toContainEqual(expect.objectContaining({ level: 'warn', message: 'an MCP server is down' }))
  })

  it('that prints a greeting before its messages is understood', async () => {
    const { logger } = recordingLogger()
    await using tools = await connectMcpServers(
      { odd: odd({ greeting: 'Welcome!\n{"not":"a message"}\n\n', tools: [listed('echo')] }) },
      { logger },
    )
    expect(await callText(tools, 'odd__echo')).toBe('{}')
  })

  it('stops starting when the caller aborts', async () => {
    const controller = new AbortController()
    const opening = connectMcpServers({ odd: odd({ start: 'silent' }) }, { signal: controller.signal })
    setImmediate(() => controller.abort(new Error('enough')))
    await expect(opening).rejects.toThrow('enough')
  })
})
