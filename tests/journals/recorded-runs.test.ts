import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { DurableBody } from '../../src/agent/journal/journal.ts'
import { eventsOf } from '../../src/agent/runner/run-stream.ts'
import { handoff } from '../../src/agent/sub-agents/handoff.ts'
import { emptyRunView, reduceRun } from '../../src/core/runs/index.ts'
import { listOf, ownersOf } from '../../src/journals/queries/list-runs.ts'
import { sqlite } from '../../src/journals/sqlite/dialect.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { memoryJournal } from '../../src/testing/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { inFolder } from './temp-folder.ts'

/** Runs that differ in their id alone, as SQL. */
const copies = (count: number, columns: string) =>
  `WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ${count}) INSERT INTO runs (id, agent, status, owner, epoch, loop, created_at, updated_at) SELECT 'copy-' || i, ${columns} FROM c`

async function inJournal(work: (journal: ReturnType<typeof sqliteJournal>, file: string) => Promise<void>): Promise<void> {
  await inFolder(async (folder) => {
    const file = join(folder, 'runs.sqlite')
    const journal = sqliteJournal({ file, synchronous: 'normal' })
    await journal.connect(async () => ({})).pending()
    await work(journal, file)
    await journal.close()
  })
}

function execute(file: string, sql: string): void {
  const database = new DatabaseSync(file)
  database.exec(sql)
  database.close()
}

describe('the runs of an SQLite journal', () => {
  it('are all resumed, even after a thousand that can’t be', () =>
    inJournal(async (journal, file) => {
      execute(file, copies(1000, "'default', 'running', NULL, 1, 99, 1, 1"))
      execute(
        file,
        "INSERT INTO runs (id, agent, status, epoch, loop, created_at, updated_at) VALUES ('last', 'default', 'running', 1, 99, 1, 1)",
      )
      const runner = new AgentRunner({ model: scriptedModel(() => 'done'), journal })
      const recovered = await runner.recover()
      expect([recovered.length, recovered.at(-1)?.runId]).toEqual([1001, 'last'])
    }))

  it('are deleted in parts, and other calls are answered in between', () =>
    inJournal(async (journal, file) => {
      execute(file, copies(1000, "'default', 'ended', NULL, 1, 1, i, i * 1000000"))
      const { prune, pending, list } = journal.connect(async () => ({}))
      const answered: unknown[] = []
      await Promise.all([
        prune?.({ keep: 500 }).then((deleted) => answered.push(deleted)),
        pending().then((runIds) => answered.push(runIds)),
      ])
      expect(answered).toEqual([[], 500])
      expect(await prune?.({ keep: 450, olderThanMs: Date.now() - 600_500_000 })).toBe(100)
      expect((await list?.({ limit: 1000 }))?.runs.map(({ runId }) => runId)).toEqual(
        Array.from({ length: 400 }, (_, i) => `copy-${1000 - i}`),
      )
    }))

  it('are listed by an index if they are open: ended runs are not read', () =>
    inJournal(async (_journal, file) => {
      const database = new DatabaseSync(file)
      const queries = [{ status: 'running' }, { status: 'waiting' }, { process: 'gone' }, { process: 'alive' }] as const
      for (const { sql, values } of [ownersOf(sqlite, 'default'), ...queries.map((query) => listOf(sqlite, 'default', query, new Set()))]) {
        const [plan] = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...(values as string[]))
        expect(plan?.detail).toMatch(/^SEARCH runs USING INDEX runs_open /)
      }
      database.close()
    }))

  it.each([Number.MAX_SAFE_INTEGER, Number.MAX_VALUE, 8.64e15])('wait for ever if the timeout is %d ms', (timeoutMs) =>
    inJournal(async (journal) => {
      const body: DurableBody = async (durable) => {
        const decided = await durable.wait<string>('0.x', { timeoutMs })
        return { stopReason: decided === undefined ? 'paused' : 'answered', pending: [{ place: '0.x' }], decided: decided ?? null }
      }
      const engine = journal.connect(body)
      await engine.start('run', {})
      expect(await engine.result('run')).toMatchObject({ stopReason: 'paused' })
      await engine.deliver('run', { '0.x': 'yes' })
      await engine.start('run')
      expect(await engine.result('run')).toMatchObject({ stopReason: 'answered', decided: 'yes' })
    }),
  )

  it('have ids that SQLite stores unchanged', () =>
    inJournal(async (journal) => {
      const engine = journal.connect(async () => ({}))
      await engine.start('\uFFFD', {})
      await expect(engine.start('\uD800', {})).rejects.toMatchObject({ code: 'invalid_option' })
      await expect(engine.get?.('\uDFFF')).rejects.toMatchObject({ code: 'invalid_option' })
    }))
})

it.each([
  ['memoryJournal', (_file: string) => memoryJournal()],
  ['sqliteJournal', (file: string) => sqliteJournal({ file })],
] as const)('%s: a page continues after its last run, even if that was deleted meanwhile', (_name, openJournal) =>
  inFolder(async (folder) => {
    const journal = openJournal(join(folder, 'runs.sqlite'))
    const engine = journal.connect(async () => ({}))
    for (const runId of ['a', 'b', 'c', 'd']) {
      await engine.start(runId, {})
      await engine.result(runId)
    }
    const first = await engine.list?.({ limit: 2 })
    expect(first?.runs.map(({ runId }) => runId)).toEqual(['d', 'c'])
    await engine.prune?.({ keep: 0 })
    await engine.start('e', {})
    await engine.result('e')
    expect((await engine.list?.({ limit: 2, cursor: first?.next ?? '' }))?.runs).toEqual([])
    await expect(engine.list?.({ cursor: 'c' })).rejects.toMatchObject({ code: 'invalid_option' })
    await journal.close()
  }),
)

describe('runs.stream', () => {
  it('rejects if the run is deleted as soon as it has ended', async () => {
    const [asked, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const model = scriptedModel(async () => {
      asked.resolve()
      await opened.promise
      return 'done'
    })
    const runner = new AgentRunner({ model, journal: memoryJournal() })
    const running = runner.run('go', { runId: 'r' })
    await asked.promise
    const events = eventsOf(runner.runs.stream('r'))
    expect((await events.next()).value).toMatchObject({ type: 'RUN_START' })
    opened.resolve()
    await running
    expect(await runner.runs.prune({ keep: 0 })).toBe(1)
    await expect(Array.fromAsync(events)).rejects.toMatchObject({ code: 'unknown_run' })
  })

  it('reports what still waits before the end, even to a caller who decided another call', async () => {
    const pay = defineTool({ name: 'pay', description: 'Pays.', approval: true, execute: () => 'paid' })
    const runner = new AgentRunner({
      model: scriptedModel([{ toolCalls: [{ name: 'pay' }, { name: 'pay' }] }, 'done']),
      tools: [pay],
      journal: memoryJournal(),
    })
    const { pending } = await runner.run('go', { runId: 'r' })
    const decisions = pending.slice(1).map((item) => ({ ...item, approved: true as const }))
    const told = await Array.fromAsync(eventsOf(runner.resumeStream('r', { decisions })))
    expect(told.slice(-2)).toMatchObject([
      { type: 'DECISION_NEEDED', place: pending[0]?.place },
      { type: 'RUN_END', stopReason: 'paused' },
    ])
  })

  it('rejects if the journal can’t report what is new', async () => {
    const journal = memoryJournal()
    const model = scriptedModel(() => 'done')
    const runner = new AgentRunner({ model, journal: { connect: (body) => ({ ...journal.connect(body), news: undefined }) } })
    await runner.run('go', { runId: 'r' })
    const problem = { code: 'invalid_option', message: expect.stringContaining('`journal`') }
    await expect(runner.runs.stream('r').result).rejects.toMatchObject(problem)
  })

  it('hides arguments and results of tools that only the run was given, because their secrets are unknown', async () => {
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      parameters: { type: 'object', additionalProperties: true },
      effect: 'idempotent',
      secrets: ['card'],
      execute: () => 'paid with 4111 1111',
    })
    const model = scriptedModel([{ toolCalls: [{ name: 'pay', args: { card: '4111 1111' } }] }, 'done'])
    const runner = new AgentRunner({ model, journal: memoryJournal() })
    await runner.run('go', { runId: 'r', tools: [pay] })
    const told = await Array.fromAsync(eventsOf(runner.runs.stream('r')))
    expect(told.find(({ type }) => type === 'TOOL_CALL_END')).toMatchObject({ tool: 'pay', args: {}, result: '[redacted]' })
    expect(JSON.stringify(told)).not.toContain('4111')
  })

  it('knows the secrets of tools of an agent that took over the conversation', async () => {
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      parameters: { type: 'object', additionalProperties: true },
      effect: 'idempotent',
      secrets: ['card'],
      execute: () => 'paid',
    })
    const desk = new AgentRunner({
      model: scriptedModel([{ toolCalls: [{ name: 'pay', args: { card: '4111 1111', sum: 5 } }] }, 'done']),
      tools: [pay],
    })
    const model = scriptedModel([{ toolCalls: [{ name: 'hand_off_to_desk', args: {} }] }])
    const tools = [handoff(desk, { name: 'desk', description: 'Takes money.' })]
    const runner = new AgentRunner({ model, tools, journal: memoryJournal() })
    await runner.run('go', { runId: 'r' })
    const told = await Array.fromAsync(eventsOf(runner.runs.stream('r')))
    expect(told.find((event) => event.type === 'TOOL_CALL_END' && event.tool === 'pay')).toMatchObject({
      args: { card: '[redacted]', sum: 5 },
    })
    expect(JSON.stringify(told)).not.toContain('4111')
  })

  it('reports what still waits after another call of its turn was decided', async () => {
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      parameters: { type: 'object', additionalProperties: true },
      effect: 'idempotent',
      approval: true,
      execute: () => 'paid',
    })
    const calls = [1, 2].map((euros) => ({ name: 'pay', args: { euros } }))
    const runner = new AgentRunner({ model: scriptedModel([{ toolCalls: calls }, 'done']), tools: [pay], journal: memoryJournal() })
    const [first, second] = (await runner.run('go', { runId: 'r' })).pending
    if (first === undefined || second === undefined) throw new Error('Expected two calls to wait')
    expect((await runner.resume('r', { decisions: [{ ...second, approved: true }] })).stopReason).toBe('paused')
    const view = emptyRunView()
    for await (const event of eventsOf(runner.runs.stream('r'))) reduceRun(view, event)
    expect([...view.pending.keys()]).toEqual([first.place])
    expect([...view.calls.values()].flatMap(({ decisions }) => [...decisions.keys()])).toEqual([second.place])
  })

  it('yields to everything else if many are read at once', async () => {
    const look = defineTool({ name: 'look', description: 'Looks.', effect: 'read', execute: () => 'x'.repeat(20_000) })
    const model = scriptedModel(({ messages }) => (messages.length > 40 ? 'done' : { toolCalls: [{ name: 'look' }] }))
    const settings = { maxIterations: 50, limits: { repeatedCalls: Number.POSITIVE_INFINITY } }
    const runner = new AgentRunner({ ...settings, model, tools: [look], journal: memoryJournal() })
    await runner.run('go', { runId: 'r' })
    let isDone = false
    const read = Promise.all(Array.from({ length: 100 }, () => Array.fromAsync(eventsOf(runner.runs.stream('r'))))).then(() => {
      isDone = true
    })
    for (let turn = 0; turn < 3; turn++) {
      await nextTurn()
      expect(isDone).toBe(false)
    }
    await read
  })
})
