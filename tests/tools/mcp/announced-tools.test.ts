import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { AgentRunner } from '../../../src/agent/agent-runner.ts'
import type { JsonObject } from '../../../src/core/messages.ts'
import { sqliteJournal } from '../../../src/journals/sqlite/index.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { deferTools } from '../../../src/tools/deferred-tools.ts'
import { ToolDispatcher } from '../../../src/tools/dispatcher.ts'
import { connectMcpServers, type McpServer } from '../../../src/tools/mcp/index.ts'
import { defineTool } from '../../../src/tools/tool.ts'
import { recordingLogger } from '../../hazards/recording-logger.ts'
import { type Answer, json, result, startOddHttpServer } from './odd-http-server.ts'
import { listed, odd } from './open-tools.ts'
import { heldList, type SessionServer, startSessionServer } from './session-server.ts'

const folder = mkdtempSync(join(tmpdir(), 'toolloop-announced-'))
afterAll(() => rmSync(folder, { recursive: true }))

const before = ['change', 'old']
const after = ['change', 'echo']
const namesOf = (names: readonly string[]) => names.map((name) => listed(name))
const changed = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' }

/** Servers whose tool `change` replaces `old` by `echo`. */
const servers: [string, () => Promise<{ server: McpServer; arguments?: JsonObject } & AsyncDisposable>][] = [
  [
    'a program',
    async () => ({
      server: odd({ tools: [listed('become'), listed('old')] }),
      arguments: { tools: [listed('become'), listed('echo')] as never },
      [Symbol.asyncDispose]: async () => {},
    }),
  ],
  [
    'a server that says so in the response of the call',
    async () => {
      const tools = namesOf(before)
      const change: Answer = (response, { message: { id } }) => {
        tools.splice(0, 2, ...namesOf(after))
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        const messages = [changed, { jsonrpc: '2.0', id, result: result('changed') }]
        response.end(messages.map((message) => `data: ${JSON.stringify(message)}\n\n`).join(''))
      }
      const server = await startOddHttpServer(tools, (response, request) =>
        request.message.params?.name === 'change'
          ? change(response, request)
          : json(response, { jsonrpc: '2.0', id: request.message.id, result: result(String(request.message.params?.name)) }),
      )
      return { server: { url: server.url }, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
    },
  ],
  [
    'a server of the official SDK, which says so in a stream of its own',
    async () => {
      const server = await startSessionServer(namesOf(before))
      server.call = changing(server)
      return { server: { url: server.url }, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
    },
  ],
]

function changing(server: SessionServer): SessionServer['call'] {
  return async (name, own) => {
    if (name === 'change') {
      server.tools = namesOf(after)
      await own.sendToolListChanged()
    }
    return { content: [{ type: 'text', text: name }] }
  }
}

describe.each(servers)('McpTools of %s', (what, start) => {
  const change = what === 'a program' ? 'become' : 'change'

  it.each(['without a journal', 'with a journal'])(
    'E2.7 shows tools that a call changed to the next request of the run, %s',
    async (how) => {
      await using started = await start()
      await using tools = await connectMcpServers({ s: { ...started.server, prefix: '' } }, { logger: recordingLogger().logger })
      const journal = how === 'with a journal' ? { journal: sqliteJournal({ file: join(folder, `${randomUUID()}.sqlite`) }) } : {}
      const model = scriptedModel([
        { toolCalls: [{ name: change, args: started.arguments ?? {} }] },
        {
          toolCalls: [
            { name: 'old', args: {} },
            { name: 'echo', args: {} },
          ],
        },
        'done',
      ])
      const runner = new AgentRunner({ model, tools, ...journal, logger: recordingLogger().logger })
      const { output, toolCalls } = await runner.run('go')
      await journal.journal?.close()
      expect(output).toBe('done')
      const offered = model.requests.map((request) => request.tools?.map(({ function: { name } }) => name))
      expect(offered).toEqual([
        [change, 'old'],
        [change, 'echo'],
        [change, 'echo'],
      ])
      expect(toolCalls[1]).toMatchObject({ outcome: 'rejected', content: `Tool not found: old. Available tools: ${change}, echo.` })
      expect(toolCalls[2]).toMatchObject({ outcome: 'ok' })
    },
  )
})

it('E2.7 lists tools again before the next request if a failed call changed them', async () => {
  await using server = await startSessionServer(namesOf(before))
  const change = changing(server)
  server.call = async (...call) => ({ ...(await change(...call)), isError: true })
  await using tools = await connectMcpServers({ s: { url: server.url, prefix: '' } }, { logger: recordingLogger().logger })
  const model = scriptedModel([{ toolCalls: [{ name: 'change', args: {} }] }, 'done'])
  await new AgentRunner({ model, tools, logger: recordingLogger().logger }).run('go')
  expect(model.requests[1]?.tools?.map(({ function: { name } }) => name)).toEqual(after)
})

it('E2.7 waits for a list that changes outside of calls, in any tool set', async () => {
  await using server = await startSessionServer(namesOf(before))
  const list = heldList()
  await using mcp = await connectMcpServers({ s: { url: server.url, prefix: '', fetch: list.fetch } }, { logger: recordingLogger().logger })
  const wait = defineTool({
    name: 'wait',
    description: 'Waits.',
    execute: async () => {
      server.tools = namesOf(after)
      await server.current()?.sendToolListChanged()
      await list.asked
      setTimeout(list.free, 20)
      return 'over'
    },
  })
  const tools = new ToolDispatcher([
    { kind: 'registered', tools: [wait] },
    { kind: 'mcp', tools: deferTools(mcp, { keep: ['echo', 'old'], search: 'own' }) },
  ])
  const model = scriptedModel([{ toolCalls: [{ name: 'wait', args: {} }] }, 'done'])
  await new AgentRunner({ model, tools, largeResults: true, logger: recordingLogger().logger }).run('go')
  const offered = model.requests.map((request) => request.tools?.map(({ function: { name } }) => name))
  expect(offered).toEqual([expect.arrayContaining(['old']), expect.arrayContaining(['echo'])])
  expect(offered[1]).not.toContain('old')
})
