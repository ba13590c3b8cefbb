import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { AgentRunner } from '../../../src/agent/agent-runner.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { connectMcpServers, type McpServerOptions } from '../../../src/tools/mcp/index.ts'
import { recordingLogger } from '../../hazards/recording-logger.ts'
import { listed } from './open-tools.ts'
import { startSessionServer } from './session-server.ts'

/** How a call ends whose server reports progress every 50 ms for a while, in a run with a call limit of 500 ms. */
async function callThatTakes(milliseconds: number, options: McpServerOptions = {}) {
  await using server = await startSessionServer([listed('a')])
  server.call = async (name, _server, report) => {
    for (let progress = 1; progress <= milliseconds / 50; progress++) {
      await pause(50)
      await report(progress)
    }
    return { content: [{ type: 'text', text: name }] }
  }
  await using tools = await connectMcpServers({ s: { url: server.url, prefix: '', ...options } }, { logger: recordingLogger().logger })
  const model = scriptedModel([{ toolCalls: [{ name: 'a', args: {} }] }, 'done'])
  const runner = new AgentRunner({ model, tools, toolTimeoutMs: 500, logger: recordingLogger().logger })
  const { toolCalls } = await runner.run('go')
  return toolCalls[0]
}

it('E2.2 a call with progress may take longer than its time limit', async () => {
  expect(await callThatTakes(1_500)).toMatchObject({ outcome: 'ok', content: 'a' })
})

it('E2.2 a call with endless progress ends at `maxToolTimeoutMs`', async () => {
  const call = await callThatTakes(20_000, { maxToolTimeoutMs: 1_000 })
  expect(call).toMatchObject({ outcome: 'timeout', content: expect.stringMatching(/^Tool `a` timed out after 1\d{3} ms\./) })
  expect(call?.durationMs).toBeLessThan(5_000)
})

it('E2.2 progress extends a long operation of the server "everything", a program', async () => {
  const program = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'))
  const every = { command: process.execPath, args: [program, 'stdio'], timeouts: { 'trigger-long-running-operation': 600 } }
  await using tools = await connectMcpServers({ every }, { logger: recordingLogger().logger })
  const args = { duration: 2, steps: 10 }
  const model = scriptedModel([{ toolCalls: [{ name: 'every__trigger-long-running-operation', args }] }, 'done'])
  const { toolCalls } = await new AgentRunner({ model, tools, logger: recordingLogger().logger }).run('go')
  expect(toolCalls[0]).toMatchObject({ outcome: 'ok', content: expect.stringMatching(/completed/) })
})
