import { appendFileSync } from 'node:fs'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { Event } from '../../src/core/events.ts'
import { dbosJournal } from '../../src/journals/dbos/index.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'

/**
 * A worker whose run kills it. It starts the run, or takes it up, and writes a line for each start of the tool, and how the run ended, to a
 * file that outlives it. `node poison-process.ts <sqlite | dbos> <file | url> <world> <tool | end>`, by what kills it: the tool, or a listener
 * of the run's end.
 */
const [kind, place = '', world = '', killer] = process.argv.slice(2)
const logger = { debug() {}, info() {}, warn() {}, error() {} }
const maxTakeOvers = 3
const journal =
  kind === 'sqlite' ? sqliteJournal({ file: place, maxTakeOvers }) : dbosJournal({ url: place, agent: 'poison', logger, maxTakeOvers })
const die = () => {
  appendFileSync(world, 'start\n')
  process.kill(process.pid, 'SIGKILL')
}
const poison = defineTool({
  name: 'poison',
  description: 'Kills its process.',
  effect: 'idempotent',
  execute: () => {
    die()
    return new Promise(() => {})
  },
})
const model = scriptedModel(killer === 'tool' ? [{ toolCalls: [{ name: 'poison' }] }] : ['done'])
const runner = new AgentRunner({ model, tools: [poison], journal, logger })
if (killer === 'end') runner.on(Event.RUN_END, die)

const isKnown = (await runner.runs.get('run')) !== undefined
const { stopReason, error } = isKnown ? await runner.resume('run') : await runner.run('go', { runId: 'run' })
appendFileSync(world, `${stopReason}: ${error?.message}\n`)
await journal.close()
