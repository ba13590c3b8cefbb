import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RunUsage } from '../../src/agent/limits/run-usage.ts'
import { checkCostIsKnown, resolveLimits } from '../../src/agent/options/limits.ts'
import { RepeatBreaker } from '../../src/agent/run/run-state.ts'
import type { RunSettings } from '../../src/agent/types/options.ts'
import type { PlannedCall } from '../../src/agent/types/recorded.ts'
import { InvalidOptionError } from '../../src/core/errors.ts'
import type { Content, Usage } from '../../src/core/messages.ts'
import { withCost } from '../../src/models/usage.ts'

const loose = (settings: object): RunSettings<never> => settings
const usage = (totalTokens: number, costUsd?: number): Usage => ({
  inputTokens: totalTokens,
  outputTokens: 0,
  totalTokens,
  ...(costUsd === undefined ? {} : { costUsd }),
})

describe('resolveLimits', () => {
  it('S0-17 S1-23 has the documented defaults', () => {
    expect(resolveLimits({})).toEqual({
      maxIterations: 5,
      toolTimeoutMs: 30_000,
      toolConcurrency: 8,
      maxResultBytes: 65_536,
      takenResultBytes: 65_536,
      maxArgumentValues: Number.POSITIVE_INFINITY,
      streamIdleTimeoutMs: 60_000,
      streamStallTimeoutMs: 600_000,
      deadlineMs: Number.POSITIVE_INFINITY,
      tokens: Number.POSITIVE_INFINITY,
      costUsd: Number.POSITIVE_INFINITY,
      toolCalls: Number.POSITIVE_INFINITY,
      depth: 5,
      repeatedCalls: 3,
      repeatWindow: 8,
    })
  })

  const counts: [string, (value: unknown) => object, number][] = [
    ['maxIterations', (maxIterations) => ({ maxIterations }), 1],
    ['maxToolRounds', (maxToolRounds) => ({ maxToolRounds }), 1],
    ['toolConcurrency', (toolConcurrency) => ({ toolConcurrency }), 1],
    ['maxResultBytes', (maxResultBytes) => ({ maxResultBytes }), 1],
    ['limits.toolCalls', (toolCalls) => ({ limits: { toolCalls } }), 0],
    ['limits.repeatedCalls', (repeatedCalls) => ({ limits: { repeatedCalls } }), 1],
    ['limits.repeatWindow', (repeatWindow) => ({ limits: { repeatWindow } }), 1],
  ]

  it.each(counts)('H4 S0-20 `%s` is an integer of at least its minimum', (name, settings, least) => {
    for (const value of [least - 1, 1.5, Number.NaN, -1, Number.NEGATIVE_INFINITY, 2 ** 53, '1', true, {}, 1n]) {
      expect(() => resolveLimits(loose(settings(value))), String(value)).toThrow(InvalidOptionError)
      expect(() => resolveLimits(loose(settings(value))), String(value)).toThrow(`Expected \`${name}\` to be an integer ≥ ${least}, got \``)
    }
    for (const value of [least, least + 1, Number.MAX_SAFE_INTEGER, undefined])
      expect(() => resolveLimits(loose(settings(value)))).not.toThrow()
  })

  it.each(['maxIterations', 'maxToolRounds', 'toolConcurrency', 'maxResultBytes'])('H4 `%s` can’t be infinite', (name) => {
    expect(() => resolveLimits(loose({ [name]: Number.POSITIVE_INFINITY }))).toThrow(InvalidOptionError)
  })

  const amounts: [string, (value: unknown) => object][] = [
    ['toolTimeoutMs', (toolTimeoutMs) => ({ toolTimeoutMs })],
    ['streamIdleTimeoutMs', (streamIdleTimeoutMs) => ({ streamIdleTimeoutMs })],
    ['limits.deadlineMs', (deadlineMs) => ({ limits: { deadlineMs } })],
    ['limits.tokens', (tokens) => ({ limits: { tokens } })],
    ['limits.costUsd', (costUsd) => ({ limits: { costUsd } })],
  ]

  it.each(amounts)('H4 `%s` is a number above 0, and may be infinite', (name, settings) => {
    for (const value of [0, -0, -1, Number.NaN, Number.NEGATIVE_INFINITY, '1', null, {}, 1n]) {
      expect(() => resolveLimits(loose(settings(value))), String(value)).toThrow(`Expected \`${name}\` to be a number > 0, got \``)
    }
    for (const value of [0.5, 1e9, Number.POSITIVE_INFINITY, undefined]) expect(() => resolveLimits(loose(settings(value)))).not.toThrow()
  })

  it('S3-11 `maxToolRounds` is an alias; two different values are refused', () => {
    expect(resolveLimits({ maxToolRounds: 7 }).maxIterations).toBe(7)
    expect(resolveLimits({ maxToolRounds: 7, maxIterations: 7 }).maxIterations).toBe(7)
    expect(() => resolveLimits({ maxToolRounds: 7, maxIterations: 8 })).toThrow(
      'Expected `maxToolRounds` to be the same as `maxIterations` (8) when both are given, got `7`',
    )
  })
})

describe('cost', () => {
  it('H8 a limit on something that can’t be measured is refused', () => {
    const unknown = { nativeTools: true }
    expect(() => checkCostIsKnown('limits.costUsd', 1, { provider: 'p', model: 'm', capabilities: unknown })).toThrow(InvalidOptionError)
    for (const [limits, capabilities] of [
      [{ costUsd: 1 }, { ...unknown, price: { input: 1, output: 1 } }],
      [{ costUsd: 1 }, { ...unknown, reportsCost: true }],
      [{ costUsd: Number.POSITIVE_INFINITY }, unknown],
      [{}, unknown],
      [undefined, unknown],
    ] as const) {
      expect(() => checkCostIsKnown('limits.costUsd', limits?.costUsd, { provider: 'p', model: 'm', capabilities })).not.toThrow()
    }
  })

  it('is computed from the price, with that of cached tokens; the provider’s own value wins', () => {
    const price = { input: 2, output: 10, cacheRead: 0.5, cacheWrite: 4 }
    const used: Usage = {
      inputTokens: 1_000_000,
      outputTokens: 100_000,
      totalTokens: 1_100_000,
      cacheReadTokens: 400_000,
      cacheWriteTokens: 100_000,
    }
    expect(withCost(used, { nativeTools: true, price }).costUsd).toBeCloseTo(0.5 * 2 + 0.4 * 0.5 + 0.1 * 4 + 0.1 * 10, 10)
    expect(withCost(used, { nativeTools: true, price: { input: 2, output: 10 } }).costUsd).toBeCloseTo(3, 10)
    expect(withCost({ ...used, costUsd: 9 }, { nativeTools: true, price })).toEqual({ ...used, costUsd: 9 })
    expect(withCost(used, { nativeTools: true })).toBe(used)
    // A provider that counts cached tokens beside the input, not in it: nothing is ever negative.
    expect(withCost({ ...used, inputTokens: 10, outputTokens: 0 }, { nativeTools: true, price }).costUsd).toBeGreaterThan(0)
  })
})

const call = (more: Partial<PlannedCall> = {}): PlannedCall => ({
  id: 'c',
  name: 'add',
  rawArguments: '{}',
  args: {},
  action: 'run',
  effect: 'read',
  ...more,
})

describe('RunUsage', () => {
  it('H8 tokens and cost are used up at the limit, not beyond it', () => {
    const budget = new RunUsage(resolveLimits({ limits: { tokens: 100, costUsd: 1 }, maxIterations: 9 }))
    budget.spend(usage(99, 0.5))
    budget.spend(undefined)
    expect(budget.exhausted(1)).toBeUndefined()
    budget.spend(usage(1))
    expect(budget.exhausted(1)).toBe('budget')
    const cost = new RunUsage(resolveLimits({ limits: { costUsd: 1 } }))
    cost.spend(usage(1, 0.5))
    cost.spend(usage(1, 0.5))
    expect(cost.exhausted(1)).toBe('budget')
  })

  it('H4 names the budget before the iterations if several limits are reached at once', () => {
    const budget = new RunUsage(resolveLimits({ limits: { tokens: 1 }, maxIterations: 2 }))
    expect([budget.exhausted(1), budget.exhausted(2), budget.exhausted(3)]).toEqual([undefined, 'max_iterations', 'max_iterations'])
    budget.spend(usage(1))
    expect(budget.exhausted(2)).toBe('budget')
  })

  it('H8 refuses calls beyond the limit, in order, across all rounds; refused ones do not count', () => {
    const budget = new RunUsage(resolveLimits({ limits: { toolCalls: 2 } }))
    const refused = call({ action: 'reject', refusal: { code: 'tool_not_found', text: 'no' } })
    expect(budget.admit([refused, call({ id: 'a' })])).toEqual([refused, call({ id: 'a' })])
    expect(budget.exhausted(1)).toBeUndefined()
    const admitted = budget.admit([call({ id: 'b', action: 'client' }), call({ id: 'c', approval: true }), refused])
    expect(admitted).toEqual([
      call({ id: 'b', action: 'client' }),
      call({ id: 'c', action: 'reject', refusal: { code: 'tool_denied', text: 'Not run: the limit of 2 tool calls is reached.' } }),
      refused,
    ])
    expect(admitted[1]).not.toHaveProperty('approval')
    expect(budget.exhausted(1)).toBe('budget')
  })

  it('H8 counts the usage inside a call while it runs, and by its record once that is there', () => {
    const outer = new RunUsage(resolveLimits({ limits: { tokens: 100, toolCalls: 9 } }))
    const inner = new RunUsage(resolveLimits({}), { budget: outer, toolCallId: 'a', runId: 'r' })
    inner.spend(usage(60))
    inner.admit([call()])
    expect(outer.exhausted(1)).toBeUndefined()
    expect(outer.spentIn('a')).toMatchObject({ usage: { totalTokens: 60 }, toolCalls: 1 })
    const again = new RunUsage(resolveLimits({}), { budget: outer, toolCallId: 'a', runId: 'r' })
    again.spend(usage(70))
    expect([outer.spentIn('a')?.usage.totalTokens, outer.exhausted(1)]).toEqual([70, undefined])
    outer.settle([{ id: 'a', ...(outer.spentIn('a') && { nested: { usage: usage(70), toolCalls: 0 } }) }])
    again.spend(usage(30))
    expect(outer.exhausted(1)).toBeUndefined()
    outer.spend(usage(30))
    expect([outer.exhausted(1), again.exhausted(1)]).toEqual(['budget', 'budget'])
  })

  it('H8 runs no call if the limit is 0', () => {
    const budget = new RunUsage(resolveLimits({ limits: { toolCalls: 0 } }))
    expect(budget.exhausted(1)).toBeUndefined()
    expect(budget.admit([call()])).toMatchObject([{ action: 'reject' }])
    expect(budget.exhausted(1)).toBe('budget')
  })
})

describe('RepeatBreaker', () => {
  const turns = (breaker: RepeatBreaker, ...rounds: string[][]) =>
    rounds.map((names, round) => {
      const planned = names.map((name, index) => call({ id: `${round}.${index}`, name, rawArguments: name }))
      const { tell, end } = breaker.countRound(planned, [])
      return [[...tell], end]
    })

  it('H5 warns once about a call repeated as often as allowed; repeated again, it ends the run', () => {
    expect(turns(new RepeatBreaker(2, 8), ['a'], ['a'], ['a'], ['a'])).toEqual([
      [[], false],
      [[], false],
      [['2.0'], false],
      [[], true],
    ])
  })

  it('H5 starts counting again after a turn without the call; other calls beside it have no effect', () => {
    expect(turns(new RepeatBreaker(1, 8), ['a'], ['b'], ['a'], ['a', 'c'], ['a'])).toEqual([
      [[], false],
      [[], false],
      [[], false],
      [['3.0'], false],
      [[], true],
    ])
  })

  it('H5 counts the same call once, however often it is in one turn', () => {
    expect(turns(new RepeatBreaker(1, 8), ['a', 'a', 'a'], ['a', 'a'])).toEqual([
      [[], false],
      [['1.0', '1.1'], false],
    ])
  })

  it('H5 treats other arguments as another call', () => {
    const breaker = new RepeatBreaker(1, 8)
    for (let i = 0; i < 20; i++) expect(breaker.countRound([call({ rawArguments: `{"i":${i}}`, args: { i } })], []).end).toBe(false)
  })

  it('H5 ignores white space and the order of keys, but not the order of a list', () => {
    const ends = (...texts: string[]) => {
      const breaker = new RepeatBreaker(1, 8)
      return texts.map((rawArguments) => breaker.countRound([call({ rawArguments, args: JSON.parse(rawArguments) })], []).end)
    }
    expect(ends('{"a":{"b":1,"c":2},"d":3}', '{"d":3, "a":{"c":2, "b":1}}', '{ "a":{"b":1,"c":2}, "d":3 }')).toEqual([false, false, true])
    expect(ends('{"l":[1,2]}', '{"l":[2,1]}', '{"l":[1,2]}', '{"l":[2,1]}')).toEqual([false, false, false, false])
  })

  it('H5 does not count the same call with another result', () => {
    const ends = (...contents: Content[]) => {
      const breaker = new RepeatBreaker(1, 8)
      return contents.map((content) => breaker.countRound([call({ id: 'c' })], [{ id: 'c', content }]).end)
    }
    expect(ends('15 %', '30 %', '45 %', '60 %', 'done')).toEqual([false, false, false, false, false])
    expect(ends('15 %', '15 %', '15 %')).toEqual([false, false, true])
    expect(ends('15 %', '15 %', '30 %', '30 %', '30 %')).toEqual([false, false, false, false, true])
    const image = (data: string): Content => [{ type: 'image', data, mediaType: 'image/png' }]
    expect(ends(image('a'), image('b'), image('c'))).toEqual([false, false, false])
    expect(ends(image('a'), image('a'), image('a'))).toEqual([false, false, true])
  })

  it('H5 never ends a run if switched off', () => {
    const breaker = new RepeatBreaker(Number.POSITIVE_INFINITY, 8)
    for (let i = 0; i < 100; i++) expect(breaker.countRound([call()], [])).toEqual({ tell: new Set(), end: false })
  })

  it('P2.6 finds alternating calls within its window', () => {
    const endOf = (breaker: RepeatBreaker, names: string[]) => turns(breaker, ...names.map((name) => [name])).findIndex(([, end]) => end)
    const inTurn = (...cycle: string[]) => Array.from({ length: 60 }, (_, at) => cycle[at % cycle.length] ?? '')
    expect(endOf(new RepeatBreaker(3, 8), inTurn('a', 'b'))).toBe(8)
    expect(endOf(new RepeatBreaker(3, 1), inTurn('a', 'b'))).toBe(-1)
    expect(endOf(new RepeatBreaker(3, 8), inTurn('a', 'b', 'c'))).toBeGreaterThan(8)
    expect(endOf(new RepeatBreaker(3, 8), inTurn(...'abcd'))).toBeGreaterThan(8)
    expect(endOf(new RepeatBreaker(3, 8), inTurn(...'abcde'))).toBe(-1)
    expect(endOf(new RepeatBreaker(3, 10), inTurn(...'abcde'))).toBeGreaterThan(8)
    // More repeats than the window has turns.
    expect(endOf(new RepeatBreaker(20, 8), inTurn('a'))).toBe(21)
    expect(turns(new RepeatBreaker(1, 8), ['a'], ['b'], ['a'], ['b'], ['a'], ['b'])).toEqual([
      [[], false],
      [[], false],
      [[], false],
      [['3.0'], false],
      [['4.0'], false],
      [[], true],
    ])
  })

  it('P2.6 does not count a call as repeated if something new happens in between, such as an edit between two tests', () => {
    const breaker = new RepeatBreaker(1, 8)
    for (let i = 0; i < 30; i++) {
      const edit = call({ id: 'e', name: 'edit', rawArguments: `{"i":${i}}`, args: { i } })
      expect(breaker.countRound([edit], [{ id: 'e', content: 'ok' }]).end).toBe(false)
      expect(breaker.countRound([call({ id: 't', name: 'test' })], [{ id: 't', content: '1 failed' }]).end).toBe(false)
    }
  })

  it('P2.6 does not count polls whose results change, whatever they alternate with', () => {
    const breaker = new RepeatBreaker(1, 8)
    for (let i = 0; i < 30; i++) {
      expect(breaker.countRound([call({ id: 'p', name: 'poll' })], [{ id: 'p', content: `${i} %` }]).end).toBe(false)
      expect(breaker.countRound([call({ id: 'w', name: 'wait' })], [{ id: 'w', content: 'waited' }]).end).toBe(false)
    }
  })

  it('H5 ends exactly when a call has been made in more than `most` + 1 consecutive turns', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uniqueArray(fc.constantFrom('a', 'b', 'c'), { maxLength: 3 }), { maxLength: 12 }),
        fc.integer({ min: 1, max: 4 }),
        (rounds, most) => {
          const breaker = new RepeatBreaker(most, 1)
          const ends = turns(breaker, ...rounds).map(([, end]) => end)
          const expected = rounds.map((_, at) =>
            (['a', 'b', 'c'] as const).some(
              (name) => at >= most + 1 && rounds.slice(at - most - 1, at + 1).every((round) => round.includes(name)),
            ),
          )
          expect(ends).toEqual(expected)
        },
      ),
    )
  })
})
