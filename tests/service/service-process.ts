import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createLogger } from '../../src/core/logger.ts'
import type { ModelRequest } from '../../src/models/chat-model.ts'
import { createService, listen } from '../../src/service/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'

/**
 * A service in a process of its own, so that its event loop and its heap have only its own work in them. Its model does what the last
 * message says: `call NAME ARGUMENTS`, `say TEXT COUNT`, else it answers `ok`. Arguments: token, working directory, configuration file.
 */
const [, , token = '', cwd = '.', configFile] = process.argv

const pay = defineTool({ name: 'pay', description: '', approval: true, parameters: { type: 'object' }, execute: () => 'paid' })
const echo = defineTool({ name: 'echo', description: '', effect: 'read', parameters: { type: 'object' }, execute: ({ text }) => text })

const act = ({ messages }: ModelRequest) => {
  const last = messages.at(-1)
  const said = last?.role === 'user' && typeof last.content === 'string' ? last.content : ''
  const [, name, args = ''] = /^call (\w+) ([\s\S]*)$/.exec(said) ?? []
  if (name !== undefined) return { toolCalls: [{ name, arguments: args }] }
  const [, text = 'ok', count = '1'] = /^say (\S+) (\d+)$/.exec(said) ?? []
  return { text: text.repeat(Number(count)) }
}

const service = createService({
  model: scriptedModel(act, { record: false, pieceLength: 65_536 }),
  token,
  tools: [pay, echo],
  env: {},
  cwd,
  ...(configFile === undefined ? {} : { configFile }),
  logger: createLogger({ level: 'error' }),
})
const listening = await listen(service, { port: 0, writeTimeoutMs: 1_000 })

/** Milliseconds between two looks at the event loop, which are in every delay that is measured. */
const resolution = 1
const delays = monitorEventLoopDelay({ resolution })
delays.enable()

process.on('message', (asked) => {
  if (asked !== 'measure') return
  process.send?.({ stallMs: Math.max(0, delays.max / 1e6 - resolution), memoryMB: process.memoryUsage.rss() / 1e6 })
  delays.reset()
})
process.send?.({ url: listening.url })
