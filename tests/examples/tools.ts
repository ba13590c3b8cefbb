import { z } from 'zod'
import { AgentRunner, defineTool } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

let attempts = 0
const transfer = defineTool({
  name: 'transfer',
  description: 'Transfers money between accounts.',
  parameters: z.object({ to: z.string().length(4), euros: z.number().positive(), pin: z.string() }),
  effect: 'idempotent',
  secrets: ['pin'],
  retries: 1,
  timeoutMs: 5_000,
  execute: async ({ to, euros }, { idempotencyKey, attempt, signal, progress }) => {
    attempts = attempt
    if (attempt === 1) throw new Error('The bank is busy')
    signal.throwIfAborted()
    progress({ percent: 50 })
    return { to, euros, receipt: idempotencyKey.length > 0 }
  },
  // Your program gets the value, the model gets a sentence.
  toContent: ({ to, euros }) => `${euros} euros are on their way to ${to}.`,
})

// The model's first call does not fit the schema. The model is told why and corrects itself.
const model = scriptedModel([
  { toolCalls: [{ name: 'transfer', args: { to: 'NO99', euros: 'fifty', pin: '1234' } }] },
  { toolCalls: [{ name: 'transfer', args: { to: 'NO99', euros: 50, pin: '1234' } }] },
  'Done.',
])
const { toolCalls } = await new AgentRunner({ model, tools: [transfer] }).run('Send 50 euros to NO99.')
for (const { outcome, content } of toolCalls) console.log(outcome, '–', content)
console.log(attempts, toolCalls[1]?.value)
