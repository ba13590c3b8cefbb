import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { openSessions } from './open-sessions.ts'

/**
 * A worker to be killed: extends each session to the given length, four messages per run. Several workers use the same sessions at once.
 * `node session-process.ts <where> <sessions> <runs>`
 */
const [where = '', sessionCount = '1', runCount = '1'] = process.argv.slice(2)
const { sessions, end } = await openSessions(where)
const look = defineTool({
  name: 'look',
  description: 'look',
  effect: 'idempotent',
  execute: async () => {
    await new Promise(setImmediate)
    return 'seen'
  },
})
const model = scriptedModel(({ messages }) => (messages.at(-1)?.role === 'tool' ? 'done' : { toolCalls: [{ name: 'look' }] }))
const logger = { debug() {}, info() {}, warn() {}, error() {} }
const runner = new AgentRunner({ model, tools: [look], sessions, logger })

console.log('begun')
const work = async (session: string): Promise<void> => {
  for (;;) {
    const next = ((await sessions.get(session))?.messageCount ?? 0) / 4
    if (next >= Number(runCount)) return
    try {
      await runner.run(`run ${next}`, { session, runId: `${session}-${next}` })
    } catch (error) {
      // Another worker was faster.
      if (!(error instanceof Error && 'code' in error && error.code === 'invalid_option')) throw error
    }
  }
}
await Promise.all(Array.from({ length: Number(sessionCount) }, (_, at) => work(`session-${at}`)))
await end()
