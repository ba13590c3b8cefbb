import { join } from 'node:path'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'

/** Requests of the parent: start a run, approve what waits in it, or let the blocked tool return. */
export type Asked = { run: string; input: string } | { approve: string } | { open: true }

const anything = { type: 'object', additionalProperties: true } as const
const quiet = { debug() {}, info() {}, warn() {}, error() {} }

/** A runner on the journal of a folder. `hold` calls `held`, and returns when `opened` resolves. */
export function openRunner(folder: string, held: () => void, opened: Promise<unknown>): AgentRunner {
  const look = defineTool({
    name: 'look',
    description: 'Looks.',
    parameters: anything,
    effect: 'read',
    execute: ({ city }) => ({ city: String(city), sky: 'blue' }),
  })
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters: anything,
    approval: true,
    effect: 'idempotent',
    secrets: ['card'],
    execute: () => 'paid',
  })
  const hold = defineTool({
    name: 'hold',
    description: 'Holds.',
    parameters: anything,
    effect: 'idempotent',
    execute: async () => {
      held()
      await opened
      return 'held'
    },
  })
  const model = scriptedModel(({ messages }) => {
    const said = messages.findLast(({ role }) => role === 'user')?.content
    const turns = messages.filter(({ role }) => role === 'assistant').length
    if (turns === 0) return { text: 'I look first. ', toolCalls: [{ name: 'look', args: { city: 'Oslo' } }] }
    if (turns === 1) return { text: 'Now the rest. ', toolCalls: [{ name: String(said), args: { card: '4111 1111' } }] }
    return { text: 'All done.' }
  })
  const journal = sqliteJournal({ file: join(folder, 'runs.sqlite'), takeOverEveryMs: Number.POSITIVE_INFINITY })
  return new AgentRunner({ model, tools: [look, pay, hold], journal, logger: quiet })
}

if (process.send !== undefined && process.argv[1] === import.meta.filename) {
  const opened = Promise.withResolvers<void>()
  const runner = openRunner(process.argv[2] ?? '.', () => process.send?.('held'), opened.promise)
  process.on('message', async (asked: Asked) => {
    if ('open' in asked) return opened.resolve()
    if ('run' in asked) process.send?.((await runner.run(asked.input, { runId: asked.run })).stopReason)
    else {
      const pending = (await runner.runs.get(asked.approve))?.pending ?? []
      const decisions = pending.map((item) => ({ ...item, approved: true as const }))
      process.send?.((await runner.resume(asked.approve, { decisions })).stopReason)
    }
  })
}
