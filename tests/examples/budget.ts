import { AgentRunner, Budget } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

// Stands for a model with a published price.
const model = scriptedModel(() => ({ text: 'Done.', usage: { inputTokens: 400_000, outputTokens: 10_000 } }), {
  capabilities: { nativeTools: true, price: { input: 2, output: 8 } },
})
const runner = new AgentRunner({ model, onBudget: 'pause' })

// One budget for all runs of a user today.
const budget = new Budget({ costUsd: 1 })
const first = await runner.run('Summarize the report.', { budget })
console.log(first.stopReason, budget.spent.costUsd, budget.left.costUsd)

const second = await runner.run('Translate it.', { budget })
const third = await runner.run('Check it.', { budget })
console.log(second.stopReason, third.stopReason, third.pending[0]?.kind)

// Somebody allows more, and the waiting run continues.
budget.raise({ costUsd: 2 })
const decisions = third.pending.map((item) => ({ ...item, approved: true as const }))
const done = await runner.resume(third.state, { budget, decisions })
console.log(done.stopReason, done.output)
