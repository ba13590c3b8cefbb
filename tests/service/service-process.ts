import { flushCompileCache } from 'node:module'
import { createLogger } from '../../src/core/logger.ts'
import type { ModelRequest } from '../../src/models/chat-model.ts'
import { createService, listen } from '../../src/service/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { htmlToText } from '../../src/tools/builtin/web/html-text.ts'
import { defineTool } from '../../src/tools/tool.ts'

/**
 * A service in a process of its own, so that its event loop and its heap have only its own work in them. Its model does what the last
 * message says: `call NAME ARGUMENTS`, `say TEXT COUNT`, else it answers `ok`. Arguments: token, working directory, configuration file.
 */
const [, , token = '', cwd = '.', configFile] = process.argv

const pay = defineTool({ name: 'pay', description: '', approval: true, parameters: { type: 'object' }, execute: () => 'paid' })
const echo = defineTool({ name: 'echo', description: '', effect: 'read', parameters: { type: 'object' }, execute: ({ text }) => text })

const strict = defineTool({
  name: 'strict',
  description: '',
  effect: 'read',
  parameters: {
    type: 'object',
    properties: { words: { type: 'array', items: { type: 'string' } }, code: { type: 'string', pattern: '^(a+)+$' } },
  },
  execute: () => 'ok',
})

const page = defineTool({
  name: 'page',
  description: '',
  effect: 'read',
  parameters: { type: 'object' },
  execute: ({ piece, count }) => htmlToText(String(piece).repeat(Number(count))),
})

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
  tools: [pay, echo, strict, page],
  env: {},
  cwd,
  ...(configFile === undefined ? {} : { configFile }),
  logger: createLogger({ level: 'error' }),
})
const listening = await listen(service, { port: 0, writeTimeoutMs: 1_000 })

/**
 * How long the turns of this event loop take, in milliseconds of its thread's own processor time: what others do on the machine is not in
 * it, and what the garbage collector does in this thread is. A timer that is due in every turn is what tells one from the next, so that the
 * shortest ones count together until they make a millisecond.
 */
let longest = 0
let all = 0
let before = process.threadCpuUsage()
const endTurn = () => {
  const now = process.threadCpuUsage()
  const spent = (now.user + now.system - before.user - before.system) / 1_000
  longest = Math.max(longest, spent)
  all += spent
  before = now
}
setInterval(endTurn, 1)

// It ends by being killed. The first measurement is of its warming up, and is not looked at.
process.once('message', () => flushCompileCache())
process.on('message', (asked) => {
  if (asked !== 'measure') return
  endTurn()
  const answer = { stallMs: longest, cpuMs: all }
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  process.send?.({ ...answer, heldMB: (heapUsed + external) / 1e6 })
  before = process.threadCpuUsage()
  longest = all = 0
})
process.send?.({ url: listening.url })
