import { Pool } from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { storeJournal } from '../../src/agent/journal/store-journal.ts'
import { DbosStore } from '../../src/journals/dbos/dbos-store.ts'
import { postgresSessions } from '../../src/sessions/postgres/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { hasPostgres, type Postgres, startPostgres } from '../postgres.ts'

const dayMs = 86_400_000
const logger = { debug() {}, info() {}, warn() {}, error() {} }

/** From now on the clock of this process is so many days off. */
function setClockOff(days: number): void {
  vi.useRealTimers()
  if (days !== 0) vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + days * dayMs, shouldAdvanceTime: false })
}

describe.runIf(hasPostgres)('a process whose clock is off by 40 days, on PostgreSQL', () => {
  let postgres: Postgres
  let pool: Pool
  const opened: { close(): Promise<void> }[] = []
  beforeAll(async () => {
    postgres = await startPostgres()
    pool = new Pool({ connectionString: postgres.url })
  }, 60_000)
  afterEach(async () => {
    setClockOff(0)
    for (const one of opened.splice(0)) await one.close()
  })
  afterAll(async () => {
    await pool.end()
    await postgres.stop()
  })

  const open = (agent: string) => {
    const options = { url: postgres.url, agent, schema: 'toolloop', connections: 13, outageMs: 5_000, launch: true, logger }
    const store = new DbosStore(options)
    const journal = storeJournal(store)
    opened.push(journal)
    const refund = defineTool({ name: 'refund', description: 'Pays.', approval: true, execute: () => 'paid' })
    const model = scriptedModel(({ messages }) => (messages.at(-1)?.role === 'tool' ? 'done' : { toolCalls: [{ name: 'refund' }] }))
    return { shown: store.shown, runner: new AgentRunner({ model, tools: [refund], journal, logger, decisionTimeoutMs: dayMs }) }
  }

  it.each([40, -40])(
    'P1.8 H60 ends no run of other processes that waits for a decision, and stores its own as they do: %i',
    async (days) => {
      const { runner } = open(`agent ${days}`)
      const { pending } = await runner.run('go', { runId: 'right' })
      setClockOff(days)
      const wrong = await runner.run('go', { runId: 'wrong' })
      expect(await runner.recover()).toEqual([])
      const approve = (items: typeof pending) => ({ decisions: items.map((item) => ({ ...item, approved: true as const })) })
      expect((await runner.resume('right', approve(pending))).output).toBe('done')
      setClockOff(0)
      expect(await runner.recover()).toEqual([])
      expect((await runner.resume('wrong', approve(wrong.pending))).output).toBe('done')
    },
  )

  it.each([40, -40])(
    'P1.8 H60 expires and forgets nothing that a service shows, and no other process expires what it shows: %i',
    async (days) => {
      const { shown } = open(`shown ${days}`)
      const show = async (runId: string, status: 'waiting' | 'ended') => {
        const about = { caller: 'ann', agent: 'a', createdAt: Date.now(), title: runId, head: '{}' }
        await shown.begin({ runId, ...about }, { attempt: 'one' })
        const outcome = { status, stopReason: status, finishedAt: Date.now(), title: runId, summary: '{}' }
        expect(await shown.settle(runId, { status: 'running' }, outcome)).toBe('settled')
      }
      const tidy = async () => {
        expect(await shown.giveUp({ waitingForMs: 30 * dayMs }, { code: 'aborted', message: 'late' })).toEqual([])
        expect(await shown.forget({ runs: 9, ageMs: dayMs, characters: 1e9, recordingCharacters: 1e9 })).toBe(0)
      }
      await show(`paused ${days}`, 'waiting')
      await show(`done ${days}`, 'ended')
      setClockOff(days)
      await tidy()
      await show(`wrongly paused ${days}`, 'waiting')
      await show(`wrongly done ${days}`, 'ended')
      await tidy()
      setClockOff(0)
      await tidy()
      for (const which of ['paused', 'done', 'wrongly paused', 'wrongly done']) {
        const { settledForMs = Number.NaN } = (await shown.get(`${which} ${days}`)) ?? {}
        expect(settledForMs).toBeGreaterThanOrEqual(0)
        expect(settledForMs).toBeLessThan(60_000)
      }
    },
  )

  it.each([40, -40])('P1.8 H60 neither loses a session nor takes one: %i', async (days) => {
    const schema = `sessions_${days < 0 ? 'behind' : 'ahead'}`
    const openSessions = async () => {
      const sessions = postgresSessions({ pool, schema, expireAfterMs: 30 * dayMs })
      opened.push(sessions)
      await sessions.migrate()
      return sessions
    }
    const sessions = await openSessions()
    await sessions.append('old', [{ role: 'user', content: 'hi' }])
    setClockOff(days)
    const other = await openSessions()
    expect((await other.read('old')).length).toBe(1)
    expect(await other.prune({ olderThanMs: 30 * dayMs })).toBe(0)
    await other.append('new', [{ role: 'user', content: 'hi' }])
    setClockOff(0)
    expect(await sessions.prune({ olderThanMs: 30 * dayMs })).toBe(0)
    expect((await sessions.list()).sessions.length).toBe(2)
  })
})
