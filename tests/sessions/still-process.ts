import { createInterface } from 'node:readline'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { dbosJournal } from '../../src/journals/dbos/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { openSessions } from './open-sessions.ts'

/**
 * Executes a run in session `chat`, and waits for a line at each place where it may be made to stand still, which it says before. Says how the run
 * ended. `node still-process.ts <url> <agent> <where sessions are, or ''>`
 */
const [url = '', agent = '', where = ''] = process.argv.slice(2)
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
async function standAt(place: string): Promise<void> {
  console.log(place)
  await lines.next()
}

const logger = { debug() {}, info() {}, warn() {}, error() {} }
const journal = dbosJournal({ url, agent, logger, takeOverEveryMs: Number.POSITIVE_INFINITY })
const opened = where === '' ? undefined : await openSessions(where)
if (opened !== undefined) {
  const { store } = opened.sessions
  const claim = store.claim.bind(store)
  store.claim = async (id, request) => {
    if (request.durable) await standAt('claims')
    return claim(id, request)
  }
}
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  execute: () => {
    console.log('pays')
    return 'paid'
  },
})
const model = scriptedModel([
  async () => {
    await standAt('answers')
    return { toolCalls: [{ name: 'pay' }] }
  },
  'early',
])
const runner = new AgentRunner({ model, tools: [pay], logger, journal, ...(opened && { sessions: opened.sessions }) })
await runner.runs.list({ limit: 1 })
await standAt('ready')
const session = opened === undefined ? {} : { session: 'chat' }
console.log(
  await runner.run('go', { runId: 'run', ...session }).then(
    ({ stopReason }) => stopReason,
    ({ code, message }) => code ?? message,
  ),
)
process.exit(0)
