import { DBOS } from '@dbos-inc/dbos-sdk'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { ToolloopError } from '../../src/core/errors.ts'
import { type DbosJournalOptions, dbosJournal } from '../../src/journals/dbos/index.ts'
import { type ScriptedTurn, scriptedModel } from '../../src/testing/index.ts'
import { type AnyTool, defineTool } from '../../src/tools/tool.ts'
import { failOnUnhandledRejections } from '../hazards/unhandled.ts'
import { turnEventLoop } from '../hazards/waiting.ts'
import { hasPostgres, type Postgres, startPostgres } from '../postgres.ts'

const codeOf = (error: unknown): unknown => (error instanceof ToolloopError ? error.code : error)
const logger = { debug() {}, info() {}, warn() {}, error() {} }
const work: readonly ScriptedTurn[] = [{ toolCalls: [{ id: 'a', name: 'work' }] }, { text: 'done' }]

/** A tool that says when it has begun, and waits until it is let. */
function gate() {
  const begun = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  const starts: string[] = []
  const tool = defineTool({
    name: 'work',
    description: 'Works.',
    effect: 'idempotent',
    timeoutMs: Number.POSITIVE_INFINITY,
    execute: async (_args, { idempotencyKey }) => {
      starts.push(idempotencyKey)
      begun.resolve()
      await opened.promise
      return 'worked'
    },
  })
  return { tool, starts, begun: begun.promise, open: opened.resolve }
}

describe.skipIf(!hasPostgres)('dbosJournal', () => {
  failOnUnhandledRejections()
  let postgres: Postgres
  let first: ReturnType<typeof dbosJournal> | undefined
  let agents = 0
  const opened: { close(): Promise<void> }[] = []
  const tools = new Map<string, AnyTool>()

  /** A process, as far as who is alive goes. */
  const openRunner = (agent: string, tool: AnyTool = gate().tool, options: Partial<DbosJournalOptions> = {}) => {
    const journal = dbosJournal({ url: postgres.url, agent, logger, takeOverEveryMs: Number.POSITIVE_INFINITY, ...options })
    opened.push(journal)
    const model = scriptedModel(({ messages }) => work[messages.filter(({ role }) => role === 'assistant').length] ?? 'unexpected')
    return { journal, runner: new AgentRunner({ model, tools: [tool], logger, journal }) }
  }
  const newAgent = (): string => `agent ${++agents}`
  const query = async (sql: string): Promise<Record<string, unknown>[]> => {
    const client = new pg.Client({ connectionString: postgres.url })
    await client.connect()
    try {
      return (await client.query(sql)).rows
    } finally {
      await client.end()
    }
  }

  /** Of a run's first execution. */
  const firstWorkflow = async (agent: string, runId: string): Promise<{ id: string; status: unknown }> => {
    const [row] = await query(
      `SELECT workflow_uuid AS id, status FROM dbos.workflow_status WHERE workflow_uuid LIKE '${agent}/${runId}/1/%'`,
    )
    return { id: String(row?.id), status: row?.status }
  }

  const application = DBOS.registerWorkflow(
    async (work: 'in a workflow' | 'in a step', agent: string) => {
      const run = async () => (await openRunner(agent, tools.get(agent)).runner.run('go', { runId: work })).output
      return work === 'in a step' ? DBOS.runStep(run, { name: 'run' }) : run()
    },
    { name: 'application' },
  )

  beforeAll(async () => {
    postgres = await startPostgres()
    // As long as one journal is open, DBOS is launched only once.
    first = openRunner('first').journal
    opened.length = 0
    await first.connect(async () => null).pending()
  }, 60_000)
  afterEach(async () => {
    for (const journal of opened.splice(0)) await journal.close()
  })
  afterAll(async () => {
    await first?.close()
    await postgres?.stop()
  })

  it('waits for a server that is killed during a call: the call is not repeated', async () => {
    const { tool, starts, begun, open } = gate()
    const { runner } = openRunner(newAgent(), tool)
    const run = runner.run('go', { runId: 'run' })
    await begun
    await postgres.kill()
    open()
    const asked = runner.runs.get('run')
    await postgres.restart()
    expect((await run).stopReason).toBe('answered')
    expect((await asked)?.runId).toBe('run')
    expect(starts).toHaveLength(1)
  })

  it('survives a lost connection: it gets its lock again before another process takes its runs', async () => {
    const agent = newAgent()
    const { tool, starts, begun, open } = gate()
    const run = openRunner(agent, tool).runner.run('go', { runId: 'run' })
    await begun
    const owners = async () => {
      const rows = await query("SELECT pid, application_name AS name FROM pg_stat_activity WHERE application_name LIKE 'toolloop owner %'")
      return rows.toSorted((a, b) => String(a.name).localeCompare(String(b.name), 'en', { numeric: true }))
    }
    const cut = (await owners()).at(-1)
    const other = openRunner(agent, tool).runner
    expect(await other.recover()).toEqual([])
    await query(`SELECT pg_terminate_backend(${cut?.pid})`)
    expect(await other.recover()).toEqual([])
    expect((await owners()).map(({ name }) => name)).toContain(cut?.name)
    expect((await owners()).map(({ pid }) => pid)).not.toContain(cut?.pid)
    open()
    expect((await run).stopReason).toBe('answered')
    expect(starts).toHaveLength(1)
  })

  it('waits for a slow server: nothing is taken over, nothing runs again', async () => {
    const agent = newAgent()
    const { tool, starts, begun, open } = gate()
    const run = openRunner(agent, tool).runner.run('go', { runId: 'run' })
    await begun
    const other = openRunner(agent, tool, { takeOverEveryMs: 100 }).runner
    await other.recover()
    const locked = query('BEGIN; LOCK TABLE toolloop.runs, dbos.operation_outputs; SELECT pg_sleep(5); COMMIT')
    open()
    expect((await run).stopReason).toBe('answered')
    await locked
    expect(starts).toHaveLength(1)
  })

  it('carries out 500 runs at once over a few connections', async () => {
    const { tool, starts, open } = gate()
    open()
    const { runner } = openRunner(newAgent(), tool)
    const begun = performance.now()
    const runs = Array.from({ length: 500 }, (_, at) => runner.run('go', { runId: `run ${at}` }))
    const [row] = await query("SELECT count(*)::int AS n FROM pg_stat_activity WHERE backend_type = 'client backend'")
    const results = await Promise.all(runs)
    console.log(`500 runs of two turns at once: ${Math.round(performance.now() - begun)} ms`)
    expect(results.every(({ stopReason }) => stopReason === 'answered')).toBe(true)
    expect([starts.length, new Set(starts).size]).toEqual([500, 500])
    // And the one that asks.
    expect(Number(row?.n)).toBeLessThanOrEqual(14)
  })

  it('resumes a run whose workflow was cancelled in DBOS, or resumed there', async () => {
    const agent = newAgent()
    for (const [runId, disturb] of [
      ['cancelled', (id: string) => DBOS.cancelWorkflow(id)],
      ['resumed', (id: string) => DBOS.resumeWorkflow(id)],
    ] as const) {
      const { tool, starts, begun, open } = gate()
      const { runner } = openRunner(agent, tool)
      const run = runner.run('go', { runId }).catch((error: { code: string }) => error.code)
      await begun
      const status = async () => (await firstWorkflow(agent, runId)).status
      await disturb((await firstWorkflow(agent, runId)).id)
      // DBOS has called our workflow, and been told that it is executed as another.
      if (runId === 'resumed') while ((await status()) !== 'SUCCESS') await new Promise(setImmediate)
      open()
      expect(await run).toBe('run_taken_over')
      expect(await runner.recover()).toEqual([{ runId, stopReason: 'answered' }])
      expect([...new Set(starts)]).toEqual([`${runId}/1.tool.0`])
    }
  })

  it('does not continue a run whose steps were deleted from DBOS: it would repeat what it has done', async () => {
    const agent = newAgent()
    const paying: ScriptedTurn[] = [{ toolCalls: [{ name: 'pay' }] }, { toolCalls: [{ name: 'ask' }] }, { text: 'done' }]
    let paid = 0
    const pay = defineTool({ name: 'pay', description: 'Pays.', execute: () => ++paid })
    const ask = defineTool({ name: 'ask', description: 'Asks.', approval: true, execute: () => 'asked' })
    const journal = dbosJournal({ url: postgres.url, agent, logger })
    opened.push(journal)
    const model = scriptedModel(({ messages }) => paying[messages.filter(({ role }) => role === 'assistant').length] ?? 'unexpected')
    const runner = new AgentRunner({ model, tools: [pay, ask], logger, journal })
    const { pending } = await runner.run('go', { runId: 'run' })
    await DBOS.deleteWorkflow((await firstWorkflow(agent, 'run')).id)
    const decisions = pending.map((item) => ({ ...item, approved: true as const }))
    await expect(runner.resume('run', { decisions })).rejects.toMatchObject({ code: 'journal_failed', message: /deleted it from DBOS/ })
    expect(paid).toBe(1)
  })

  it('does not mix the runs of two schemas, or of tables that were dropped and created again', async () => {
    const agent = newAgent()
    const told: unknown[] = []
    for (const [schema, after] of [
      ['one', ''],
      ['two', 'DROP SCHEMA two CASCADE'],
      ['two', ''],
    ] as const) {
      const { tool, starts, open } = gate()
      open()
      const { journal, runner } = openRunner(agent, tool, { schema })
      const { stopReason } = await runner.run('go', { runId: 'run' })
      told.push([stopReason, starts])
      await journal.close()
      if (after !== '') await query(after)
    }
    expect(told).toEqual(Array(3).fill(['answered', ['run/1.tool.0']]))
  })

  it('runs inside workflows and steps of the application, and lets tools use DBOS', async () => {
    const agent = newAgent()
    const { open } = gate()
    open()
    const inner = newAgent()
    const tool = defineTool({
      name: 'work',
      description: 'Works.',
      execute: async () => (await DBOS.startWorkflow(application, { workflowID: 'child' })('in a step', inner)).getResult(),
    })
    const free = defineTool({ name: 'work', description: 'Works.', execute: () => 'worked' })
    tools.set(inner, free).set(agent, free)
    for (const where of ['in a workflow', 'in a step'] as const) {
      expect(await (await DBOS.startWorkflow(application)(where, agent)).getResult()).toBe('done')
    }
    const { output, toolCalls } = await openRunner(newAgent(), tool).runner.run('go')
    expect([output, toolCalls.map(({ value }) => value)]).toEqual(['done', ['done']])
  })

  it('separates the runs of each agent, even if they have the same id', async () => {
    const { tool, starts, open } = gate()
    open()
    const [first, second] = [openRunner(newAgent(), tool).runner, openRunner(newAgent(), tool).runner]
    await Promise.all([first.run('go', { runId: 'run' }), second.run('go', { runId: 'run' })])
    expect(starts).toHaveLength(2)
    expect((await first.runs.list()).runs).toHaveLength(1)
    expect(await first.runs.prune({ keep: 0 })).toBe(1)
    expect((await second.runs.get('run'))?.status).toBe('ended')
  })

  it('leaves nothing in DBOS of a deleted run, whose id can be used again', async () => {
    const agent = newAgent()
    const { tool, starts, open } = gate()
    open()
    const { runner } = openRunner(agent, tool)
    await runner.run('go', { runId: 'run' })
    expect(await runner.runs.prune({ olderThanMs: 0 })).toBe(1)
    expect(await query(`SELECT 1 FROM dbos.operation_outputs WHERE workflow_uuid LIKE '${agent}/%'`)).toEqual([])
    expect((await runner.run('go', { runId: 'run' })).stopReason).toBe('answered')
    expect(starts).toHaveLength(2)
  })

  it('leaves no unhandled rejection if it is closed while runs start, or record their calls, at any moment', async () => {
    const look = defineTool({ name: 'look', description: 'Looks.', execute: () => turnEventLoop(1) })
    const script = { toolCalls: [{ name: 'look' }, { name: 'look' }] }
    for (let turns = 1; turns <= 61; turns += 3) {
      const model = scriptedModel(({ messages }) => (messages.length > 6 ? 'done' : script))
      const journal = dbosJournal({ url: postgres.url, agent: newAgent(), logger, takeOverEveryMs: Number.POSITIVE_INFINITY })
      const runner = new AgentRunner({ model, tools: [look], logger, journal })
      await runner.runs.list()
      const runs = [1, 2, 3, 4].map((n) => runner.run('go', { runId: `run ${n}` }).then(({ stopReason }) => stopReason, codeOf))
      await turnEventLoop(turns)
      await journal.close()
      for (const end of await Promise.all(runs)) expect(['answered', 'journal_failed']).toContain(end)
    }
  })

  it('does not blame a run for the end of a process that closes its journal during a step', async () => {
    const agent = newAgent()
    const live = async (isLast = false) => {
      const { tool, starts, begun, open } = gate()
      if (isLast) open()
      const { journal, runner } = openRunner(agent, tool, { maxTakeOvers: 3 })
      const run = runner.run('go', { runId: 'run' })
      run.catch(() => undefined)
      await Promise.race([begun, run])
      if (!isLast) await journal.close()
      return { starts, run }
    }
    await live()
    const tries = () => query(`SELECT tries FROM toolloop.runs WHERE agent = '${agent}'`)
    // As two processes leave it that have died of it.
    await query(`UPDATE toolloop.runs SET tries = 2 WHERE agent = '${agent}'`)
    for (let closed = 0; closed < 3; closed++) expect((await live()).starts).toHaveLength(1)
    expect(await tries()).toEqual([{ tries: 2 }])
    expect(await (await live(true)).run).toMatchObject({ stopReason: 'answered' })
    expect(await tries()).toEqual([{ tries: 0 }])
  })

  it('refuses ids that PostgreSQL can’t store, and tables of a newer version', async () => {
    const { runner } = openRunner(newAgent())
    for (const runId of ['a\0b', '\uD800']) await expect(runner.run('go', { runId })).rejects.toMatchObject({ code: 'invalid_option' })
    await query('CREATE SCHEMA newer; CREATE TABLE newer.version (version int); INSERT INTO newer.version VALUES (99)')
    const refused = openRunner(newAgent(), gate().tool, { schema: 'newer' }).runner.recover()
    await expect(refused).rejects.toMatchObject({ code: 'journal_failed', message: /of version \d+ or older, got 99/ })
  })

  it.each([
    ['a server that is not there', { port: '1' }, 'it can’t be reached'],
    ['a database that is not there', { pathname: '/nobody' }, 'the database does not exist'],
    ['a user who may not log in', { username: 'nobody' }, 'the user is not allowed to log in'],
  ])('reports %s', async (_name, parts, why) => {
    const url = Object.assign(new URL(postgres.url), { password: 'secret', ...parts })
    const { runner } = openRunner(newAgent(), gate().tool, { url: url.href, outageMs: 0 })
    const error = await runner.run('go').catch((problem: Error) => problem)
    expect(error).toMatchObject({ code: 'journal_failed', message: expect.stringContaining(why) })
    expect(String(error)).not.toContain('secret')
  })
})
