import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { dbosJournal } from '../../src/journals/dbos/index.ts'
import { type ScriptedTurn, scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { inFolder } from '../journals/temp-folder.ts'
import { hasPostgres, type Postgres, startPostgres } from '../postgres.ts'
import { openSessions } from './open-sessions.ts'

const program = fileURLToPath(new URL('still-process.ts', import.meta.url))
const logger = { debug() {}, info() {}, warn() {}, error() {} }

/** A process that says where it is, and waits there. */
class Still {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #lines: AsyncIterator<string>

  constructor(...args: string[]) {
    this.#child = spawn(process.execPath, [program, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
  }

  async said(): Promise<string> {
    const { value, done } = await this.#lines.next()
    return done === true ? 'nothing' : value
  }

  goOn(): void {
    this.#child.stdin.write('\n')
  }

  stop(): void {
    this.#child.kill('SIGSTOP')
  }

  wake(): void {
    this.#child.kill('SIGCONT')
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    this.#child.kill('SIGKILL')
    await once(this.#child, 'exit')
  }
}

describe.skipIf(!hasPostgres)('a process that hangs until another has its run, and then wakes up', () => {
  let postgres: Postgres
  let admin: pg.Client
  let agents = 0
  const opened: { end(): Promise<void> }[] = []

  beforeAll(async () => {
    postgres = await startPostgres()
    admin = new pg.Client({ connectionString: postgres.url })
    await admin.connect()
  }, 60_000)
  afterEach(async () => {
    for (const one of opened.splice(0).toReversed()) await one.end()
  })
  afterAll(async () => {
    await admin?.end()
    await postgres?.stop()
  })

  const still = (...args: string[]): Still => {
    const process = new Still(postgres.url, ...args)
    opened.push(process)
    return process
  }
  /** Like a server whose client has vanished. */
  const cutConnections = () =>
    admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")

  /** The process that takes the run over, and waits in its first turn. */
  const heir = async (agent: string, where: string) => {
    const journal = dbosJournal({ url: postgres.url, agent, logger, takeOverEveryMs: Number.POSITIVE_INFINITY })
    opened.push({ end: () => journal.close() })
    const kept = where === '' ? undefined : await openSessions(where)
    if (kept !== undefined) opened.push(kept)
    const begun = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<ScriptedTurn>()
    const paid: string[] = []
    const pay = defineTool({ name: 'pay', description: 'Pays.', execute: (_args, { idempotencyKey }) => paid.push(idempotencyKey) })
    const model = scriptedModel(({ messages }) => {
      const last = messages.at(-1)
      if (last?.role === 'tool') return 'late'
      if (messages.length > 1) return `heard ${messages.length}`
      begun.resolve()
      return answer.promise
    })
    const runner = new AgentRunner({ model, tools: [pay], logger, journal, ...(kept && { sessions: kept.sessions }) })
    return { runner, sessions: kept?.sessions, begun: begun.promise, pay: () => answer.resolve({ toolCalls: [{ name: 'pay' }] }), paid }
  }

  it.each([
    { kind: 'PostgreSQL', place: 'claims' },
    { kind: 'PostgreSQL', place: 'answers' },
    { kind: 'SQLite', place: 'claims' },
    { kind: 'SQLite', place: 'answers' },
  ])('P1.7 H59 changes neither the run nor its session in $kind, if it was where it $place', ({ kind, place }) =>
    inFolder(async (folder) => {
      const where = kind === 'SQLite' ? `${folder}/sessions.sqlite` : postgres.url
      const agent = `agent ${++agents}`
      if (kind === 'PostgreSQL') await admin.query('DROP SCHEMA IF EXISTS toolloop CASCADE')
      const process = still(agent, where)
      expect(await process.said()).toBe('ready')
      process.goOn()
      for (let at = await process.said(); at !== place; at = await process.said()) process.goOn()
      process.stop()
      await cutConnections()
      const { runner, sessions, begun, pay, paid } = await heir(agent, where)
      const recovered = runner.recover()
      await begun
      process.wake()
      process.goOn()
      expect(await process.said()).toBe('run_taken_over')
      pay()
      expect(await recovered).toEqual([{ runId: 'run', stopReason: 'answered' }])
      expect((await sessions?.read('chat'))?.map(({ content }) => content)).toEqual(['go', '', '1', 'late'])
      expect((await runner.run('next', { session: 'chat' })).output).toBe('heard 5')
      expect(paid).toEqual(['run/1.tool.0'])
    }),
  )

  it('P1.7 H59 makes no call, if it had taken the run but not started to execute it', async () => {
    const agent = `agent ${++agents}`
    const process = still(agent, '')
    expect(await process.said()).toBe('ready')
    const locker = new pg.Client({ connectionString: postgres.url })
    await locker.connect()
    locker.on('error', () => {})
    opened.push(locker)
    await locker.query('BEGIN; LOCK TABLE dbos.workflow_status')
    process.goOn()
    const begins = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%INSERT%workflow_status%' AND pid <> pg_backend_pid()`
    await expect.poll(async () => (await admin.query(begins)).rows.length).toBe(1)
    process.stop()
    await cutConnections()
    const { runner, pay, paid } = await heir(agent, '')
    pay()
    expect(await runner.recover()).toEqual([{ runId: 'run', stopReason: 'answered' }])
    process.wake()
    expect(await process.said()).toBe('run_taken_over')
    expect(paid).toEqual(['run/1.tool.0'])
  })
})
