import { fileURLToPath } from 'node:url'
import { createMcpHandler, inputRequired, Server } from '@modelcontextprotocol/server'
import { describe, expect, it } from 'vitest'
import { AgentRunner, type Json, type RunResult } from '../../../src/index.ts'
import { scriptedModel } from '../../../src/testing/index.ts'
import { connectMcpServers, type McpServerOptions, type McpTools } from '../../../src/tools/mcp/index.ts'
import { recordingLogger } from '../../hazards/recording-logger.ts'
import { callTool } from './open-tools.ts'

/** A server that holds its calls open while it waits. */
const openAsking = (options: McpServerOptions = {}) => {
  const args = [fileURLToPath(new URL('asking-server.ts', import.meta.url))]
  const env = { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '' }
  const server = { command: process.execPath, args, env, prefix: '', ...options }
  return connectMcpServers({ asking: server }, { logger: recordingLogger().logger })
}

/** A run that calls these tools at once. */
const runnerOf = (tools: McpTools, ...names: string[]) => {
  const toolCalls = names.map((name) => ({ name, args: {} }))
  return new AgentRunner({ model: scriptedModel([{ toolCalls }, 'Done.']), tools, logger: recordingLogger().logger })
}

const answered = (result: RunResult, answer: Json) => ({ decisions: result.pending.map((item) => ({ ...item, answer })) })
const resultOf = ({ toolCalls }: RunResult): unknown => {
  const { content, outcome } = toolCalls[0] ?? {}
  return outcome === 'ok' ? JSON.parse(String(content)) : content
}

describe('a server that asks a question while it holds a call open', () => {
  it('pauses the run, which continues with the same call once answered; missing fields get their defaults', async () => {
    await using tools = await openAsking()
    const runner = runnerOf(tools, 'paint')
    const paused = await runner.run('Go.')
    expect(paused).toMatchObject({
      stopReason: 'paused',
      pending: [
        { kind: 'question', tool: 'paint', about: { mcpServer: 'asking', message: 'Which colour?' }, schema: { required: ['colour'] } },
      ],
    })
    const result = await runner.resume(paused.state, answered(paused, { colour: 'blue' }))
    expect(resultOf(result)).toEqual([{ action: 'accept', content: { colour: 'blue', amount: 3 } }])
  })

  it('does not receive an invalid form: the user is asked again, with the reason', async () => {
    await using tools = await openAsking()
    const runner = runnerOf(tools, 'paint')
    const first = await runner.run('Go.')
    const second = await runner.resume(first.state, answered(first, { colour: 'green' }))
    expect(second.pending).toMatchObject([{ about: { message: 'Which colour?', problem: expect.stringMatching(/colour/) } }])
    expect(resultOf(await runner.resume(second.state, answered(second, { colour: 'red', amount: 1 })))).toEqual([
      { action: 'accept', content: { colour: 'red', amount: 1 } },
    ])
  })

  it('asks nobody if several calls are open and the question may belong to another caller', async () => {
    await using tools = await openAsking()
    const [mine, theirs] = [runnerOf(tools, 'paint'), runnerOf(tools, 'paint')]
    const paused = await mine.run('Go.')
    expect(resultOf(await theirs.run('Go.'))).toEqual([{ action: 'cancel' }])
    expect(resultOf(await mine.resume(paused.state, answered(paused, { colour: 'blue' })))).toMatchObject([{ action: 'accept' }])
  })

  it('asks for the call that does not end, if several calls of one run are open', async () => {
    await using tools = await openAsking()
    const runner = runnerOf(tools, 'dry', 'paint')
    const paused = await runner.run('Go.')
    expect(paused.pending).toMatchObject([{ kind: 'question', tool: 'paint', about: { message: 'Which colour?' } }])
    const { toolCalls } = await runner.resume(paused.state, answered(paused, { colour: 'blue' }))
    expect(toolCalls.map(({ tool, content }) => [tool, JSON.parse(String(content))])).toEqual([
      ['dry', []],
      ['paint', [{ action: 'accept', content: { colour: 'blue', amount: 3 } }]],
    ])
  })

  it('may ask for each of several open calls of one run', async () => {
    await using tools = await openAsking()
    const runner = runnerOf(tools, 'paint', 'paint', 'dry')
    const paused = await runner.run('Go.')
    expect(paused.pending.map(({ tool }) => tool)).toEqual(['paint', 'paint'])
    const { toolCalls } = await runner.resume(paused.state, answered(paused, { colour: 'red' }))
    const accepted = [{ action: 'accept', content: { colour: 'red', amount: 3 } }]
    expect(toolCalls.map(({ content }) => JSON.parse(String(content)))).toEqual([accepted, accepted, []])
  })

  it('may ask several times, be refused, and send people to a web page', async () => {
    await using tools = await openAsking()
    const twice = runnerOf(tools, 'paint-twice')
    const first = await twice.run('Go.')
    const second = await twice.resume(first.state, answered(first, { colour: 'red' }))
    expect(second.pending).toMatchObject([{ about: { message: 'And the second?' } }])
    const result = await twice.resume(second.state, answered(second, { action: 'decline' }))
    expect(resultOf(result)).toMatchObject([{ action: 'accept' }, { action: 'decline' }])

    const visit = runnerOf(tools, 'visit')
    const asked = await visit.run('Go.')
    expect(asked.pending).toMatchObject([{ about: { message: 'Pay here.', url: 'https://pay.example.com/1' } }])
    expect(resultOf(await visit.resume(asked.state, answered(asked, { action: 'accept' })))).toEqual([{ action: 'accept' }])
  })

  it('has forgotten its call in another process: it is repeated with the answer if that is safe, and never guessed', async () => {
    const paused = await (async () => {
      await using tools = await openAsking()
      return await runnerOf(tools, 'paint').run('Go.')
    })()
    const resume = async (options: McpServerOptions) => {
      await using tools = await openAsking(options)
      const runner = new AgentRunner({ model: scriptedModel(['Done.']), tools, logger: recordingLogger().logger })
      return resultOf(await runner.resume(paused.state, { ...answered(paused, { colour: 'blue' }), claim: () => true }))
    }
    expect(await resume({ effects: { paint: 'idempotent' } })).toEqual([{ action: 'accept', content: { colour: 'blue', amount: 3 } }])
    expect(await resume({})).toMatch(/has stopped waiting for it\. Whether the call took effect is not known/)
  })

  it('is told immediately if nobody can be asked', async () => {
    await using tools = await openAsking({ questions: false })
    expect(await callTool(tools, 'paint')).toMatchObject({ outcome: 'failed', content: expect.stringMatching(/elicitation/i) })
  })
})

describe('a server that answers a call with a question (2026-07-28)', () => {
  /** Its calls, as received. */
  const sent: unknown[] = []
  const { fetch } = createMcpHandler(
    () => {
      const server = new Server({ name: 'later', version: '1' }, { capabilities: { tools: {} } })
      server.setRequestHandler('tools/list', () => ({
        tools: ['confirm', 'model', 'wait'].map((name) => ({ name, inputSchema: { type: 'object' as const } })),
      }))
      server.setRequestHandler('tools/call', ({ params }, { mcpReq }) => {
        const state = mcpReq.requestState()
        sent.push([params.name, mcpReq.inputResponses, state])
        if (params.name === 'model') {
          return inputRequired({ inputRequests: { m: inputRequired.createMessage({ messages: [], maxTokens: 1 }) } })
        }
        if (params.name === 'wait') {
          return state === undefined ? inputRequired({ requestState: 'waited' }) : { content: [{ type: 'text' as const, text: '"ready"' }] }
        }
        if (mcpReq.inputResponses === undefined) {
          const requestedSchema = { type: 'object' as const, properties: { sure: { type: 'boolean' as const } } }
          const ask = (message: string) => inputRequired.elicit({ message, requestedSchema })
          return inputRequired({ inputRequests: { sure: ask('Sure?'), name: ask('And now?') }, requestState: 'secret of the server' })
        }
        return { content: [{ type: 'text' as const, text: JSON.stringify(mcpReq.inputResponses) }] }
      })
      return server
    },
    { legacy: 'reject' },
  )
  const openLater = () => {
    const server = {
      url: 'http://localhost/mcp',
      prefix: '',
      fetch: (url: string | URL, init?: RequestInit) => fetch(new Request(url, init)),
    }
    return connectMcpServers({ later: server }, { logger: recordingLogger().logger })
  }

  it('is answered days later by another process, with its own state', async () => {
    const paused = await (async () => {
      await using tools = await openLater()
      return await runnerOf(tools, 'confirm').run('Go.')
    })()
    expect(paused.pending).toMatchObject([{ about: { mcpServer: 'later', questions: [{ message: 'Sure?' }, { message: 'And now?' }] } }])
    const state = JSON.parse(JSON.stringify(paused.state))
    await using tools = await openLater()
    const runner = new AgentRunner({ model: scriptedModel(['Done.']), tools, logger: recordingLogger().logger })
    const result = await runner.resume(state, answered(paused, [{ sure: true }, { action: 'cancel' }]))
    expect(resultOf(result)).toEqual({ sure: { action: 'accept', content: { sure: true } }, name: { action: 'cancel' } })
    expect(sent.at(-1)).toMatchObject(['confirm', {}, 'secret of the server'])
  })

  it('may have a call repeated without a question, but does not get a model', async () => {
    await using tools = await openLater()
    expect(await callTool(tools, 'wait')).toMatchObject({ outcome: 'ok', content: '"ready"' })
    expect(await callTool(tools, 'model')).toMatchObject({ outcome: 'failed' })
  })
})
