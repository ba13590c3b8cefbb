import { DatabaseSync } from 'node:sqlite'
import type { Durable, Journal } from '../../src/agent/durable/index.ts'
import { AgentRunner, defineTool, type Json } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const database = new DatabaseSync(':memory:')
database.exec('CREATE TABLE steps (run TEXT, key TEXT, value TEXT, PRIMARY KEY (run, key))')
const find = database.prepare('SELECT value FROM steps WHERE run = ? AND key = ?')
const insert = database.prepare('INSERT INTO steps VALUES (?, ?, ?)')

const died = Promise.withResolvers<void>()

/** Records steps in SQLite. A real journal also lists unfinished runs, delivers decisions, and lets only one process execute a run. */
function sqliteJournal({ dieAt }: { dieAt?: string } = {}): Journal {
  return {
    connect(body) {
      const results = new Map<string, Promise<Json>>()
      const execute = (runId: string, input: Json) => {
        const durable: Durable = {
          runId,
          attempt: crypto.randomUUID(),
          survivesCrashes: true,
          async step(key, work) {
            const row = find.get(runId, key)
            if (row !== undefined) return JSON.parse(String(row.value))
            if (key === dieAt) {
              died.resolve()
              return new Promise(() => {}) // The process has died: nothing settles any more.
            }
            const value = await work({ signal: new AbortController().signal })
            insert.run(runId, key, JSON.stringify(value))
            return value
          },
          all: (steps) => Promise.all(steps),
          wait: async () => undefined, // This journal can't wait: a call that needs a decision pauses the run.
        }
        return body(durable, input)
      }
      return {
        start: async (runId, input = null) => void results.set(runId, execute(runId, input)),
        result: (runId) => results.get(runId) ?? Promise.reject(new Error(`Expected a run that was started, got ${runId}`)),
        deliver: async () => {},
        cancel: async () => {},
        pending: async () => [],
      }
    },
  }
}

const charge = defineTool({ name: 'charge', description: 'Charges the card.', execute: () => console.log('charged') ?? 'charged' })
const model = scriptedModel(({ messages }) =>
  messages.at(-1)?.role === 'tool' ? 'Your card was charged.' : { toolCalls: [{ name: 'charge' }] },
)

// The process dies before the second model request, after the tool call was recorded.
const first = new AgentRunner({ model, tools: [charge], journal: sqliteJournal({ dieAt: '2.model' }) })
void first.run('Charge my card.', { runId: 'order-17' })
await died.promise

// Another process continues the run under the same id. Recorded steps do not run again.
const second = new AgentRunner({ model, tools: [charge], journal: sqliteJournal() })
const { output, toolCalls } = await second.run('Charge my card.', { runId: 'order-17' })
console.log(output, toolCalls.length)
