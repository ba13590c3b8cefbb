import { AgentRunner, defineTool, type ModelRequest, textOf } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const readLog = defineTool({
  name: 'read_log',
  description: 'Reads the log of today.',
  effect: 'read',
  execute: () => Array.from({ length: 50_000 }, (_, n) => `${n} ${n === 31_233 ? 'ERROR: the disk is full' : 'all is well'}`).join('\n'),
})

// A real model decides itself what to read. It finds the id at the end of the text that it got.
const reading = (part: object) => (request: ModelRequest) => {
  const shown = textOf(request.messages.find(({ role }) => role === 'tool')?.content ?? '')
  const [, id = ''] = /by its id "(\w+)"/.exec(shown) ?? []
  return { toolCalls: [{ name: 'read_result', args: { id, ...part } }] }
}
const model = scriptedModel([
  { toolCalls: [{ name: 'read_log' }] },
  reading({ search: 'error' }),
  reading({ line: 31_233, lines: 3 }),
  'The disk is full.',
])
const runner = new AgentRunner({ model, tools: [readLog], largeResults: { shownBytes: 60 }, maxIterations: 20 })
const { toolCalls, output } = await runner.run('What went wrong today?')
for (const { content } of toolCalls) console.log(textOf(content), '\n')
console.log(output)
