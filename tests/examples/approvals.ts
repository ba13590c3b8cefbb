import { AgentRunner, defineTool } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const refund = defineTool({
  name: 'refund',
  description: 'Pays money back.',
  parameters: { type: 'object', properties: { euros: { type: 'number' } }, required: ['euros'] },
  // Only large amounts need an approval.
  approval: ({ euros }) => euros > 100,
  execute: ({ euros }) => `${euros} euros were paid back`,
})
const model = scriptedModel([{ toolCalls: [{ name: 'refund', args: { euros: 250 } }] }, 'It is on its way.'])
const runner = new AgentRunner({ model, tools: [refund] })

const paused = await runner.run('Give me my money back.')
console.log(paused.stopReason, paused.pending[0]?.args)

// The state is plain JSON: store it for days, then continue in another process.
const state = JSON.parse(JSON.stringify(paused.state))
const decisions = paused.pending.map((item) => ({ ...item, approved: true as const, args: { euros: 200 } }))
const { output, toolCalls } = await runner.resume(state, { decisions })
console.log(output, toolCalls[0]?.content)
