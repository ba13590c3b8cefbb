import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createLogger } from '../../src/core/logger.ts'
import { createService, listen } from '../../src/service/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'

/**
 * A service in its own process, which exports its traces. Its run asks for an approval, then calls a tool that never ends in the first
 * process that runs it. Arguments: token, folder, collector.
 */
const [, , token = '', folder = '', endpoint = ''] = process.argv
const begun = join(folder, 'begun')

const pay = defineTool({ name: 'pay', description: 'Pays.', approval: true, execute: () => 'paid' })
const ship = defineTool({
  name: 'ship',
  description: 'Ships.',
  effect: 'idempotent',
  timeoutMs: Number.POSITIVE_INFINITY,
  execute: () => {
    if (existsSync(begun)) return 'shipped'
    writeFileSync(begun, '')
    process.send?.({ begun: true })
    return new Promise(() => {})
  },
})
const turns = [{ toolCalls: [{ name: 'pay' }] }, { toolCalls: [{ name: 'ship' }] }, 'Done.']

const service = createService({
  model: scriptedModel(({ messages }) => turns[messages.filter(({ role }) => role === 'assistant').length] ?? 'Too far.'),
  tools: [pay, ship],
  token,
  cwd: folder,
  config: { service: { keepRuns: { folder: 'kept' } }, telemetry: { endpoint, metrics: false } },
  logger: createLogger({ level: 'error' }),
})
const { url } = await listen(service, { port: 0 })
process.send?.({ url })
