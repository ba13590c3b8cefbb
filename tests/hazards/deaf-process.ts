/**
 * Started by time.test.ts as a child process: starts runs whose models and tools ignore their signals, ends them, and must then exit by
 * itself.
 */
import { getEventListeners } from 'node:events'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { ChatModel } from '../../src/models/chat-model.ts'
import { createModel } from '../../src/models/create-model.ts'
import type { MockReply } from '../../src/testing/mock/reply.ts'
import type { MockProvider } from '../../src/testing/mock-provider.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'

const logger = { debug() {}, info() {}, warn() {}, error() {} }
const callsDeaf = { toolCalls: [{ name: 'deaf' }, { name: 'deaf' }] }
const reasons: string[] = []
const controllers: AbortController[] = []

function aborting(): { tool: ReturnType<typeof defineTool>; signal: AbortSignal; abort: () => void } {
  const controller = new AbortController()
  controllers.push(controller)
  const tool = defineTool({
    name: 'deaf',
    description: 'hears nothing, and ends the run',
    execute: () => {
      setImmediate(() => controller.abort())
      return new Promise(() => {})
    },
  })
  return { tool, signal: controller.signal, abort: () => controller.abort() }
}

const deaf = defineTool({ name: 'deaf', description: 'hears nothing', execute: () => new Promise(() => {}) })

async function overHttp(reply: MockReply, run: (model: ChatModel, provider: MockProvider) => Promise<void>): Promise<void> {
  const provider = await startStrictProvider({ script: [reply] })
  await run(createModel({ provider: 'custom', model: 'mock', baseURL: provider.baseURL, apiKey: 'test', maxRetries: 0 }), provider)
  await provider.close()
}

const before = process.getActiveResourcesInfo()

// Aborts runs with a deaf tool, with a deaf model, and with a server that hangs.
const one = aborting()
reasons.push(
  (await new AgentRunner({ model: scriptedModel([callsDeaf]), tools: [one.tool], logger }).run('go', { signal: one.signal })).stopReason,
)
const two = aborting()
const hung = new AgentRunner({ model: scriptedModel([{ text: 'Hm', deaf: true }]), logger })
hung.on('TEXT_DELTA', two.abort)
reasons.push((await hung.run('go', { signal: two.signal })).stopReason)
await overHttp({ text: 'Hm', hang: true }, async (model, provider) => {
  const three = aborting()
  const running = new AgentRunner({ model, logger, limits: { deadlineMs: 3_600_000 } }).run('go', { signal: three.signal })
  await provider.waitForRequest(1)
  three.abort()
  reasons.push((await running).stopReason)
})

// Runs with a deaf tool and a deadline, with a deaf tool and a time limit, with a consumer that leaves, and with a stream that falls silent.
const model = () => scriptedModel([callsDeaf, 'done'])
reasons.push((await new AgentRunner({ model: model(), tools: [deaf], logger, limits: { deadlineMs: 5 } }).run('go')).stopReason)
reasons.push((await new AgentRunner({ model: model(), tools: [deaf], logger, toolTimeoutMs: 5 }).run('go')).stopReason)
const stream = new AgentRunner({ model: model(), tools: [deaf], logger }).stream('go')
for await (const event of stream) if (event.type === 'TOOL_CALL_START') break
reasons.push((await stream.result).stopReason)
await overHttp({ text: 'Hm', hang: true }, async (silent) => {
  reasons.push((await new AgentRunner({ model: silent, logger, streamIdleTimeoutMs: 20 }).run('go')).stopReason)
})

// The sockets of the closed servers disappear after a turn of the event loop, or a little later on a busy machine.
const leftovers = () => process.getActiveResourcesInfo().filter((kind) => kind !== 'Immediate')
const giveUpAt = performance.now() + 5_000
while (leftovers().length > before.length && performance.now() < giveUpAt) await new Promise((resolve) => setImmediate(resolve))
const after = leftovers()
const listeners = controllers.reduce((sum, { signal }) => sum + getEventListeners(signal, 'abort').length, 0)
console.log(JSON.stringify({ reasons, before, after, listeners }))
