import { AsyncLocalStorage } from 'node:async_hooks'
import { AgentRunner, defineTool, type Hooks } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

/** Stands for a database client: `begin` commits when its work resolves, and rolls back when it rejects. */
const database = {
  async begin(work: (transaction: { paid: number[] }) => Promise<unknown>) {
    const transaction = { paid: [] as number[] }
    const value = await work(transaction)
    console.log('commit', transaction.paid)
    return value
  },
}
const current = new AsyncLocalStorage<{ paid: number[] }>()

/** Runs each tool that writes in a transaction, which the tool finds in `current`. The call fails if the transaction is not committed. */
const transaction: Hooks = {
  name: 'transaction',
  onFailure: 'refuse',
  aroundTool: ({ effect }, next) => (effect === 'read' ? next() : database.begin((opened) => current.run(opened, next))),
}

/** The results of earlier reads. */
const cached = new Map<string, unknown>()
const cache: Hooks = {
  name: 'cache',
  async aroundTool({ tool, args, effect }, next) {
    if (effect !== 'read') return next()
    const key = JSON.stringify([tool, args])
    if (!cached.has(key)) cached.set(key, await next())
    return cached.get(key)
  },
}

/** Logs each model request after its retries. The response has been streamed when `next` resolves. */
const timing: Hooks = {
  name: 'timing',
  async aroundModel({ model, iteration }, next) {
    const { finishReason } = await next()
    console.log('request', iteration, model.model, finishReason)
    return undefined
  },
}

const balance = defineTool({
  name: 'balance',
  description: 'The balance of the account.',
  effect: 'read',
  execute: () => {
    console.log('reading')
    return 100
  },
})
const pay = defineTool({
  name: 'pay',
  description: 'Pays an amount.',
  parameters: { type: 'object', properties: { euros: { type: 'number' } }, required: ['euros'] },
  execute: ({ euros }) => `${current.getStore()?.paid.push(euros)} payment`,
})

const model = scriptedModel([
  { toolCalls: [{ name: 'balance' }] },
  { toolCalls: [{ name: 'balance' }, { name: 'pay', args: { euros: 30 } }] },
  '30 euros are paid.',
])
const runner = new AgentRunner({ model, tools: [balance, pay], hooks: [timing, transaction, cache] })
console.log((await runner.run('Pay 30 euros if there are 50.')).output)
