import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { AgentRunner, asTool, Budget, defineTool, handoff, type PendingItem, type RunnerOptions } from '../../src/index.ts'
import { dbosJournal } from '../../src/journals/dbos/index.ts'
import { postgresSessions } from '../../src/sessions/postgres/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { hasPostgres, type Postgres, startPostgres } from '../postgres.ts'

const logger = { debug() {}, info() {}, warn() {}, error() {} }
const capabilities = { nativeTools: true, price: { input: 2, output: 8 } }
/** $1.04 */
const dear = { inputTokens: 400_000, outputTokens: 30_000 }
const approve = (items: readonly PendingItem[]) => items.map((item) => ({ ...item, approved: true as const }))

describe.skipIf(!hasPostgres)('money and agents inside agents, in PostgreSQL', () => {
  let postgres: Postgres
  let keep: ReturnType<typeof dbosJournal>
  const open = (agent: string) => dbosJournal({ url: postgres.url, agent, logger, takeOverEveryMs: Number.POSITIVE_INFINITY })
  const agent = (turns: Parameters<typeof scriptedModel>[0], options: Omit<RunnerOptions, 'model'>) =>
    new AgentRunner({ model: scriptedModel(turns, { capabilities }), logger, ...options })

  const opened = (agent: string) => {
    const journal = open(agent)
    onTestFinished(() => journal.close())
    return journal
  }

  beforeAll(async () => {
    postgres = await startPostgres()
    // DBOS is launched once for all, as long as one journal is open.
    keep = open('keep')
    await keep.connect(async () => null).pending()
  }, 60_000)
  afterAll(async () => {
    await keep?.close()
    await postgres?.stop()
  })

  const pay = defineTool({ name: 'pay', description: 'Pays.', approval: true, parameters: { type: 'object' }, execute: () => 'paid' })
  /** Two agents inside its calls, each of which asks before it pays. */
  const outside = (journal: ReturnType<typeof open>) => {
    const inside = agent(
      ({ messages }) => (messages.at(-1)?.role === 'tool' ? { text: 'Done.', usage: dear } : { toolCalls: [{ name: 'pay' }], usage: dear }),
      { tools: [pay] },
    )
    const calls = [
      { name: 'part', args: { task: '1' } },
      { name: 'part', args: { task: '2' } },
    ]
    return agent(({ messages }) => (messages.at(-1)?.role === 'user' ? { toolCalls: calls } : 'All.'), {
      tools: [asTool(inside, { name: 'part', description: 'Does a part.' })],
      journal,
    })
  }

  it('P2.1 H50 a run that another runner continues counts what is replayed once', async () => {
    const journal = opened('limits')
    const first = await outside(journal).run('go', { runId: 'limited', limits: { costUsd: 3 } })
    expect(first).toMatchObject({ stopReason: 'paused', pending: [{}, {}] })
    const done = await outside(journal).resume('limited', { decisions: approve(first.pending) })
    expect(done.stopReason).toBe('budget')
    expect(done.usage.costUsd).toBeCloseTo(3.12, 2)
  })

  it('P2.7 a run that had a `budget` does not continue without one, and books what is replayed once', async () => {
    const journal = opened('budgets')
    const budget = new Budget({ costUsd: 100 })
    const first = await outside(journal).run('go', { runId: 'budgeted', budget })
    const decisions = approve(first.pending)
    await expect(outside(journal).resume('budgeted', { decisions })).rejects.toMatchObject({ code: 'not_restored' })
    const stored = new Budget({ costUsd: 100, spent: { costUsd: budget.spent.costUsd } })
    const done = await outside(journal).resume('budgeted', { decisions, budget: stored })
    expect(done.stopReason).toBe('answered')
    expect(done.usage.costUsd).toBeCloseTo(4.16, 2)
    expect(stored.spent.costUsd).toBeCloseTo(done.usage.costUsd ?? 0, 6)
  })

  it('P2.5 H58 after a handoff the agent keeps its guardrails and limits in another runner', async () => {
    const journal = opened('handoffs')
    const wiped: unknown[] = []
    const wipe = defineTool({ name: 'wipe', description: 'Wipes.', parameters: { type: 'object' }, execute: () => void wiped.push(1) })
    const desk = () => {
      const ops = agent(
        ({ messages }) => {
          const calls = messages.filter(({ role }) => role === 'assistant').length
          if (calls === 1) return { toolCalls: [{ name: 'pay' }] }
          return calls < 6 ? { toolCalls: [{ name: 'wipe', args: { calls } }] } : 'done'
        },
        {
          tools: [pay, wipe],
          guardrails: [{ name: 'no wiping', call: ({ tool }) => (tool === 'wipe' ? { refuse: 'never' } : undefined) }],
          limits: { toolCalls: 3 },
        },
      )
      const over = { toolCalls: [{ name: 'hand_off_to_ops' }] }
      return agent(() => over, { tools: [handoff(ops, { name: 'ops', description: 'Operations.' })], maxIterations: 20, journal })
    }
    const paused = await desk().run('go', { runId: 'handed' })
    expect(paused).toMatchObject({ stopReason: 'paused', pending: [{ tool: 'pay' }] })
    const done = await desk().resume('handed', { decisions: approve(paused.pending) })
    expect(done).toMatchObject({ stopReason: 'budget', agent: 'ops' })
    expect(done.toolCalls.map(({ outcome }) => outcome)).toEqual(['ok', 'ok', 'denied', 'denied', 'denied'])
    expect(wiped).toEqual([])
  })

  it('P2.2 H51 a call that was interrupted keeps its key in the next run of its session, until one has succeeded', async () => {
    const pool = new pg.Pool({ connectionString: postgres.url })
    onTestFinished(() => pool.end())
    const sessions = postgresSessions({ pool })
    await sessions.migrate()
    const journal = opened('keys')
    const keys: string[] = []
    const controller = new AbortController()
    const tool = defineTool({
      name: 'transfer',
      description: 'Pays.',
      effect: 'idempotent',
      parameters: { type: 'object' },
      execute: (_, { idempotencyKey }) => {
        keys.push(idempotencyKey)
        if (keys.length > 1) return 'paid'
        setImmediate(() => controller.abort())
        return new Promise(() => {})
      },
    })
    const runner = agent(({ messages }) => (messages.at(-1)?.role === 'user' ? { toolCalls: [{ name: 'transfer' }] } : 'Paid.'), {
      tools: [tool],
      sessions,
      journal,
    })
    expect((await runner.run('go', { session: 's', runId: 'first', signal: controller.signal })).stopReason).toBe('aborted')
    await runner.run('again', { session: 's', runId: 'second' })
    await runner.run('once more', { session: 's', runId: 'third' })
    expect(keys).toEqual(['first/1.tool.0', 'first/1.tool.0', 'third/1.tool.0'])
  })
})
