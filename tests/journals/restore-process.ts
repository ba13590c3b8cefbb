import { appendFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import { AgentRunner, defineTool, type ToolContext } from '../../src/index.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { sqliteSessions } from '../../src/sessions/sqlite/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'

/**
 * A shop that refunds once for each key, in a database that its context opens. `node restore-process.ts <folder> <command> <restore>`: `start`
 * starts a run, which hangs after it has paid, until the process is killed; on SIGTERM the runner is closed. The other commands continue
 * it. The model asks for another refund if it is told that the first one failed.
 */
const [folder = '.', command = 'recover', restores = 'no'] = process.argv.slice(2)
const note = (line: string): void => appendFileSync(`${folder}/world.txt`, `${line}\n`)

interface Shop {
  name: string
  bank: DatabaseSync
  allow: string[]
}

function openShop(name: unknown): Shop {
  const bank = new DatabaseSync(`${folder}/bank.sqlite`)
  bank.exec('CREATE TABLE IF NOT EXISTS refunds (key TEXT PRIMARY KEY, shop TEXT)')
  return { name: String(name), bank, allow: ['refund'] }
}

const refund = defineTool({
  name: 'refund',
  description: 'Pays money back.',
  effect: 'idempotent',
  execute: async (_args, { context, idempotencyKey, signal }: ToolContext<Shop>) => {
    note(`refund ${idempotencyKey} ${context?.name}`)
    context.bank.prepare('INSERT INTO refunds VALUES (?, ?) ON CONFLICT DO NOTHING').run(idempotencyKey, context.name)
    note('paid')
    if (command === 'start') await setTimeout(60_000, undefined, { signal })
    return 'refunded'
  },
})
const erase = defineTool({ name: 'erase', description: 'Erases the customer.', execute: () => note('erased') })

const model = scriptedModel(({ messages }) => {
  const last = messages.at(-1)
  const results = messages.filter(({ role }) => role === 'tool')
  if (last?.role === 'tool' && last.name === 'refund' && last.isError) return { toolCalls: [{ name: 'refund' }] }
  if (results.length === 1) return { toolCalls: [{ name: 'erase' }] }
  return results.length === 0 ? { toolCalls: [{ name: 'refund' }] } : 'Your money is on its way.'
})

const journal = sqliteJournal({ file: `${folder}/runs.sqlite` })
const sessions = sqliteSessions({ file: `${folder}/sessions.sqlite` })
const runner = new AgentRunner<Shop>({
  model,
  tools: [refund, erase],
  journal,
  sessions,
  logger: { debug() {}, info() {}, warn() {}, error: (_fields, message) => note(`error ${message}`) },
  hooks: [{ beforeTool: ({ tool, context }) => (context.allow.includes(tool) ? undefined : { refuse: 'not allowed here' }) }],
  restore: ({ metadata }) => {
    if (restores !== 'yes') throw new Error('the shop is closed')
    return { context: openShop(metadata?.shop) }
  },
})

if (command === 'start') {
  process.once('SIGTERM', async () => {
    await runner.close({ drainMs: 50 })
    await journal.close()
    await sessions.close()
    note('closed')
  })
  const options = { runId: 'r', session: 's', metadata: { shop: 'Corner' }, context: openShop('Corner') }
  await runner.run('My money, please.', options).catch(({ code }) => note(code))
} else {
  let error: unknown
  try {
    if (command === 'recover') error = (await runner.recover())[0]?.error
    else if (command === 'resume') await runner.resume('r', { context: undefined as never })
    else await runner.run('And thanks.', { session: 's', context: openShop('of the next message') })
  } catch (thrown) {
    error = thrown
  }
  const { stopReason, problem, result } = (await runner.runs.get('r')) ?? {}
  const outcomes = result?.toolCalls.map(({ tool, outcome }) => `${tool} ${outcome}`)
  console.log(JSON.stringify({ error: error instanceof Error ? error.message : undefined, stopReason, problem, outcomes }))
  await journal.close()
  await sessions.close()
}
