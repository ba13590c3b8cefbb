import { CustomAgent, defineTool, type ModelTurn, type RunStep, type ToolEnding, type ToolTurn } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

interface Visitor {
  name: string
  mayWrite: boolean
}

const read = defineTool({ name: 'read_note', description: 'Reads the note.', execute: () => 'The key is under the mat.' })
const write = defineTool({
  name: 'write_note',
  description: 'Writes the note.',
  parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  execute: ({ text }) => `wrote: ${text}`,
})

class NoteKeeper extends CustomAgent<Visitor> {
  override instructions({ context }: { context: Visitor }) {
    return `You keep a note for ${context.name}.`
  }

  override tools({ context }: { context: Visitor }) {
    return context.mayWrite ? [read, write] : [read]
  }

  protected override prepareTurn({ iteration }: ModelTurn<Visitor>) {
    return iteration === 1 ? { toolChoice: 'required' as const } : undefined
  }

  protected override onToolCall({ tool, args }: ToolTurn<Visitor>) {
    return tool === 'write_note' && String(args.text).length > 200 ? { refuse: 'a note has 200 characters at most' } : undefined
  }

  protected override onToolResult({ content }: ToolEnding<Visitor>) {
    return { content: String(content).replace('under the mat', '(hidden)') }
  }

  protected override onText(delta: string) {
    process.stdout.write(delta)
  }

  protected override shouldStop({ steps }: { steps: readonly RunStep[] }) {
    return steps.flatMap(({ toolCalls }) => toolCalls).length >= 10
  }
}

const model = scriptedModel([{ toolCalls: [{ name: 'read_note' }, { name: 'write_note', args: { text: 'Hi' } }] }, 'I can only read it.\n'])
const keeper = new NoteKeeper({ model })
const { toolCalls } = await keeper.run('Read the note, then write “Hi”.', { context: { name: 'Ann', mayWrite: false } })
for (const { content } of toolCalls) console.log(content)
