/**
 * Executes runs that wait for an approval, with their journal in the file `argv[2]`. `argv[3]` is `ask`: starts them, and ends while they wait.
 * `decide`: approves them, and reports the files of src in which a function was called for the last one before the body of its tool: from
 * `resume` on, and from its wait on. By then, everything is loaded.
 */
import type { Journal } from '../src/agent/journal/journal.ts'
import { AgentRunner, defineTool } from '../src/index.ts'
import { sqliteJournal } from '../src/journals/sqlite/index.ts'
import { scriptedModel } from '../src/testing/index.ts'
import { watchCalledFiles } from './called-files.ts'

const [, , file = '', command] = process.argv
const takeCalled = watchCalledFiles()
let beforeWait: string[] = []
let afterWait: string[] = []

const recorded = sqliteJournal({ file })
const journal: Journal = {
  connect: (body) =>
    recorded.connect((durable, input) => {
      const wait: typeof durable.wait = (...args) => {
        beforeWait = takeCalled()
        return durable.wait(...args)
      }
      const watched = new Proxy(durable, {
        get: (port, name) => {
          const own: unknown = name === 'wait' ? wait : Reflect.get(port, name)
          return typeof own === 'function' ? own.bind(port) : own
        },
      })
      return body(watched, input)
    }),
}
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  approval: true,
  parameters: { type: 'object', properties: { euros: { type: 'number' } }, required: ['euros'] },
  execute: () => {
    afterWait = takeCalled()
    return 'paid'
  },
})
const model = scriptedModel(({ messages }) =>
  messages.at(-1)?.role === 'tool' ? 'Paid.' : { toolCalls: [{ name: 'pay', args: { euros: 2 } }] },
)
const runner = new AgentRunner({ model, tools: [pay], journal })
for (const runId of ['first', 'second']) {
  if (command === 'ask') {
    const { stopReason } = await runner.run('Pay.', { runId })
    if (stopReason !== 'paused') throw new Error(`Expected the run to wait, got ${stopReason}`)
    continue
  }
  const pending = (await runner.runs.get(runId))?.pending ?? []
  takeCalled()
  const { output } = await runner.resume(runId, { decisions: pending.map((item) => ({ ...item, approved: true })) })
  if (output !== 'Paid.') throw new Error(`Expected the call to be made, got ${JSON.stringify(output)}`)
}
process.send?.({ resumed: [...new Set([...beforeWait, ...afterWait])], waited: afterWait })
await recorded.close()
process.disconnect()
