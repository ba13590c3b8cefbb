import { expect, it } from 'vitest'
import { AgentRunner } from '../../../src/agent/agent-runner.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { connectMcpServers } from '../../../src/tools/mcp/index.ts'
import { recordingLogger } from '../../hazards/recording-logger.ts'
import { listed, Watch } from './open-tools.ts'
import { heldList, startSessionServer } from './session-server.ts'

it('E2.7 a request does not wait forever for a server that lists its tools slowly', { timeout: 60_000 }, async () => {
  await using server = await startSessionServer([listed('change')])
  const list = heldList()
  server.call = async (name, own) => {
    server.tools = [listed('change'), listed('new')]
    await own.sendToolListChanged()
    return { content: [{ type: 'text', text: name }] }
  }
  const watch = new Watch()
  await using tools = await connectMcpServers(
    { s: { url: server.url, prefix: '', fetch: list.fetch } },
    { logger: recordingLogger().logger, onChange: watch.changed },
  )
  const { logger, records } = recordingLogger()
  const model = scriptedModel([{ toolCalls: [{ name: 'change', args: {} }] }, 'done', 'again'])
  const runner = new AgentRunner({ model, tools, logger })
  expect(await runner.run('go')).toMatchObject({ output: 'done', toolCalls: [{ outcome: 'ok' }] })
  expect(records.filter(({ level }) => level === 'warn')).toMatchObject([
    { message: expect.stringMatching(/^the tools are still changing/) },
  ])
  const controller = new AbortController()
  const aborted = runner.run('go', { signal: controller.signal })
  setImmediate(() => controller.abort())
  expect(await aborted).toMatchObject({ stopReason: 'aborted' })
  list.free()
  await watch.until(() => tools.size === 2)
})
