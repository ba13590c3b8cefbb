import pg from 'pg'
import { AgentRunner, type AnyTool, defineTool, type Journal } from '../../src/index.ts'
import { dbosJournal } from '../../src/journals/dbos/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { hasPostgres, startPostgres } from '../postgres.ts'

/**
 * What a journal on DBOS costs: time and bytes a turn, and what PostgreSQL has to do while nothing happens. Each commit waits for the disk.
 * `node tests/bench/dbos.ts`
 */
const logger = { debug() {}, info() {}, warn() {}, error() {} }
const look = defineTool({ name: 'look', description: 'Looks.', effect: 'read', execute: () => 'It is sunny in Oslo.' })
const refund = defineTool({ name: 'refund', description: 'Pays back.', approval: true, execute: () => 'paid' })
const limits = { repeatedCalls: Number.POSITIVE_INFINITY }

const runnerOf = (journal: Journal, tool: AnyTool, turns: number) => {
  const model = scriptedModel(
    ({ messages }) => (messages.filter(({ role }) => role === 'assistant').length >= turns ? 'done' : { toolCalls: [{ name: tool.name }] }),
    { record: false },
  )
  return new AgentRunner({ model, tools: [tool], limits, logger, journal, maxIterations: turns + 1 })
}

/** Milliseconds of a turn, wall and CPU of this process. */
async function perTurn(runner: AgentRunner, runs: number, turns: number): Promise<string> {
  const cpu = process.cpuUsage()
  const start = performance.now()
  await Promise.all(Array.from({ length: runs }, () => runner.run('What is the weather in Oslo?')))
  const { user, system } = process.cpuUsage(cpu)
  const count = runs * (turns + 1)
  return `${((performance.now() - start) / count).toFixed(2)} ms a turn (CPU ${((user + system) / 1_000 / count).toFixed(2)} ms)`
}

// It has been said that there is none.
if (!hasPostgres) process.exit()
await using postgres = await startPostgres({ fsync: true })
const client = new pg.Client({ connectionString: postgres.url })
await client.connect()
const ask = async (sql: string): Promise<number> => Number((await client.query(sql)).rows[0]?.n)
const bytes = () => {
  const tables =
    "SELECT sum(pg_total_relation_size(c.oid)) AS n FROM pg_class c JOIN pg_namespace s ON s.oid = relnamespace WHERE relkind = 'r'"
  return ask(`${tables} AND nspname IN ('dbos', 'toolloop')`)
}

const journal = dbosJournal({ url: postgres.url, logger })
await runnerOf(journal, look, 5).run('warm up')
console.log(`one run: ${await perTurn(runnerOf(journal, look, 40), 1, 40)}`)
console.log(`50 runs at once: ${await perTurn(runnerOf(journal, look, 20), 50, 20)}`)
console.log(`500 runs at once: ${await perTurn(runnerOf(journal, look, 2), 500, 2)}`)
for (const turns of [10, 100]) {
  const before = await bytes()
  await perTurn(runnerOf(journal, look, turns), 10, turns)
  console.log(`${turns} turns a run: ${Math.round(((await bytes()) - before) / 10 / turns)} bytes a turn, with the result and all indexes`)
}
const waiting = runnerOf(journal, refund, 1)
await Promise.all(Array.from({ length: 500 }, () => waiting.run('Give me my money back.')))
// PostgreSQL adds up what a connection has done only some seconds later.
await new Promise((resolve) => setTimeout(resolve, 15_000))
const commits = () => ask("SELECT xact_commit + xact_rollback AS n FROM pg_stat_database WHERE datname = 'postgres'")
const [before, start] = [await commits(), performance.now()]
await new Promise((resolve) => setTimeout(resolve, 20_000))
const rate = ((await commits()) - before) / ((performance.now() - start) / 1_000)
console.log(`an idle process, with 500 runs that wait: ${rate.toFixed(1)} transactions a second`)
await journal.close()
await client.end()
