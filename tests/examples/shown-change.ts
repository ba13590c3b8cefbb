import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AgentRunner, defineTool } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const path = join(await mkdtemp(join(tmpdir(), 'notes-')), 'notes.txt')
await writeFile(path, 'milk\nbread\n')
const writeNotes = defineTool({
  name: 'write_notes',
  description: 'Replaces the notes.',
  parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  approval: async ({ text }) => ({ about: { before: await readFile(path, 'utf8'), after: text } }),
  execute: ({ text }) => writeFile(path, text),
})
const call = { name: 'write_notes', args: { text: 'milk\neggs\n' } }
const model = scriptedModel([{ text: 'I replace the bread.', toolCalls: [call] }, 'Done.'])
const { pending } = await new AgentRunner({ model, tools: [writeNotes] }).run('Eggs instead of bread, please.')
console.log(pending[0]?.said, pending[0]?.about)
