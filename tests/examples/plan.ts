import { AgentRunner, type AroundEntry, defineTool, type PlanEntry } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const refund = defineTool({
  name: 'refund',
  description: 'Pays money back.',
  parameters: { type: 'object', properties: { euros: { type: 'number' } }, required: ['euros'] },
  execute: ({ euros }) => `${euros} euros are paid back`,
})

/** Large refunds need a person. */
const largeRefunds: PlanEntry = {
  name: 'large refunds',
  call({ tool, args }) {
    if (tool !== 'refund' || Number(args.euros) <= 100) return undefined
    return Number(args.euros) > 1000 ? { refuse: 'at most 1000 euros' } : { ask: `More than 100 euros: ${args.euros}` }
  },
}

const timing: AroundEntry = {
  name: 'timing',
  async call({ tool }, next) {
    const value = await next()
    console.log(tool, 'has run')
    return value
  },
}

const model = scriptedModel([{ toolCalls: [50, 500, 5000].map((euros) => ({ name: 'refund', args: { euros } })) }, 'Two refunds are paid.'])
const runner = new AgentRunner({ model, tools: [refund], plan: [largeRefunds], around: [timing] })
const paused = await runner.run('Pay the refunds.')
for (const { tool, args, about } of paused.pending) console.log(tool, args, about)

const decisions = paused.pending.map((item) => ({ ...item, approved: true as const }))
const { toolCalls } = await runner.resume(paused.state, { decisions })
for (const { content } of toolCalls) console.log(content)
