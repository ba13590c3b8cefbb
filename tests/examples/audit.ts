import { AgentRunner, defineTool, EventBus } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const rows: object[] = []
const audit = new EventBus()
audit.on('TOOL_CALL_END', ({ tool, args, outcome, value, bytes }, { metadata, time }) =>
  rows.push({ ...metadata, at: new Date(time), tool, args, outcome, value, bytes }),
)
audit.on('TOOL_CALL_REJECTED', ({ tool, args, outcome, errorCode }, { metadata }) =>
  rows.push({ ...metadata, tool, args, outcome, errorCode }),
)
audit.on('MODEL_END', ({ finishReason, usage, errorCode }, { metadata }) =>
  rows.push({ ...metadata, finishReason, tokens: usage?.totalTokens, errorCode }),
)

const transfer = defineTool({
  name: 'transfer',
  description: 'Transfers an amount.',
  parameters: { type: 'object', properties: { euros: { type: 'number' }, pin: { type: 'string' } }, required: ['euros', 'pin'] },
  secrets: ['pin'],
  execute: ({ euros }) => ({ transferred: euros }),
})
const model = scriptedModel([
  {
    toolCalls: [
      { name: 'transfer', args: { euros: 30, pin: '4711' } },
      { name: 'transfer', args: { euros: 'all', pin: '4711' } },
    ],
    usage: { inputTokens: 40, outputTokens: 10 },
  },
  { text: '30 euros are transferred.', usage: { inputTokens: 60, outputTokens: 10 } },
])
const runner = new AgentRunner({ model, tools: [transfer], bus: audit })
await runner.run('Transfer 30 euros, then all.', { metadata: { tenant: 't1', user: 17 } })
for (const row of rows) console.log(JSON.stringify(row))
