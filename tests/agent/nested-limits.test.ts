import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { Journal } from '../../src/agent/journal/journal.ts'
import { Budget } from '../../src/agent/limits/budget.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import type { PendingItem, RunnerOptions } from '../../src/agent/types/options.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { memoryJournal, type ScriptedTurn, scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { StrictJournal } from './strict-journal.ts'

const { logger } = recordingLogger()
const capabilities = { nativeTools: true, price: { input: 2, output: 8 } }
/** $1.04 */
const dear = { inputTokens: 400_000, outputTokens: 30_000 }
const cheap = { inputTokens: 10, outputTokens: 10 }
const parts = { name: 'part', description: 'Does a part.' }

const agent = (turns: Parameters<typeof scriptedModel>[0], options: Omit<RunnerOptions, 'model'> = {}) =>
  new AgentRunner({ model: scriptedModel(turns, { capabilities }), logger, ...options })
const calls = (count: number, name = 'part') => Array.from({ length: count }, (_, at) => ({ name, args: { task: `${at}` } }))
const spentBy = async (outer: readonly (ScriptedTurn | string)[], options: Partial<RunnerOptions>) => {
  const inner = agent(() => ({ text: 'Done.', usage: dear }))
  const result = await agent(outer, { tools: [asTool(inner, parts)], ...options }).run('go')
  return { result, spent: result.usage.costUsd ?? 0, outcomes: result.toolCalls.map(({ outcome }) => outcome) }
}

describe('the limits of a run and the runs nested in it', () => {
  it('P2.1 H50 50 nested runs of one turn stop at `limits.costUsd` of the outer run, by at most one request', async () => {
    const { result, spent, outcomes } = await spentBy([{ toolCalls: calls(50), usage: dear }, 'never'], { limits: { costUsd: 2 } })
    expect(result.stopReason).toBe('budget')
    expect(spent).toBeCloseTo(2.08)
    expect(outcomes.filter((outcome) => outcome === 'ok')).toHaveLength(1)
    expect(result.toolCalls.at(-1)?.content).toContain('ended without an answer (budget)')
  })

  it('P2.1 H50 if nothing shows beforehand what requests cost, they exceed the limit by at most one for each concurrent call', async () => {
    for (const toolConcurrency of [1, 4, 50]) {
      const { result, spent } = await spentBy([{ toolCalls: calls(50), usage: cheap }, 'never'], {
        limits: { costUsd: 2 },
        toolConcurrency,
      })
      expect(result.stopReason).toBe('budget')
      expect(spent).toBeLessThanOrEqual(2 + 1.04 * toolConcurrency)
    }
  })

  it('P2.1 H50 `limits.tokens` reserves what is in flight, and lets everything run that fits', async () => {
    const usage = { inputTokens: 60, outputTokens: 40 }
    const inner = agent(() => ({ text: 'Done.', usage }))
    const run = (tokens: number) =>
      agent(
        [
          { toolCalls: calls(20), usage },
          { text: 'All done.', usage },
        ],
        {
          tools: [asTool(inner, parts)],
          toolConcurrency: 20,
          limits: { tokens },
        },
      ).run('go')
    expect(await run(2_101)).toMatchObject({ stopReason: 'answered', usage: { totalTokens: 2_200 } })
    expect(await run(1_000)).toMatchObject({ stopReason: 'budget', usage: { totalTokens: 1_000 } })
  })

  it('P2.1 H50 the outermost limit holds three levels down, and a limit of each level for what is below it', async () => {
    const leaf = agent(() => ({ text: 'Done.', usage: dear }))
    const middle = agent(() => ({ toolCalls: calls(5, 'leaf'), usage: cheap }), {
      tools: [asTool(leaf, { name: 'leaf', description: 'A leaf.' })],
      toolConcurrency: 1,
    })
    const run = async (outer: object, inner?: object) => {
      const tools = [asTool(middle, { ...parts, ...(inner === undefined ? {} : { options: { limits: inner } }) })]
      const options = { tools, toolConcurrency: 1, limits: outer }
      const { usage } = await agent([{ toolCalls: calls(3), usage: cheap }, 'done'], options).run('go')
      return Math.round((usage.costUsd ?? 0) / 1.04)
    }
    expect(await run({ costUsd: 3 })).toBe(3)
    expect(await run({ costUsd: 100 }, { costUsd: 2 })).toBe(6)
    expect(await run({ costUsd: 3 }, { costUsd: 2 })).toBe(3)
  })

  it('P2.1 H50 `askModel` is stopped by the limits, also when several calls ask at once', async () => {
    const asking = defineTool({
      name: 'part',
      description: 'Asks.',
      parameters: { type: 'object' },
      execute: async (_args, { askModel }) => (await askModel?.({ messages: [{ role: 'user', content: 'Which?' }] }))?.text,
    })
    const turns = [{ toolCalls: calls(50), usage: dear }]
    const runner = agent(() => turns.shift() ?? { text: 'That.', usage: dear }, { tools: [asking], limits: { costUsd: 2 } })
    const { stopReason, usage } = await runner.run('go')
    expect(stopReason).toBe('budget')
    expect(usage.costUsd).toBeCloseTo(2.08)
  })

  it('P2.1 a limit that is reached does not pause the run, whatever `onBudget` says; `option` names what it is', async () => {
    const told: unknown[] = []
    const hook = {
      aroundModel: async (_request: unknown, next: () => Promise<never>) =>
        next().catch((error: { option: string; message: string }) => {
          told.push([error.option, error.message])
          throw error
        }),
    }
    const inner = agent(() => ({ text: 'Done.', usage: dear }), { hooks: [hook] })
    const options = { tools: [asTool(inner, parts)], toolConcurrency: 1, onBudget: 'pause' as const, budget: new Budget({ costUsd: 100 }) }
    const result = await agent([{ toolCalls: calls(3), usage: dear }], { ...options, limits: { costUsd: 2 } }).run('go')
    expect(result).toMatchObject({ stopReason: 'budget', pending: [] })
    expect(told).toEqual(Array(2).fill(['limits', 'The limits of the run do not allow the request: $2.08 of $2 are spent']))
  })

  it('P2.1 `limits.toolCalls` counts nested calls, `deadlineMs` ends nested runs, `repeatedCalls` counts for each run', async () => {
    const look = defineTool({ name: 'look', description: 'Looks.', execute: () => 'seen' })
    const inner = agent(() => ({ toolCalls: [{ name: 'look' }] }), { tools: [look], maxIterations: 20 })
    const outer = [{ toolCalls: calls(2) }, 'done']
    const run = (limits: object) => agent(outer, { tools: [asTool(inner, parts)], toolConcurrency: 1, limits }).run('go')
    const counted = await run({ toolCalls: 4 })
    expect(counted.toolCalls.map(({ nested }) => nested?.toolCalls)).toEqual([2, 0])
    const repeated = await run({ repeatedCalls: 1 })
    expect(repeated.toolCalls.map(({ content }) => String(content).includes('repeated_calls'))).toEqual([true, true])
  })
})

describe('limits over pauses and crashes', () => {
  const paying = () => defineTool({ name: 'pay', description: 'Pays.', approval: true, execute: () => 'paid' })
  const inside = () =>
    agent(
      ({ messages }) => (messages.at(-1)?.role === 'tool' ? { text: 'Done.', usage: dear } : { toolCalls: [{ name: 'pay' }], usage: dear }),
      { tools: [paying()] },
    )
  const outside = (journal?: Journal) =>
    agent(({ messages }) => (messages.at(-1)?.role === 'user' ? { toolCalls: calls(2), usage: cheap } : { text: 'All.', usage: cheap }), {
      tools: [asTool(inside(), parts)],
      ...(journal === undefined ? {} : { journal }),
    })
  const approve = (items: readonly PendingItem[]) => items.map((item) => ({ ...item, approved: true as const }))

  it('P2.1 what waiting calls have used counts while others continue, in another process too', async () => {
    const first = await outside().run('go', { limits: { costUsd: 4 } })
    expect(first).toMatchObject({ stopReason: 'paused', pending: [{}, {}] })
    const state = JSON.parse(JSON.stringify(first.state))
    const [one] = first.pending
    if (one === undefined) throw new Error('Expected a pending call')
    // Each has used $1.04 so far: $3.12 with the one that is answered, $4.16 with the other one.
    const second = await outside().resume(state, { decisions: approve([one]) })
    const done = await outside().resume(JSON.parse(JSON.stringify(second.state)), { decisions: approve(second.pending) })
    expect(done).toMatchObject({ stopReason: 'budget', toolCalls: [{ outcome: 'ok' }, { outcome: 'ok' }] })
    expect(done.usage.costUsd).toBeCloseTo(4.16, 3)
    const poor = await outside().run('go', { limits: { costUsd: 2 } })
    const stopped = await outside().resume(JSON.parse(JSON.stringify(poor.state)), { decisions: approve(poor.pending.slice(0, 1)) })
    // $2.08 are spent: nothing more is sent for the call that is answered.
    expect(stopped.pending).toHaveLength(1)
    const ended = await outside().resume(stopped.state, { decisions: approve(stopped.pending) })
    expect(ended).toMatchObject({ stopReason: 'budget', toolCalls: [{ outcome: 'failed' }, { outcome: 'failed' }] })
    expect(ended.usage.costUsd).toBeCloseTo(2.08, 3)
  })

  const journals: [string, (folder: string) => Journal & { close?(): Promise<void> }][] = [
    ['memoryJournal', () => memoryJournal()],
    ['sqliteJournal', (folder) => sqliteJournal({ file: join(folder, 'runs.sqlite') })],
  ]

  it.each(journals)('P2.1 a run that another runner continues counts what is replayed once: %s', async (_name, open) => {
    const folder = await mkdtemp(join(tmpdir(), 'limits-'))
    const journal = open(folder)
    const first = await outside(journal).run('go', { runId: 'r', limits: { costUsd: 3 } })
    expect(first).toMatchObject({ stopReason: 'paused', pending: [{}, {}] })
    const done = await outside(journal).resume('r', { decisions: approve(first.pending) })
    // $2.08 before, and one of the two requests that were left.
    expect(done.stopReason).toBe('budget')
    expect(done.usage.costUsd).toBeCloseTo(3.12, 3)
    await journal.close?.()
    await rm(folder, { recursive: true })
  })

  it.each(journals)(
    'P2.7 a run that had a `budget` does not continue without one, and books what is replayed once: %s',
    async (_name, open) => {
      const folder = await mkdtemp(join(tmpdir(), 'limits-'))
      const journal = open(folder)
      const budget = new Budget({ costUsd: 100 })
      const first = await outside(journal).run('go', { runId: 'r', budget, limits: { costUsd: 50 } })
      expect(first.stopReason).toBe('paused')
      const spent = budget.spent.costUsd
      expect(spent).toBeCloseTo(2.08, 3)
      const decisions = approve(first.pending)
      await expect(outside(journal).resume('r', { decisions })).rejects.toMatchObject({ code: 'not_restored' })
      const stored = new Budget({ costUsd: 100, spent: { costUsd: spent } })
      const done = await outside(journal).resume('r', { decisions, budget: stored })
      expect(done.stopReason).toBe('answered')
      expect(done.usage.costUsd).toBeCloseTo(4.16, 3)
      expect(stored.spent.costUsd).toBeCloseTo(done.usage.costUsd ?? 0, 6)
      await journal.close?.()
      await rm(folder, { recursive: true })
    },
  )

  it('P2.1 H50 killed at any moment, a run sends at most one request more than without', async () => {
    const run = async (crashAt: number) => {
      let requests = 0
      const turn = (made: ScriptedTurn) => {
        requests++
        return made
      }
      const leaf = agent(() => turn({ text: 'Done.', usage: dear }))
      const journal = new StrictJournal(crashAt)
      const outer = agent(() => turn({ toolCalls: calls(6), usage: dear }), {
        tools: [asTool(leaf, { ...parts, effect: 'read' })],
        toolConcurrency: 1,
        journal,
        maxIterations: 20,
        limits: { costUsd: 4 },
      })
      const result = await outer.run('go', { runId: 'r' })
      return { result, requests, journal }
    }
    const whole = await run(Number.POSITIVE_INFINITY)
    expect([whole.result.stopReason, whole.requests]).toEqual(['budget', 4])
    for (let crashAt = 1; crashAt <= whole.journal.moments; crashAt++) {
      const { result, requests, journal } = await run(crashAt)
      expect(journal.violations).toEqual([])
      expect(result.stopReason).toBe('budget')
      expect(result.usage.costUsd).toBeGreaterThanOrEqual(4)
      expect(requests, `killed at ${crashAt}`).toBeLessThanOrEqual(5)
    }
  })
})
