import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { AgentRunner, type AnyTool, defineTool, type Journal } from '../../src/index.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

/**
 * What a journal in an SQLite file costs: time and bytes a turn, how free the event loop stays, how much memory waiting runs use, and how
 * fast another process decides them. `node tests/bench/journal.ts [waiting runs, default 10000]`
 */
const [, , first = '10000', file] = process.argv
const turns = 100
const runsAtOnce = 50

const logger = { debug() {}, info() {}, warn() {}, error() {} }
const look = defineTool({ name: 'look', description: 'Looks.', effect: 'read', execute: () => 'It is sunny in Oslo.' })
const refund = defineTool({ name: 'refund', description: 'Pays back.', approval: true, execute: () => 'paid' })
const limits = { repeatedCalls: Number.POSITIVE_INFINITY }

const runnerOf = (journal?: Journal, tool: AnyTool = look, most = turns) => {
  const model = scriptedModel(
    ({ messages }) => (messages.filter(({ role }) => role === 'assistant').length >= most ? 'done' : { toolCalls: [{ name: tool.name }] }),
    { record: false },
  )
  return new AgentRunner({ model, tools: [tool], limits, logger, maxIterations: most + 1, ...(journal === undefined ? {} : { journal }) })
}

/** Milliseconds of a turn, wall and CPU, of so many runs at once. */
async function perTurn(runner: AgentRunner, runs: number): Promise<{ wall: number; cpu: number; p99: number }> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  const cpu = process.cpuUsage()
  const start = performance.now()
  delay.enable()
  await Promise.all(Array.from({ length: runs }, () => runner.run('What is the weather in Oslo?')))
  delay.disable()
  const { user, system } = process.cpuUsage(cpu)
  const count = runs * (turns + 1)
  return { wall: (performance.now() - start) / count, cpu: (user + system) / 1_000 / count, p99: delay.percentile(99) / 1e6 }
}

const shown = ({ wall, cpu, p99 }: Awaited<ReturnType<typeof perTurn>>): string =>
  `${wall.toFixed(3)} ms a turn (CPU ${cpu.toFixed(3)} ms), event loop delayed by ${p99.toFixed(1)} ms (p99)`

if (file !== undefined) {
  // The other process: decides all that waits.
  const runner = runnerOf(sqliteJournal({ file }), refund, 1)
  const waiting: string[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await runner.runs.list({ status: 'waiting', limit: 1000, ...(cursor === undefined ? {} : { cursor }) })
    waiting.push(...page.runs.map(({ runId }) => runId))
    cursor = page.next
    if (cursor === undefined) break
  }
  const start = performance.now()
  const next = waiting.values()
  const work = async (): Promise<void> => {
    for (const runId of next) {
      const pending = (await runner.runs.get(runId))?.pending ?? []
      await runner.resume(runId, { decisions: pending.map((item) => ({ ...item, approved: true as const })) })
    }
  }
  await Promise.all(Array.from({ length: runsAtOnce }, work))
  process.send?.(waiting.length / ((performance.now() - start) / 1_000))
} else {
  const folder = mkdtempSync(join(tmpdir(), 'toolloop-bench-'))
  try {
    await perTurn(runnerOf(), 10)
    console.log(`in memory, ${runsAtOnce} runs at once: ${shown(await perTurn(runnerOf(), runsAtOnce))}`)
    for (const synchronous of ['full', 'normal'] as const) {
      const journal = sqliteJournal({ file: join(folder, `${synchronous}.sqlite`), synchronous })
      const runner = runnerOf(journal)
      console.log(`SQLite, ${synchronous}, one run: ${shown(await perTurn(runner, 1))}`)
      console.log(`SQLite, ${synchronous}, ${runsAtOnce} runs at once: ${shown(await perTurn(runner, runsAtOnce))}`)
      await journal.close()
    }
    for (const most of [10, 50, 100]) {
      const path = join(folder, `bytes-${most}.sqlite`)
      const journal = sqliteJournal({ file: path })
      const runner = runnerOf(journal, look, most)
      for (let run = 0; run < 5; run++) await runner.run('What is the weather in Oslo?')
      await journal.close()
      console.log(`${most} turns a run: ${Math.round(statSync(path).size / 5 / most)} bytes a turn, with the result`)
    }
    const path = join(folder, 'waiting.sqlite')
    const journal = sqliteJournal({ file: path })
    const runner = runnerOf(journal, refund, 1)
    await runner.run('Give me my money back.')
    globalThis.gc?.()
    const before = process.memoryUsage().rss
    const count = Number(first)
    let left = count - 1
    const work = async (): Promise<void> => {
      while (left-- > 0) await runner.run('Give me my money back.')
    }
    await Promise.all(Array.from({ length: runsAtOnce }, work))
    globalThis.gc?.()
    const grown = (process.memoryUsage().rss - before) / 2 ** 20
    console.log(
      `${count} runs that wait: ${grown.toFixed(0)} MB more in memory, ${(statSync(path).size / 2 ** 20).toFixed(0)} MB on the disk`,
    )
    const child = fork(fileURLToPath(import.meta.url), [first, path])
    const [rate] = await once(child, 'message')
    console.log(`another process decides and finishes ${Number(rate).toFixed(0)} of them a second`)
    await once(child, 'exit')
    await journal.close()
  } finally {
    rmSync(folder, { recursive: true })
  }
}
