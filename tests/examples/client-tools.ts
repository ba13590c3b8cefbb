import { AgentRunner, ask, defineTool } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

// A tool without `execute` runs on your side, in a browser for example.
const pickFile = defineTool({ name: 'pick_file', description: 'Lets the user choose a file.' })
// A tool that asks a question before it continues.
const book = defineTool({
  name: 'book_table',
  description: 'Books a table.',
  execute: (_args, { answer }) => (answer === undefined ? ask({ about: 'For how many?' }) : `booked for ${answer}`),
})
const model = scriptedModel([{ toolCalls: [{ name: 'pick_file' }, { name: 'book_table' }] }, 'All done.'])
const runner = new AgentRunner({ model, tools: [pickFile, book] })

const paused = await runner.run('Attach a file and book a table.')
for (const { kind, tool, about } of paused.pending) console.log(kind, tool, about ?? '')

const decisions = paused.pending.map((item) => (item.kind === 'question' ? { ...item, answer: 4 } : { ...item, result: 'menu.pdf' }))
const { output, toolCalls } = await runner.resume(paused.state, { decisions })
console.log(toolCalls.map(({ content }) => content).join(', '), '–', output)
