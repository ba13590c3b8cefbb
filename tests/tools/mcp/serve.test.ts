import { PassThrough } from 'node:stream'
import { Client } from '@modelcontextprotocol/client'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type ServeMcpOptions, serveMcp } from '../../../src/tools/mcp/index.ts'
import { ToolRegistry } from '../../../src/tools/registry.ts'
import { type AnyTool, ask, defineTool } from '../../../src/tools/tool.ts'
import { recordingLogger } from '../../hazards/recording-logger.ts'

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  effect: 'read',
  execute: ({ a, b }) => ({ sum: a + b }),
})

/** The service and the SDK's own client, with two streams between them. */
async function serve(tools: AnyTool[], options: ServeMcpOptions & { era?: 'legacy' | 'modern' } = {}) {
  const [up, down] = [new PassThrough(), new PassThrough()]
  const registry = new ToolRegistry(tools)
  const { logger, records } = recordingLogger()
  const { era, ...rest } = options
  const service = await serveMcp(registry, { input: up, output: down, logger, ...rest })
  const negotiation = era === 'modern' ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {}
  let changes = 0
  const listChanged = { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => void changes++ } }
  const client = new Client({ name: 'test', version: '1' }, { ...negotiation, listChanged })
  await client.connect(new StdioServerTransport(down, up))
  return {
    registry,
    service,
    client,
    records,
    input: up,
    changes: () => changes,
    [Symbol.asyncDispose]: async () => {
      await client.close()
      await service.close()
    },
  }
}

const never = defineTool({ name: 'never', description: 'Ends only when told to.', execute: () => new Promise(() => {}) })

describe.each(['legacy', 'modern'] as const)('serveMcp to a client of the %s protocol', (era) => {
  it('lists tools with their effects, and calls them', async () => {
    const write = defineTool({ name: 'write', description: 'Writes.', execute: () => undefined })
    await using open = await serve([add, write], { era })
    const { tools } = await open.client.listTools()
    expect(tools).toMatchObject([
      {
        name: 'add',
        description: 'Adds two numbers.',
        inputSchema: add.parameters,
        annotations: { readOnlyHint: true, idempotentHint: true },
      },
      { name: 'write' },
    ])
    expect(tools[1]).not.toHaveProperty('annotations')
    expect(await open.client.callTool({ name: 'add', arguments: { a: 2, b: 3 } })).toMatchObject({
      content: [{ type: 'text', text: '{"sum":5}' }],
    })
    expect(open.client.getServerVersion()).toMatchObject({ name: 'toolloop' })
  })

  it('limits parallel calls, and runs exclusive ones alone', async () => {
    const log: string[] = []
    const gates = new Map<string, PromiseWithResolvers<void>>()
    const started = async (id: string) => {
      log.push(`${id} starts`)
      const gate = Promise.withResolvers<void>()
      gates.set(id, gate)
      await gate.promise
      log.push(`${id} ends`)
    }
    const parameters = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] } as const
    const free = defineTool({ name: 'free', description: 'Free.', parameters, execute: ({ id }) => started(id) })
    const alone = defineTool({ name: 'alone', description: 'Alone.', parameters, parallel: false, execute: ({ id }) => started(id) })
    await using open = await serve([free, alone], { era, toolConcurrency: 2 })
    const called = ['a', 'b', 'c'].map((id) => open.client.callTool({ name: 'free', arguments: { id } }))
    called.push(open.client.callTool({ name: 'alone', arguments: { id: 'd' } }))
    called.push(open.client.callTool({ name: 'free', arguments: { id: 'e' } }))
    for (const id of 'abcde') {
      await expect.poll(() => gates.has(id), { interval: 1 }).toBe(true)
      gates.get(id)?.resolve()
    }
    await Promise.all(called)
    const at = (line: string) => log.indexOf(line)
    expect(at('c starts')).toBeGreaterThan(at('a ends'))
    expect(at('d starts')).toBeGreaterThan(Math.max(...'abc'.split('').map((id) => at(`${id} ends`))))
    expect(at('e starts')).toBeGreaterThan(at('d ends'))
    await expect(serveMcp(new ToolRegistry([]), { toolConcurrency: 0 })).rejects.toThrow('Expected `toolConcurrency` to be an integer')
  })

  it('lists a tool with a Standard Schema with its JSON Schema, and validates its arguments', async () => {
    const greet: AnyTool = {
      name: 'greet',
      description: 'Greets.',
      parameters: z.object({ name: z.string().transform((name) => name.toUpperCase()) }),
      execute: ({ name }: { name: string }) => `Hello ${name}`,
    }
    await using open = await serve([greet], { era })
    const { tools } = await open.client.listTools()
    expect(tools[0]?.inputSchema).toMatchObject({ type: 'object', properties: { name: { type: 'string' } }, required: ['name'] })
    expect(await open.client.callTool({ name: 'greet', arguments: { name: 'ann' } })).toMatchObject({ content: [{ text: 'Hello ANN' }] })
    expect(await open.client.callTool({ name: 'greet', arguments: { name: 7 } })).toMatchObject({ isError: true })
  })

  it('forwards progress and cancellation', async () => {
    const aborted = Promise.withResolvers<unknown>()
    const slow = defineTool({
      name: 'slow',
      description: 'Takes its time.',
      execute: (_args, { signal, progress }) => {
        signal.addEventListener('abort', () => aborted.resolve('aborted'))
        progress('started')
        progress({ progress: 5, total: 9, message: 'here' })
        progress({ step: 3 })
        return new Promise(() => {})
      },
    })
    await using open = await serve([slow], { era })
    const controller = new AbortController()
    const seen: unknown[] = []
    const onprogress = (update: object) => {
      if (seen.push(update) === 3) controller.abort(new Error('enough'))
    }
    await expect(open.client.callTool({ name: 'slow' }, { signal: controller.signal, onprogress })).rejects.toThrow(/enough/)
    expect(seen).toEqual([
      { progress: 1, message: 'started' },
      { progress: 5, total: 9, message: 'here' },
      { progress: 3, message: '{"step":3}' },
    ])
    expect(await aborted.promise).toBe('aborted')
  })

  it('announces changed tools', async () => {
    await using open = await serve([add], { era })
    open.registry.register(never)
    open.service.toolsChanged()
    const { tools } = await open.client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['add', 'never'])
    expect(open.changes()).toBe(1)
  })
})

describe('serveMcp', () => {
  it('H13 returns errors as results, in our own words', async () => {
    const throws = defineTool({
      name: 'throws',
      description: 'Throws.',
      execute: () => {
        throw new Error(`nothing in ${process.cwd()}/data`)
      },
    })
    const asks = defineTool({ name: 'asks', description: 'Asks.', execute: () => ask({ about: 'colour' }) })
    await using open = await serve([add, throws, asks, { ...never, timeoutMs: 20 }])
    const text = async (name: string, args: Record<string, unknown> = {}) => {
      const { content, isError } = await open.client.callTool({ name, arguments: args })
      return [isError, content[0]?.type === 'text' ? content[0].text : content]
    }
    expect(await text('add', { a: 'two' })).toEqual([
      true,
      'Invalid arguments for tool `add`: arguments: missing required `b`; `a`: expected number, got string "two". Correct them and call it again.',
    ])
    expect(await text('throws')).toEqual([true, 'nothing in data'])
    expect(await text('asks')).toEqual([true, expect.stringMatching(/nobody can answer it here/)])
    expect(await text('never')).toEqual([true, 'Tool `never` timed out after 20 ms. It may have taken effect.'])
    await expect(text('sub')).rejects.toThrow(/Tool not found: sub\. Available tools: add, throws, asks, never\./)
  })

  it('neither lists nor runs tools that need approval or that the caller runs', async () => {
    let runs = 0
    const execute = () => runs++
    const pay = defineTool({ name: 'pay', description: 'Pays.', approval: true, execute })
    const often = defineTool({ name: 'often', description: 'Asks often.', approval: () => false, execute })
    const client = defineTool({ name: 'client', description: 'Is run by the caller.' })
    await using open = await serve([add, pay, often, client])
    expect((await open.client.listTools()).tools.map(({ name }) => name)).toEqual(['add'])
    for (const name of ['pay', 'often', 'client']) {
      await expect(open.client.callTool({ name })).rejects.toThrow(`Tool not found: ${name}. Available tools: add.`)
    }
    expect(runs).toBe(0)
  })

  it('keeps the kinds of a result’s parts', async () => {
    const data = Buffer.from('bytes').toString('base64')
    const content = [
      { type: 'text', text: 'see' },
      { type: 'image', data, mediaType: 'image/png' },
      { type: 'image', url: `data:image/gif;base64,${data}` },
      { type: 'image', url: 'https://example.com/a.png' },
      { type: 'file', data, mediaType: 'audio/wav' },
      { type: 'file', data, mediaType: 'application/pdf', name: 'a b.pdf' },
    ] as const
    const shows = defineTool({ name: 'shows', description: 'Shows.', execute: () => 1, toContent: () => [...content] })
    await using open = await serve([shows])
    expect((await open.client.callTool({ name: 'shows' })).content).toEqual([
      { type: 'text', text: 'see' },
      { type: 'image', data, mimeType: 'image/png' },
      { type: 'image', data, mimeType: 'image/gif' },
      { type: 'resource_link', name: 'image', uri: 'https://example.com/a.png' },
      { type: 'audio', data, mimeType: 'audio/wav' },
      { type: 'resource', resource: { uri: 'file:///a%20b.pdf', blob: data, mimeType: 'application/pdf' } },
    ])
  })

  it('ends with its input, with its signal, and when it is closed', async () => {
    await using first = await serve([add])
    first.input.end()
    await first.service.closed
    const controller = new AbortController()
    await using second = await serve([add], { signal: controller.signal })
    controller.abort()
    await second.service.closed
    const third = await serve([add])
    await third.service.close()
    await third.service.closed
    // A client that never sends anything.
    const input = new PassThrough()
    const silent = await serveMcp(new ToolRegistry([add]), { input, output: new PassThrough() })
    input.end()
    await silent.closed
  })

  it('ignores input that is not a message', async () => {
    await using open = await serve([add])
    open.input.write('what?\n{"jsonrpc":"2.0"}\n[]\n\n')
    expect((await open.client.callTool({ name: 'add', arguments: { a: 1, b: 1 } })).isError).toBeFalsy()
  })
})
