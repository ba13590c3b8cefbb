import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Pool } from 'pg'
import { AgentRunner, memorySessions, type Sessions } from '../../src/index.ts'
import { postgresSessions } from '../../src/sessions/postgres/index.ts'
import { sqliteSessions } from '../../src/sessions/sqlite/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { hasPostgres, startPostgres } from '../postgres.ts'

/**
 * What a session costs a run: to claim it, load its messages and append two, alone and with 50 sessions at once, and how that grows with the
 * conversation. `node tests/bench/sessions.ts`
 */
const atOnce = 50
const model = scriptedModel(() => 'It is sunny in Oslo.', { record: false })
const logger = { debug() {}, info() {}, warn() {}, error() {} }

/** Milliseconds a run, of so many sessions at once. */
async function perRun(sessions: Sessions | undefined, count: number, runs: number): Promise<{ ms: number; p99: number }> {
  const runner = new AgentRunner({ model, logger, ...(sessions === undefined ? {} : { sessions }) })
  const work = async (session: string): Promise<void> => {
    for (let run = 0; run < runs; run++) await runner.run('How is the weather?', sessions === undefined ? {} : { session })
  }
  const delay = monitorEventLoopDelay({ resolution: 1 })
  const start = performance.now()
  delay.enable()
  await Promise.all(Array.from({ length: count }, (_, at) => work(`${runs}/${count}/${at}`)))
  delay.disable()
  return { ms: (performance.now() - start) / (count * runs), p99: delay.percentile(99) / 1e6 }
}

async function measure(name: string, sessions: Sessions | undefined): Promise<void> {
  await perRun(sessions, 5, 5)
  const alone = await perRun(sessions, 1, 40)
  const together = await perRun(sessions, atOnce, 20)
  console.log(
    `${name}: ${alone.ms.toFixed(2)} ms a run alone, ${together.ms.toFixed(2)} ms with ${atOnce} at once (event loop delayed by ${together.p99.toFixed(1)} ms, p99)`,
  )
  if (sessions === undefined) return
  const message = { role: 'assistant' as const, content: 'word '.repeat(40) }
  for (const length of [100, 1_000, 10_000]) {
    await sessions.append(
      `long ${length}`,
      Array.from({ length }, () => message),
    )
    const runner = new AgentRunner({ model, logger, sessions })
    const start = performance.now()
    for (let run = 0; run < 5; run++) await runner.run('How is the weather?', { session: `long ${length}` })
    console.log(`  in a conversation of ${length} messages: ${((performance.now() - start) / 5).toFixed(2)} ms a run`)
  }
}

const folder = mkdtempSync(join(tmpdir(), 'toolloop-bench-'))
try {
  await measure('without a session', undefined)
  await measure('memory', memorySessions())
  for (const synchronous of ['full', 'normal'] as const) {
    const sessions = sqliteSessions({ file: join(folder, `${synchronous}.sqlite`), synchronous })
    await measure(`SQLite, ${synchronous}`, sessions)
    await sessions.close()
  }
  if (hasPostgres) {
    await using server = await startPostgres({ fsync: true })
    const pool = new Pool({ connectionString: server.url, max: 20 })
    // As the server ends, so do connections nobody uses.
    pool.on('error', () => {})
    const sessions = postgresSessions({ pool })
    await sessions.migrate()
    await measure('PostgreSQL', sessions)
    await sessions.close()
    await pool.end()
  }
} finally {
  rmSync(folder, { recursive: true })
}
