import { appendFileSync, mkdirSync } from 'node:fs'
import { DBOS } from '@dbos-inc/dbos-sdk'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { dbosJournal } from '../../src/journals/dbos/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool, type ToolEffect } from '../../src/tools/tool.ts'

/** What such a worker is told, as JSON, as its one argument. */
export interface WorkerOptions {
  url: string
  agent: string
  /** Where its tools write down each start and each end, a line each: it outlives the worker. */
  folder: string
  /** Runs are named `run-0` and so on; each is started by the first worker that comes to it. */
  runs: number
  turns: number
  /** How many it has started and not ended, at most. */
  concurrency: number
  /** How long a tool takes, at least and at most, in milliseconds. */
  toolMs: [number, number]
  takeOverEveryMs: number
  /** Launches DBOS itself, under this name. */
  executorID?: string
  /** Runs until all runs have ended, in any process. */
  untilAllEnd?: boolean
  /** Goes on until it is killed. */
  stay?: boolean
}

const options = JSON.parse(process.argv[2] ?? '{}') as WorkerOptions
const { url, agent, folder, runs, turns, concurrency, toolMs, takeOverEveryMs, executorID, untilAllEnd = false, stay = false } = options
const [leastMs, mostMs] = toolMs
const note = (line: string): void => appendFileSync(`${folder}/world.txt`, `${line}\n`)

const tool = (name: string, effect: ToolEffect) =>
  defineTool({
    name,
    description: name,
    effect,
    parameters: { type: 'object', properties: { turn: { type: 'integer' } } },
    timeoutMs: Number.POSITIVE_INFINITY,
    execute: async (_args, { idempotencyKey }) => {
      note(`start ${name} ${idempotencyKey} ${process.pid}`)
      await new Promise((resolve) => setTimeout(resolve, leastMs + Math.random() * (mostMs - leastMs)))
      note(`end ${name} ${idempotencyKey} ${process.pid}`)
      return { did: name }
    },
  })

const model = scriptedModel(({ messages }) => {
  const asked = messages.filter(({ role }) => role === 'assistant').length
  return asked >= turns ? 'done' : { toolCalls: ['pay', 'put'].map((name) => ({ name, args: { turn: asked } })) }
})
const logger = { debug() {}, info() {}, warn() {}, error() {} }
const journal = dbosJournal({ url, agent, takeOverEveryMs, outageMs: 60_000, logger, launch: executorID === undefined })
if (executorID !== undefined) {
  DBOS.setConfig({ name: 'app', systemDatabaseUrl: url, executorID, applicationVersion: '1', logger })
  await DBOS.launch()
}
const tools = [tool('pay', 'unsafe'), tool('put', 'idempotent')]
const limits = { repeatedCalls: Number.POSITIVE_INFINITY }
const runner = new AgentRunner({ model, tools, journal, logger, limits, maxIterations: turns + 1 })

/** False where another worker has come to it. */
function claim(at: number): boolean {
  try {
    mkdirSync(`${folder}/claim-${at}`)
    return true
  } catch {
    return false
  }
}

const recovering = runner.recover()
await runner.runs.list({ limit: 1 })
note(`ready ${process.pid}`)
const next = Array.from({ length: runs }, (_, at) => at).values()
const work = async (): Promise<void> => {
  for (const at of next)
    if (claim(at)) await runner.run('go', { runId: `run-${at}` }).catch((error) => note(`failed run-${at} ${error.code} ${error.message}`))
}
await Promise.all([recovering, ...Array.from({ length: concurrency }, work)])
if (untilAllEnd) {
  // A run whose worker was killed before it had recorded it is nobody's but ours.
  for (let at = 0; at < runs; at++) await runner.run('go', { runId: `run-${at}` })
}
if (stay) await new Promise(() => {})
note(`done ${process.pid}`)
await journal.close()
if (executorID !== undefined) await DBOS.shutdown()
