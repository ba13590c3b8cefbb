import { AgentRunner, defineTool, textOf } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const readLog = defineTool({
  name: 'read_log',
  description: 'Reads the log of today.',
  effect: 'read',
  execute: () => Array.from({ length: 50_000 }, (_, n) => `${n} ${n === 31_233 ? 'ERROR: the disk is full' : 'all is well'}`).join('\n'),
})

// A real model decides by itself what it reads.
const model = scriptedModel([
  { toolCalls: [{ id: 'log', name: 'read_log' }] },
  { toolCalls: [{ name: 'read_result', args: { id: 'log', search: 'error' } }] },
  { toolCalls: [{ name: 'read_result', args: { id: 'log', line: 31_233, lines: 3 } }] },
  'The disk is full.',
])
const runner = new AgentRunner({ model, tools: [readLog], largeResults: { shownBytes: 60 }, maxIterations: 20 })
const { toolCalls, output } = await runner.run('What went wrong today?')
for (const { content } of toolCalls) console.log(textOf(content), '\n')
console.log(output)
