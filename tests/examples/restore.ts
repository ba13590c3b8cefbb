import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AgentRunner, defineTool, type ToolContext } from '../../src/index.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

interface Shop {
  name: string
  refund(order: string, key: string): Promise<string>
}

/** Stands for your own objects: a database, an account at a bank, the rights of a user. */
async function openShop(name: string): Promise<Shop> {
  return { name, refund: async (order, key) => `${name} refunds order ${order} (${key})` }
}

const refund = defineTool({
  name: 'refund',
  description: 'Pays money back.',
  parameters: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
  effect: 'idempotent',
  execute: ({ order }, { context, idempotencyKey }: ToolContext<Shop>) => context.refund(order, idempotencyKey),
})
const model = scriptedModel(({ messages }) => {
  const last = messages.at(-1)
  return last?.role === 'tool' ? `Done: ${last.content}` : { toolCalls: [{ name: 'refund', args: { order: '17' } }] }
})
const file = join(process.env.DATA_FOLDER ?? mkdtempSync(join(tmpdir(), 'refunds-')), 'runs.sqlite')

const journal = sqliteJournal({ file })
const runner = new AgentRunner({
  model,
  tools: [refund],
  journal,
  // Called if a run continues without its caller. The metadata is stored with the run; the context is not.
  restore: async ({ metadata }) => ({ context: await openShop(String(metadata?.shop)) }),
})
await runner.recover()

process.once('SIGTERM', async () => {
  await runner.close({ drainMs: 20_000 })
  await journal.close()
})

const shop = 'corner'
const { output } = await runner.run('My money for order 17!', { runId: 'refund-17', metadata: { shop }, context: await openShop(shop) })
console.log(output)
