import { appendFileSync, existsSync } from 'node:fs'
import { watch } from 'node:fs/promises'
import { flushCompileCache } from 'node:module'
import { join } from 'node:path'
import { createLogger } from '../../src/core/logger.ts'
import { createService, listen } from '../../src/service/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool, type ToolEffect } from '../../src/tools/tool.ts'

/**
 * A service in a process of its own, to be killed: its runs are where the configuration says. What its tools do is written to a file that outlives it.
 * Its model calls what the first message says, each in a turn of its own (`pay put wait`), and then answers `done`, with what was said to it
 * meanwhile. `node journal-service.ts <token> <folder> <configuration>`
 */
const [, , token = '', folder = '.', configFile = ''] = process.argv
const note = (line: string): void => appendFileSync(join(folder, 'world.txt'), `${line}\n`)

const tool = (name: string, effect: ToolEffect, approval = false, work: () => Promise<void> = () => new Promise(setImmediate)) =>
  defineTool({
    name,
    description: name,
    effect,
    approval,
    secrets: ['pin'],
    parameters: { type: 'object', properties: { pin: { type: 'string' } } },
    execute: async (_args, { idempotencyKey, iteration }) => {
      // A later call carries the key of one that may have taken effect.
      const call = `${name} ${idempotencyKey} in turn ${iteration}`
      note(`start ${call}`)
      await work()
      note(`end ${call}`)
      return { did: name }
    },
  })

/** Until the file `go` is there. */
const wait = async () => {
  const go = join(folder, 'go')
  if (existsSync(go)) return
  for await (const _ of watch(folder)) if (existsSync(go)) return
}

const model = scriptedModel(({ messages }) => {
  const words = messages.filter(({ role }) => role === 'user').map(({ content }) => String(content))
  const calls = words[0]?.split(' ') ?? []
  const name = calls[messages.filter(({ role }) => role === 'assistant').length]
  if (name !== undefined) return { toolCalls: [{ name, args: { pin: 'hunter-2222' } }] }
  return ['done', ...words.slice(1), 'hunter-2222'].join(' ')
})

const service = createService({
  model,
  token,
  tools: [
    tool('pay', 'unsafe'),
    tool('put', 'idempotent'),
    tool('approve', 'unsafe', true),
    tool('wait', 'idempotent', false, wait),
    tool('pay_slowly', 'unsafe', false, wait),
  ],
  agent: { maxIterations: 100, limits: { repeatedCalls: Number.POSITIVE_INFINITY } },
  cwd: folder,
  configFile,
  env: { ANN: 'test-token-of-ann', DATABASE_URL: process.env.DATABASE_URL },
  logger: createLogger({ level: 'warn', destination: { write: (line) => appendFileSync(join(folder, 'log.txt'), line) } }),
})
const listening = await listen(service, { port: 0 })
// It ends by being killed.
flushCompileCache()
process.send?.({ url: listening.url, rssMB: process.memoryUsage.rss() / 1e6 })
process.on('message', () => process.send?.({ rssMB: process.memoryUsage.rss() / 1e6 }))
