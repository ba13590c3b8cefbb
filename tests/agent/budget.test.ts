import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { Hooks } from '../../src/agent/callbacks/hooks.ts'
import { Budget, BudgetSpentError } from '../../src/agent/limits/budget.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import type { PendingItem } from '../../src/agent/types/options.ts'
import type { ChatModel, ModelResponse } from '../../src/models/chat-model.ts'
import { memoryJournal, scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'

const signal = new AbortController().signal
const used = (tokens: number, costUsd = 0) => ({ inputTokens: tokens, outputTokens: 0, totalTokens: tokens, costUsd })
const approvals = (pending: readonly PendingItem[]) => pending.map((item) => ({ ...item, approved: true as const }))

/** A dollar for each request of a million tokens, few as they are. */
const price = { input: 1, output: 1 }
const dollar = { inputTokens: 1_000_000, outputTokens: 0 }
const answers = (count: number) =>
  scriptedModel(
    Array.from({ length: count }, (_, at) => ({ text: `answer ${at + 1}`, usage: dollar })),
    { capabilities: { nativeTools: true, price } },
  )

const look = defineTool({ name: 'look', description: 'Looks.', parameters: { type: 'object' }, execute: () => 'seen' })

describe('Budget', () => {
  it('counts what is spent, reserves what is about to be, and knows what is left', async () => {
    const budget = new Budget({ costUsd: 10, spent: { costUsd: 2 } })
    const one = await budget.reserve({ costUsd: 3, tokens: 10 }, signal)
    expect([budget.spent.costUsd, budget.left.costUsd, budget.limits.tokens]).toEqual([2, 5, Number.POSITIVE_INFINITY])
    one?.settle(used(20, 4))
    expect([budget.spent, budget.left.costUsd]).toEqual([{ costUsd: 6, tokens: 20 }, 4])
    const two = await budget.reserve({ costUsd: 4, tokens: 0 }, signal)
    two?.settle(undefined)
    expect(budget.left.costUsd).toBe(4)
    expect(await budget.reserve({ costUsd: 4.01, tokens: 0 }, signal)).toBeUndefined()
    budget.raise({ costUsd: 1 })
    expect(await budget.reserve({ costUsd: 4.01, tokens: 0 }, signal)).toBeDefined()
  })

  it('makes a request wait if it may fit once others have ended, and gives up if it can’t fit or is aborted', async () => {
    const budget = new Budget({ tokens: 100 })
    const first = await budget.reserve({ costUsd: 0, tokens: 60 }, signal)
    const fits = budget.reserve({ costUsd: 0, tokens: 60 }, signal)
    const leaving = new AbortController()
    const left = budget.reserve({ costUsd: 0, tokens: 60 }, leaving.signal)
    leaving.abort()
    expect(await left).toBeUndefined()
    first?.settle(used(40))
    const second = await fits
    expect(second).toBeDefined()
    const late = budget.reserve({ costUsd: 0, tokens: 50 }, signal)
    second?.settle(used(60))
    expect(await late).toBeUndefined()
    expect(budget.spent.tokens).toBe(100)
    // What costs nothing that is known does not fit into nothing.
    const dollars = new Budget({ costUsd: 1, spent: { costUsd: 1 } })
    expect(await dollars.reserve({ costUsd: 0, tokens: 1 }, signal)).toBeUndefined()
  })

  it('serves requests in order; a request that can never fit blocks no other', async () => {
    const budget = new Budget({ tokens: 100 })
    const told: string[] = []
    const ask = async (name: string, tokens: number) => {
      const given = await budget.reserve({ costUsd: 0, tokens }, signal)
      told.push(given === undefined ? `not ${name}` : name)
      return given
    }
    const first = await ask('first', 60)
    const large = ask('large', 60)
    // Would fit now, but others have waited for longer.
    const small = ask('small', 30)
    const huge = ask('huge', 80)
    const last = ask('last', 10)
    expect(await ask('never', 101)).toBeUndefined()
    first?.settle(used(30))
    const second = await large
    expect([budget.spent.tokens, budget.left.tokens, told]).toEqual([30, 10, ['first', 'not never', 'large']])
    second?.settle(used(10))
    expect(await Promise.all([small, huge, last])).toEqual([expect.anything(), undefined, expect.anything()])
    expect(told.slice(3)).toEqual(['small', 'not huge', 'last'])
  })

  it('checks each request a few times, however many wait', async () => {
    class Counting extends Budget {
      looks = 0
      protected override hasRoom(...amounts: Parameters<Budget['hasRoom']>): boolean {
        this.looks++
        return super.hasRoom(...amounts)
      }
    }
    const budget = new Counting({ tokens: 1_000_000 })
    const runs = 2_000
    const run = async () => {
      const given = await budget.reserve({ costUsd: 0, tokens: 490_000 }, new AbortController().signal)
      await new Promise(setImmediate)
      given?.settle(used(10))
    }
    await Promise.all(Array.from({ length: runs }, run))
    expect(budget.spent.tokens).toBe(10 * runs)
    expect(budget.looks).toBeLessThan(6 * runs)
  })

  it('does not lower its estimate of a response after responses without output', async () => {
    const budget = new Budget({ tokens: 10_000 })
    for (let at = 0; at < 30; at++) (await budget.reserve({ costUsd: 0, tokens: 1 }, signal))?.settle(used(0))
    expect(budget.expectedOutput()).toBe(500)
  })

  it('is whole again when nothing is under way, however the amounts were rounded', async () => {
    const budget = new Budget({ costUsd: 0.3 })
    for (let times = 0; times < 50; times++) {
      const all = await Promise.all([0.1, 0.1, 0.07].map((costUsd) => budget.reserve({ costUsd, tokens: 0 }, signal)))
      for (const one of all) one?.settle(undefined)
    }
    expect(budget.left.costUsd).toBe(0.3)
    expect(await budget.reserve({ costUsd: 0.3, tokens: 0 }, signal)).toBeDefined()
  })

  it('refuses a missing or invalid limit', () => {
    expect(() => new Budget({})).toThrow('Expected `budget` to be `costUsd`, `tokens`, or both')
    expect(() => new Budget({ costUsd: -1 })).toThrow('Expected `costUsd` to be a number ≥ 0, got `-1`')
    expect(() => new Budget({ tokens: 1, spent: { tokens: Number.NaN } })).toThrow('spent.tokens')
    expect(() => new Budget({ tokns: 1 } as never)).toThrow('tokens')
    expect(() => new Budget({ tokens: 1 }).raise({ tokens: -1 })).toThrow('Expected `tokens`')
  })
})

describe('a budget that runs share', () => {
  it('H8 ends runs that start after it is spent, before they send anything', async () => {
    const model = answers(9)
    const runner = new AgentRunner({ model, budget: new Budget({ costUsd: 2.5 }) })
    const reasons = []
    for (let at = 0; at < 4; at++) reasons.push((await runner.run('go')).stopReason)
    // Estimates are small: the third begins with half a dollar left, and is the last.
    expect(reasons).toEqual(['answered', 'answered', 'answered', 'budget'])
    expect(model.requests).toHaveLength(3)
  })

  it('H8 can’t be overspent by many runs at once: each request reserves its estimate', async () => {
    // A thousand tokens, a dollar each.
    const words = 'a'.repeat(4_000)
    const model = scriptedModel(() => ({ text: 'ok', usage: { inputTokens: 1_000, outputTokens: 0 } }), {
      capabilities: { nativeTools: true, price: { input: 1_000, output: 1_000 } },
    })
    const budget = new Budget({ costUsd: 3.5 })
    const runner = new AgentRunner({ model, budget, maxOutputTokens: 1 })
    const results = await Promise.all(Array.from({ length: 8 }, () => runner.run(words)))
    expect(results.filter(({ stopReason }) => stopReason === 'answered')).toHaveLength(3)
    expect(results.filter(({ stopReason }) => stopReason === 'budget')).toHaveLength(5)
    expect(budget.spent.costUsd).toBe(3)
  })

  it('H8 is charged once for runs inside a call', async () => {
    const inner = new AgentRunner({ model: answers(3) })
    const model = scriptedModel(
      [
        { toolCalls: [{ name: 'ask', args: { task: 'x' } }], usage: dollar },
        { text: 'Done.', usage: dollar },
      ],
      { capabilities: { nativeTools: true, price } },
    )
    const tools = [asTool(inner, { name: 'ask', description: 'Asks.' })]
    const budget = new Budget({ costUsd: 100 })
    const own = new Budget({ tokens: 100_000_000 })
    const result = await new AgentRunner({ model, tools, budget }).run('go')
    expect(result).toMatchObject({ stopReason: 'answered', usage: { costUsd: 3 } })
    expect(budget.spent.costUsd).toBe(3)
    // With a budget of its own, the inner one draws on both.
    const withOwn = [asTool(new AgentRunner({ model: answers(3), budget: own }), { name: 'ask', description: 'Asks.' })]
    const again = scriptedModel(
      [
        { toolCalls: [{ name: 'ask', args: { task: 'x' } }], usage: dollar },
        { text: 'Done.', usage: dollar },
      ],
      {
        capabilities: { nativeTools: true, price },
      },
    )
    await new AgentRunner({ model: again, tools: withOwn, budget }).run('go')
    expect([budget.spent.costUsd, own.spent.tokens]).toEqual([6, 1_000_000])
  })

  it('counts the known usage of a failed request', async () => {
    const budget = new Budget({ tokens: 10_000 })
    const model = scriptedModel([{ error: new Error('down') }, { text: 'ok', usage: { inputTokens: 70, outputTokens: 7 } }])
    const runner = new AgentRunner({ model, budget, logger: { debug() {}, info() {}, warn() {}, error() {} } })
    await runner.run('go')
    expect([budget.spent.tokens, budget.left.tokens]).toEqual([0, 10_000])
    await runner.run('go')
    expect([budget.spent.tokens, budget.left.tokens]).toEqual([77, 9_923])
  })

  it('H8 counts input and output of an interrupted request by an estimate', async () => {
    const budget = new Budget({ tokens: 100_000 })
    const held = Promise.withResolvers<string>()
    const runner = new AgentRunner({ model: scriptedModel([{ chunks: ['b'.repeat(400), held.promise] }]), budget })
    const stream = runner.stream('a'.repeat(4_000))
    for await (const _ of stream.text) break
    const { stopReason, usage } = await stream.result
    held.resolve('')
    expect([stopReason, usage]).toEqual(['aborted', expect.objectContaining({ inputTokens: 1_004, outputTokens: 100 })])
    expect([budget.spent.tokens, budget.left.tokens]).toEqual([1_104, 98_896])
  })

  it('is refused if the price of a model is unknown, or if it is not a budget', () => {
    const budget = new Budget({ costUsd: 1 })
    expect(() => new AgentRunner({ model: scriptedModel(['x']), budget })).toThrow(/`budget\.costUsd` to be absent for a model whose price/)
    expect(() => new AgentRunner({ model: scriptedModel(['x']), budget: {} as never })).toThrow('Expected `budget` to be a Budget')
    expect(() => new AgentRunner({ model: scriptedModel(['x']), onBudget: 'wait' as never })).toThrow("`onBudget` to be 'stop' or 'pause'")
  })
})

describe('a budget, and hooks around the request', () => {
  const words = 'a'.repeat(2_400)
  const cheap = () => scriptedModel(() => ({ text: 'ok', usage: { inputTokens: 600, outputTokens: 1 } }))
  const quiet = { debug() {}, info() {}, warn() {}, error() {} }

  it('H8 a run inside a hook does not wait for what the hook wraps', async () => {
    // Only one such request fits at a time. If the outer one reserved its share before its hooks run, the inner one would wait forever.
    const budget = new Budget({ tokens: 1_900 })
    const inner = new AgentRunner({ model: cheap(), budget, limits: { deadlineMs: 2_000 } })
    const reasons: string[] = []
    const hook: Hooks = {
      async aroundModel(_, next) {
        reasons.push((await inner.run(words)).stopReason)
        return next()
      },
    }
    const result = await new AgentRunner({ model: cheap(), budget, hooks: [hook], toolTimeoutMs: 3_000 }).run(words)
    expect([...reasons, result.stopReason]).toEqual(['answered', 'answered'])
    expect(budget.spent.tokens).toBe(1_202)
  })

  it('H8 a run inside a custom model does not wait for what is reserved for that model’s request, and later ones don’t miss it', async () => {
    const budget = new Budget({ tokens: 1_900 })
    const inner = new AgentRunner({ model: cheap(), budget, limits: { deadlineMs: 2_000 } })
    const asked = Promise.withResolvers<void>()
    let later: Promise<string> = Promise.resolve('')
    const reasons: string[] = []
    const model: ChatModel = {
      ...cheap(),
      async generate() {
        reasons.push((await inner.run(words)).stopReason)
        later = asked.promise.then(async () => (await inner.run(words)).stopReason)
        return { text: 'ok', toolCalls: [], finishReason: 'stop', usage: used(600) }
      },
    }
    const result = await new AgentRunner({ model, budget }).run(words)
    asked.resolve()
    expect([...reasons, result.stopReason, await later]).toEqual(['budget', 'answered', 'answered'])
  })

  it('H8 an answer that a hook gives itself needs no budget', async () => {
    const budget = new Budget({ tokens: 1, spent: { tokens: 1 } })
    const hook: Hooks = { aroundModel: () => ({ text: 'kept', toolCalls: [], finishReason: 'stop' }) }
    const result = await new AgentRunner({ model: cheap(), budget, hooks: [hook] }).run('go')
    expect(result).toMatchObject({ stopReason: 'answered', output: 'kept' })
    expect(budget.spent.tokens).toBe(1)
  })

  it('H8 a hook gets an error if the budget is spent, and may answer instead', async () => {
    const budget = new Budget({ tokens: 10, spent: { tokens: 10 } })
    let told: unknown
    const asking = (answer?: ModelResponse): Hooks => ({
      async aroundModel(_, next) {
        return next().catch((error: unknown) => {
          told = error
          if (answer === undefined) throw error
          return answer
        })
      },
    })
    const run = (hook: Hooks) => new AgentRunner({ model: cheap(), budget, hooks: [hook], logger: quiet }).run('go')
    expect(await run(asking())).toMatchObject({ stopReason: 'budget' })
    expect(told).toBeInstanceOf(BudgetSpentError)
    expect(told).toMatchObject({ code: 'budget_spent', fault: 'caller', spent: { tokens: 10 }, limits: { tokens: 10 } })
    expect(String(told)).toContain('10 tokens of 10')
    expect(await run(asking({ text: 'kept', toolCalls: [], finishReason: 'stop' }))).toMatchObject({
      stopReason: 'answered',
      output: 'kept',
    })
    // A hook that throws an error of its own is skipped.
    const failing: Hooks = { aroundModel: (_, next) => next().catch((cause) => Promise.reject(new Error('my own', { cause }))) }
    expect(await run(failing)).toMatchObject({ stopReason: 'budget' })
  })
})

it('H8 the time that a request waits for the budget counts as waiting', async () => {
  const budget = new Budget({ tokens: 2_200 })
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
  const slow: ChatModel = {
    ...scriptedModel([]),
    async generate() {
      begin()
      await answered
      return { text: 'ok', toolCalls: [], finishReason: 'stop', usage: used(600) }
    },
  }
  const words = 'a'.repeat(4_000)
  const first = new AgentRunner({ model: slow, budget }).run(words)
  await begun
  const second = new AgentRunner({ model: scriptedModel(['ok']), budget })
  const asked = new Promise((resolve) => second.on('MODEL_START', resolve))
  const waiting = second.run(words)
  await asked
  // Until the clock that is measured by has moved on.
  for (const since = performance.now(); performance.now() - since < 20; ) await new Promise((resolve) => setImmediate(resolve))
  answer()
  expect((await first).steps[0]?.waitedMs).toBeUndefined()
  const [step] = (await waiting).steps
  expect(step?.waitedMs).toBeGreaterThanOrEqual(4)
})

describe("onBudget: 'pause'", () => {
  const script = () =>
    scriptedModel(
      [
        { toolCalls: [{ name: 'look', args: {} }], usage: dollar },
        { text: 'Done.', usage: dollar },
      ],
      { capabilities: { nativeTools: true, price } },
    )

  it('pauses the run with everything it has so far, until the budget is raised', async () => {
    const budget = new Budget({ costUsd: 1 })
    const model = script()
    const runner = new AgentRunner({ model, tools: [look], budget, onBudget: 'pause' })
    const paused = await runner.run('go')
    expect(paused).toMatchObject({
      stopReason: 'paused',
      pending: [{ kind: 'budget', tool: 'budget', about: { spent: { costUsd: 1 }, limits: { costUsd: 1 } } }],
    })
    expect(paused.toolCalls).toHaveLength(1)
    const state = JSON.parse(JSON.stringify(paused.state))
    // Approved, but not raised: it still waits.
    const still = await runner.resume(state, { decisions: approvals(paused.pending) })
    expect(still).toMatchObject({ stopReason: 'paused', pending: [{ kind: 'budget' }] })
    budget.raise({ costUsd: 5 })
    const done = await runner.resume(still.state, { decisions: approvals(still.pending) })
    expect(done).toMatchObject({ stopReason: 'answered', output: 'Done.', usage: { costUsd: 2 } })
    expect(model.requests).toHaveLength(2)
    // The tool has run once.
    expect(done.toolCalls).toHaveLength(1)
  })

  it('ends the run if somebody refuses', async () => {
    const runner = new AgentRunner({ model: script(), tools: [look], budget: new Budget({ costUsd: 0 }), onBudget: 'pause' })
    const paused = await runner.run('go')
    expect(paused).toMatchObject({ stopReason: 'paused', iterations: 0 })
    const [item] = paused.pending
    if (item === undefined) throw new Error('Expected something to be pending')
    const ended = await runner.resume(paused.state, { decisions: [{ ...item, approved: false }] })
    expect(ended).toMatchObject({ stopReason: 'budget' })
  })

  it('works under a journal, and does not wait for a run that is aborted', async () => {
    const budget = new Budget({ costUsd: 1 })
    const runner = new AgentRunner({ model: script(), tools: [look], journal: memoryJournal(), budget, onBudget: 'pause' })
    const paused = await runner.run('go', { runId: 'run-1' })
    expect(paused).toMatchObject({ stopReason: 'paused', pending: [{ kind: 'budget' }] })
    budget.raise({ costUsd: 1 })
    const done = await runner.resume('run-1', { decisions: approvals(paused.pending) })
    expect(done).toMatchObject({ stopReason: 'answered', output: 'Done.' })
    expect(budget.spent.costUsd).toBe(2)
    const aborted = await runner.run('go', { signal: AbortSignal.abort() })
    expect(aborted).toMatchObject({ stopReason: 'aborted', pending: [] })
  })

  it('pauses a run whose agent inside a call has no budget left, and continues inside that call', async () => {
    const budget = new Budget({ costUsd: 1 })
    const inner = new AgentRunner({ model: answers(1) })
    const model = scriptedModel(
      [
        { toolCalls: [{ name: 'ask', args: { task: 'x' } }], usage: dollar },
        { text: 'Done.', usage: dollar },
      ],
      {
        capabilities: { nativeTools: true, price },
      },
    )
    const tools = [asTool(inner, { name: 'ask', description: 'Asks.' })]
    const runner = new AgentRunner({ model, tools, budget, onBudget: 'pause' })
    const paused = await runner.run('go')
    expect(paused).toMatchObject({ stopReason: 'paused', pending: [{ kind: 'budget', path: [{ agent: 'ask' }] }] })
    budget.raise({ costUsd: 5 })
    expect(await runner.resume(paused.state, { decisions: approvals(paused.pending) })).toMatchObject({
      stopReason: 'answered',
      output: 'Done.',
    })
  })
})

it('a request without budget emits its start and its end', async () => {
  const runner = new AgentRunner({ model: answers(1), budget: new Budget({ costUsd: 1, spent: { costUsd: 1 } }) })
  const told: unknown[] = []
  runner.on('MODEL_START', () => void told.push('start'))
  runner.on('MODEL_END', ({ finishReason }) => void told.push(finishReason))
  expect((await runner.run('go')).stopReason).toBe('budget')
  expect(told).toEqual(['start', 'error'])
})
