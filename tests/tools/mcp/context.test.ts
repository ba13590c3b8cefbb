import { createMcpHandler, Server } from '@modelcontextprotocol/server'
import { describe, expect, it } from 'vitest'
import { AgentRunner, asTool, defineTool, type JsonObject } from '../../../src/index.ts'
import { MemoryRuns, memoryJournal, scriptedModel } from '../../../src/testing/index.ts'
import { connectMcpServers, type McpServerOptions, type McpTools } from '../../../src/tools/mcp/index.ts'
import { recordingLogger } from '../../hazards/recording-logger.ts'
import { callTool } from './open-tools.ts'

const revisions = ['2025-11-25', '2026-07-28'] as const
const picture = Buffer.from('a picture').toString('base64')

/** A library whose shelves the test fills, with a record of the requests. */
function library({ ttlMs }: { ttlMs?: number } = {}) {
  const asked: string[] = []
  const shelf = { count: 250 }
  const fresh = ttlMs === undefined ? {} : { ttlMs, cacheScope: 'private' as const }
  const handler = createMcpHandler(() => {
    const capabilities = { tools: {}, resources: { listChanged: true }, prompts: { listChanged: true } }
    const server = new Server({ name: 'library', version: '1' }, { capabilities, instructions: 'Whisper.' })
    server.setRequestHandler('tools/list', () => ({ tools: [{ name: 'find', inputSchema: { type: 'object' as const } }] }))
    server.setRequestHandler('tools/call', () => ({
      content: [{ type: 'resource_link' as const, name: 'the one', uri: 'book://one', mimeType: 'text/plain' }],
    }))
    server.setRequestHandler('resources/list', ({ params }) => {
      asked.push(`list ${params?.cursor ?? 0}`)
      const at = Number(params?.cursor ?? 0)
      const resources = Array.from({ length: Math.min(100, shelf.count - at) }, (_, n) => ({
        uri: `book://${at + n}`,
        name: `Book ${at + n}`,
      }))
      return { resources, ...fresh, ...(at + 100 < shelf.count ? { nextCursor: String(at + 100) } : {}) }
    })
    server.setRequestHandler('resources/templates/list', () => ({
      resourceTemplates: [{ uriTemplate: 'book://{n}', name: 'any book' }],
      ...fresh,
    }))
    server.setRequestHandler('resources/read', ({ params: { uri } }) => {
      asked.push(`read ${uri}`)
      if (uri === 'book://picture') return { contents: [{ uri, mimeType: 'image/png', blob: picture }], ...fresh }
      return { contents: [{ uri, text: `The text of ${uri}` }], ...fresh }
    })
    server.setRequestHandler('prompts/list', () => ({
      prompts: [{ name: 'review', description: 'Reviews a book.', arguments: [{ name: 'book', required: true }] }],
      ...fresh,
    }))
    server.setRequestHandler('prompts/get', ({ params: { name, arguments: args } }) => ({
      messages: [
        { role: 'user' as const, content: { type: 'text' as const, text: `${name}: ${args?.book ?? 'any'}` } },
        { role: 'assistant' as const, content: { type: 'text' as const, text: 'Gladly.' } },
      ],
    }))
    return server
  })
  const open = (protocolVersion: (typeof revisions)[number], options: McpServerOptions = {}) => {
    const fetch = (url: string | URL, init?: RequestInit) => handler.fetch(new Request(url, init))
    const server = { url: 'http://localhost/mcp', fetch, protocolVersion, ...options }
    return connectMcpServers({ lib: server }, { logger: recordingLogger().logger })
  }
  return { asked, shelf, open, notify: handler.notify }
}

const approve = (item: object) => ({ ...item, approved: true })

const contentOf = async (tools: McpTools, name: string, args: object = {}) => {
  const end = await callTool(tools, name, args)
  return end.outcome === 'question' ? undefined : end.content
}

describe.each(revisions)('resources and prompts of a server (%s)', (revision) => {
  it('are only offered if configured', async () => {
    await using tools = await library().open(revision)
    expect(tools.names()).toEqual(['lib__find'])
    expect(await tools.instructions()).toBe('')
  })

  it('are listed in pages, searched and read by the model, as texts and pictures', async () => {
    await using tools = await library().open(revision, { resources: 'all' })
    expect(tools.names()).toEqual(['lib__find', 'lib__list_resources', 'lib__read_resource'])
    const first = JSON.parse(String(await contentOf(tools, 'lib__list_resources')))
    expect(first.resources).toHaveLength(100)
    expect(first).toMatchObject({ of: 250, nextOffset: 100, templates: [{ uriTemplate: 'book://{n}' }] })
    const found = JSON.parse(String(await contentOf(tools, 'lib__list_resources', { search: 'BOOK 249' })))
    expect(found).toEqual({ resources: [{ uri: 'book://249', name: 'Book 249' }], templates: [] })
    expect(await contentOf(tools, 'lib__read_resource', { uri: 'book://249' })).toBe('book://249:\nThe text of book://249')
    expect(await contentOf(tools, 'lib__read_resource', { uri: 'book://picture' })).toEqual([
      { type: 'image', data: picture, mediaType: 'image/png' },
    ])
  })

  it('are read by link, by the run that received the link', async () => {
    await using tools = await library().open(revision, { resources: 'links', prefix: '' })
    expect(tools.names()).toEqual(['find', 'read_resource'])
    const read = (uri: string) => ({ toolCalls: [{ name: 'read_resource', args: { uri } }] })
    const find = { toolCalls: [{ name: 'find', args: {} }] }
    const run = async (...turns: object[]) => {
      const runner = new AgentRunner({ model: scriptedModel([...turns, 'Done.'] as never), tools, logger: recordingLogger().logger })
      return (await runner.run('Go.')).toolCalls.map(({ content }) => String(content))
    }
    expect(await run(find, read('book://one'), read('book://2'))).toEqual([
      'the one: book://one (text/plain)',
      'book://one:\nThe text of book://one',
      expect.stringMatching(/No result in this conversation has linked to that address/),
    ])
    expect(await run(read('book://one'))).toEqual([expect.stringMatching(/No result in this conversation/)])
  })

  describe.each(['in a journal', 'in the state of a paused run'])('P1.13 links are stored %s', (where) => {
    const kept = new MemoryRuns()
    const ask = defineTool({ name: 'ask', description: 'asks', approval: true, execute: () => 'yes' })
    const turn = (name: string, args: JsonObject = {}) => ({ toolCalls: [{ name, args }] })
    const turns = [turn('find'), turn('ask'), turn('read_resource', { uri: 'book://one' }), turn('read_resource', { uri: 'book://2' })]
    /** The state of a process that has just started. */
    const runnerOf = (tools: McpTools, isNested: boolean) => {
      const journal = where === 'in a journal' ? { journal: memoryJournal(kept) } : {}
      const { logger } = recordingLogger()
      const own = { model: scriptedModel(({ messages }) => turns[turnOf(messages)] ?? 'Done.'), tools: [...tools.list(), ask], logger }
      if (!isNested) return new AgentRunner({ ...own, ...journal })
      const reader = asTool(new AgentRunner(own), {
        name: 'reader',
        description: 'reads',
        effect: 'idempotent',
        result: (result) => result.toolCalls,
      })
      const model = scriptedModel(({ messages }) => (turnOf(messages) === 0 ? turn('reader', { task: 'Read.' }) : 'Done.'))
      return new AgentRunner({ model, tools: [reader], logger, ...journal })
    }
    const turnOf = (messages: readonly { role: string }[]) => messages.filter(({ role }) => role === 'assistant').length

    it.each([false, true])('for the process that continues the run; inside a call: %s', async (isNested) => {
      const runId = `${revision} ${isNested}`
      await using first = await library().open(revision, { resources: 'links', prefix: '' })
      const paused = await runnerOf(first, isNested).run('Go.', { runId })
      const decisions = paused.pending.map((item) => approve(item))
      await using second = await library().open(revision, { resources: 'links', prefix: '' })
      const state = where === 'in a journal' ? runId : JSON.parse(JSON.stringify(paused.state))
      const result = await runnerOf(second, isNested).resume(state, {
        decisions: decisions as never,
      })
      const calls = isNested ? JSON.parse(String(result.toolCalls[0]?.content)) : result.toolCalls
      expect(calls.map(({ content }: { content: string }) => content).slice(2)).toEqual([
        'book://one:\nThe text of book://one',
        expect.stringMatching(/No result in this conversation has linked to that address/),
      ])
    })
  })

  it('provide prompts for the model, and for an application to start a run with', async () => {
    await using tools = await library().open(revision, { prompts: true })
    const { prompts } = JSON.parse(String(await contentOf(tools, 'lib__list_prompts')))
    expect(prompts).toEqual([{ name: 'review', description: 'Reviews a book.', arguments: [{ name: 'book', required: true }] }])
    expect(await contentOf(tools, 'lib__get_prompt', { name: 'review', arguments: { book: 'Emma' } })).toBe(
      'user: review: Emma\nassistant: Gladly.',
    )
    const messages = await tools.prompt('lib', 'review', { book: 'Emma' })
    const { messages: all } = await new AgentRunner({ model: scriptedModel(['It is witty.']) }).run(messages)
    expect(all.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'review: Emma'],
      ['assistant', 'Gladly.'],
      ['assistant', 'It is witty.'],
    ])
    await expect(tools.prompt('other', 'review')).rejects.toMatchObject({ code: 'invalid_option' })
  })

  it('appear in the instructions if configured', async () => {
    const instructions = { prompts: ['review'], resources: ['book://rules'] }
    await using tools = await library().open(revision, { instructions })
    expect(await tools.instructions()).toBe('# lib\n\nWhisper.\n\nreview: any\n\nGladly.\n\nbook://rules:\nThe text of book://rules')
    await using own = await library().open(revision, { instructions: true })
    expect(await own.instructions()).toBe('# lib\n\nWhisper.')
  })
})

describe('a server with invalid resources', () => {
  const open = (contents: object[], resources: object[], options: McpServerOptions = {}) => {
    const result = (method: string) =>
      method === 'resources/read' ? { contents } : { resources, nextCursor: resources.length > 0 ? crypto.randomUUID() : undefined }
    const answer = async (_url: string | URL, init?: RequestInit) => {
      const { id, method } = JSON.parse(String(init?.body ?? '{}'))
      const initialised = { protocolVersion: '2025-11-25', capabilities: { resources: {} }, serverInfo: { name: 'odd', version: '1' } }
      if (id === undefined) return new Response(null, { status: init?.method === 'GET' ? 405 : 202 })
      return Response.json({ jsonrpc: '2.0', id, result: method === 'initialize' ? initialised : result(method) })
    }
    const server = { url: 'http://localhost/mcp', fetch: answer, protocolVersion: '2025-11-25' as const, ...options }
    return connectMcpServers({ odd: server }, { logger: recordingLogger().logger })
  }

  it('has invalid items left out or refused, and lists limited', async () => {
    await using tools = await open([{ uri: 'a://b', blob: 'not base64!' }], [{ uri: 7 }, { uri: 'a://b' }, { uri: 'x'.repeat(9_000) }])
    await expect(tools.readResource('odd', 'a://b')).rejects.toThrow(/something other than a resource/)
    await expect(tools.resources('odd')).rejects.toThrow(/more than 100 pages/)
    await using long = await open(
      [],
      Array.from({ length: 1_000 }, (_, n) => ({ uri: `a://${n}` })),
    )
    await expect(long.resources('odd')).rejects.toThrow(/more than 5000 of them/)
    await using wide = await open(
      [],
      Array.from({ length: 600 }, (_, n) => ({ uri: `a://${n}${'x'.repeat(8_000)}` })),
    )
    await expect(wide.resources('odd')).rejects.toThrow(/more than 4000000 characters/)
    await using empty = await open([], [])
    expect(await empty.readResource('odd', 'a://b')).toEqual([])
    expect(await empty.resources('odd')).toEqual([])
  })
})

describe('cached lists and texts', () => {
  it('are used for as long as the server says, and no longer', async () => {
    const kept = library({ ttlMs: 60_000 })
    await using tools = await kept.open('2026-07-28')
    for (let n = 0; n < 2; n++) {
      await tools.resources('lib')
      await tools.readResource('lib', 'book://1')
    }
    expect(kept.asked).toEqual(['list 0', 'list 100', 'list 200', 'read book://1'])
    const stale = library({ ttlMs: 0 })
    await using others = await stale.open('2026-07-28')
    for (let n = 0; n < 2; n++) {
      await others.resources('lib')
      await others.readResource('lib', 'book://1')
    }
    expect(stale.asked).toHaveLength(8)
  })

  it('are requested again once the server has reported a change', async () => {
    const { open, shelf, notify } = library({ ttlMs: 60_000 })
    await using tools = await open('2026-07-28')
    expect(await tools.resources('lib')).toHaveLength(250)
    shelf.count = 1
    expect(await tools.resources('lib')).toHaveLength(250)
    notify.resourcesChanged()
    await expect.poll(async () => (await tools.resources('lib')).length).toBe(1)
  })
})
