import { DatabaseSync } from 'node:sqlite'
import { AgentRunner, defineTool } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const text = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] } as const
const database = new DatabaseSync(':memory:')
database.exec('CREATE TABLE notes (key TEXT PRIMARY KEY, text TEXT)')

// An upsert: a second attempt has the same key, and changes nothing.
const addNote = defineTool({
  name: 'add_note',
  description: 'Adds a note.',
  parameters: text,
  effect: 'idempotent',
  execute: (note, { idempotencyKey }) => {
    database.prepare('INSERT INTO notes VALUES (?, ?) ON CONFLICT DO NOTHING').run(idempotencyKey, note.text)
    return 'noted'
  },
})

// An API that takes no keys, but can tell what it has done.
const outbox = new Map<string, string>()
const sendLetter = defineTool({
  name: 'send_letter',
  description: 'Sends a letter.',
  parameters: text,
  effect: 'unsafe',
  execute: (letter, { idempotencyKey }) => {
    outbox.set(idempotencyKey, letter.text)
    return 'sent'
  },
  // Called if the call may have run, for example after a crash.
  reconcile: (_letter, { idempotencyKey }) => (outbox.has(idempotencyKey) ? { ran: true, value: 'sent' } : { ran: false }),
})

const args = { text: 'Hello' }
const model = scriptedModel([
  {
    toolCalls: [
      { name: 'add_note', args },
      { name: 'send_letter', args },
    ],
  },
  'Done.',
])
const { output } = await new AgentRunner({ model, tools: [addNote, sendLetter] }).run('Write it down and send it.', { runId: 'letter-4' })
console.log(output, [...outbox.keys()])
