import { getEventListeners } from 'node:events'
import fc from 'fast-check'
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { RunError } from '../../src/agent/run/run-error.ts'
import type { RunnerOptions, RunResult } from '../../src/agent/types/options.ts'
import { ModelError } from '../../src/core/errors.ts'
import { Event, type EventName } from '../../src/core/events.ts'
import { addUsage, noUsage } from '../../src/core/messages.ts'
import { findDialect } from '../../src/dialects/index.ts'
import type { ChatModel } from '../../src/models/chat-model.ts'
import type { ScriptedCall, ScriptedTurn } from '../../src/testing/script.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { type AnyTool, defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from './recording-logger.ts'
import { comparable, expectPairedEvents, expectValidHistory, watchCalls } from './stage.ts'
import { inWords } from './text-modes.ts'
import { turnEventLoop } from './waiting.ts'

const seed = 20_260_101
const numRuns = 300
const toolTimeoutMs = 10

const unhandled: unknown[] = []
const noteUnhandled = (reason: unknown) => void unhandled.push(reason)
// Loads what is loaded on first use, because `settle` assumes that only timers take long.
beforeAll(async () => {
  await new AgentRunner({ model: modelOf([{ text: 'Hi.' }]).model, tools: makeTools(new Set()) }).run('go')
  await new AgentRunner({ model: modelOf([{ text: 'Hi.' }], 'json').model, tools: makeTools(new Set()) }).run('go')
})
beforeEach(() => {
  process.on('unhandledRejection', noteUnhandled)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  vi.useRealTimers()
  process.off('unhandledRejection', noteUnhandled)
})

/** Tools of every kind. `ownTimers` has the timers they set themselves and leave behind. */
function makeTools(ownTimers: Set<unknown>): AnyTool[] {
  const anything = { type: 'object' } as const
  const wait = (ms: number, signal?: AbortSignal) =>
    new Promise<string>((resolve) => {
      const timer = setTimeout(() => {
        ownTimers.delete(timer)
        resolve(`after ${ms}`)
      }, ms)
      ownTimers.add(timer)
      signal?.addEventListener('abort', () => {
        clearTimeout(timer)
        ownTimers.delete(timer)
      })
    })
  const tool = (name: string, execute: AnyTool['execute'], options: Partial<AnyTool> = {}): AnyTool => ({
    ...defineTool({ name, description: name, parameters: anything }),
    ...(execute === undefined ? {} : { execute }),
    ...options,
  })
  return [
    tool('good', (args) => ({ got: args })),
    tool('throws', () => Promise.reject(new Error('no luck'))),
    tool('throws-at-once', () => {
      throw undefined
    }),
    tool('slow', (_args, { signal }) => wait(5, signal)),
    tool('late', () => wait(25)),
    tool('late-failure', () => wait(25).then(() => Promise.reject(new Error('late')))),
    tool('deaf', () => new Promise(() => {})),
    tool('flaky', (_args, { attempt }) => (attempt === 1 ? Promise.reject(new Error('again')) : 'at last'), { retries: 1 }),
    tool('alone', (_args, { signal }) => wait(3, signal), { parallel: false }),
    tool('reports', (_args, { progress }) => {
      progress({ step: 1 })
      setTimeout(() => progress({ step: 2 }), 1)
      return wait(2)
    }),
    tool('asks', () => 'allowed', { approval: true }),
    tool('final', () => 'the end', { final: true }),
    { ...defineTool({ name: 'strict', description: 'strict', parameters: z.object({ a: z.number() }), execute: ({ a }) => a }) },
    {
      ...defineTool({
        name: 'slow-check',
        description: 'checks for ever',
        parameters: z.object({}).refine(() => new Promise<never>(() => {})),
        execute: () => 'never',
      }),
    },
  ]
}

const toolNames = [...makeTools(new Set()).map(({ name }) => name), 'gone', 'functions.good', '', '__proto__']

const anyCall = fc.record({
  name: fc.constantFrom(...toolNames),
  args: fc.constantFrom('{}', '{}', '{"a":1}', '{"a":"x"}', '', '[', '{"a":', 'null', '[]', '{"__proto__":{"a":1}}'),
  id: fc.constantFrom(undefined, undefined, '', 'same', 'call_1_0', 'x y'),
})

type AnyTurn = ScriptedTurn & { garbage?: boolean; throwsAtOnce?: boolean }
const anyTurn: fc.Arbitrary<AnyTurn> = fc
  .record({
    text: fc.constantFrom('', '', 'Some words.', ' ', '🙂é\ud800'),
    // Three times out of four there are some.
    calls: fc.array(anyCall, { maxLength: 5 }),
    silent: fc.constantFrom(false, false, false, true),
    end: fc.constantFrom(
      '',
      '',
      '',
      '',
      '',
      '',
      'length',
      'refusal',
      'content_filter',
      'error',
      'model error',
      'hang',
      'deaf',
      'garbage',
      'throw',
    ),
    usage: fc.constantFrom(undefined, { inputTokens: 7, outputTokens: 3 }),
    interleave: fc.boolean(),
  })
  .map(({ text, calls, silent, end, usage, interleave }) => {
    const toolCalls = (silent ? [] : calls).map(({ id, ...call }): ScriptedCall => (id === undefined ? call : { ...call, id }))
    const turn: AnyTurn = { text, interleave, toolCalls }
    if (usage !== undefined) turn.usage = usage
    if (end === 'length' || end === 'refusal' || end === 'content_filter') turn.finishReason = end
    if (end === 'error') turn.error = new TypeError('broken')
    if (end === 'model error') turn.error = modelError(text)
    if (end === 'hang' || end === 'deaf') turn[end] = true
    if (end === 'garbage') turn.garbage = true
    if (end === 'throw') turn.throwsAtOnce = true
    return turn
  })

function modelError(text: string): ModelError {
  const partial = { text, usage: { inputTokens: 2, outputTokens: 1, totalTokens: 3 } }
  return new ModelError('provider_error', 'overloaded', { provider: 'scripted', retryable: true, partial })
}

interface Scenario {
  turns: AnyTurn[]
  options: Omit<RunnerOptions, 'model'>
  approve: 'yes' | 'no' | 'throws' | 'never'
  /** Aborts at this event, counted from 0; -1 before the start; undefined never. */
  abortAt: number | undefined
  /** A consumer leaves after this event. */
  leaveAt: number | undefined
}

const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 })

const scenarios: fc.Arbitrary<Scenario> = fc.record({
  turns: fc.oneof(
    { weight: 3, arbitrary: fc.array(anyTurn, { minLength: 1, maxLength: 6 }) },
    { weight: 1, arbitrary: anyTurn.map((turn) => Array<AnyTurn>(6).fill(turn)) },
  ),
  options: fc
    .record({
      maxIterations: fc.integer({ min: 1, max: 6 }),
      toolConcurrency: fc.integer({ min: 1, max: 4 }),
      onLimit: fc.constantFrom('stop' as const, 'answer' as const),
      onTruncated: fc.constantFrom('stop' as const, 'continue' as const),
      maxResultBytes: fc.constantFrom(8, 65_536),
      limits: fc.record({
        deadlineMs: fc.constantFrom(15, 5_000, 5_000),
        tokens: fc.constantFrom(15, 10_000, 10_000),
        toolCalls: fc.constantFrom(2, 100, 100),
        repeatedCalls: fc.constantFrom(1, 1, 3),
      }),
    })
    .map((options) => ({ ...options, toolTimeoutMs })),
  approve: fc.constantFrom('yes' as const, 'no' as const, 'throws' as const, 'never' as const),
  abortAt: maybe(fc.integer({ min: -1, max: 40 })),
  leaveAt: maybe(fc.integer({ min: 0, max: 40 })),
})

const approvals: Record<Scenario['approve'], NonNullable<RunnerOptions['approve']>> = {
  yes: () => true,
  no: () => ({ approved: false, reason: 'not today' }),
  throws: () => {
    throw new Error('no decision')
  },
  never: () => new Promise(() => {}),
}

/** The script as a model, each turn with its own ids. A turn of garbage is an invalid response, and some models throw immediately. */
function modelOf(turns: readonly AnyTurn[], dialect?: string): { model: ChatModel; asked: () => number } {
  const capabilities = dialect === undefined ? { nativeTools: true } : { nativeTools: false, dialect }
  const { provider, model } = scriptedModel([])
  let asked = 0
  return {
    asked: () => asked,
    model: {
      provider,
      model,
      capabilities,
      generate(request, sink) {
        const { garbage, throwsAtOnce, ...turn } = turns[asked++] ?? { error: new Error('the script is over') }
        if (throwsAtOnce) throw new Error('no model at all')
        const said = dialect === undefined ? turn : inWords(turn, findDialect(dialect))
        const response = scriptedModel([said]).generate(request, sink)
        return garbage ? response.then(() => null as never) : response
      },
    },
  }
}

/**
 * Lets everything happen that can, then moves the clock to the next timer, until `work` settles. Throws if it never will. Work that yields
 * takes several turns of the event loop, although it waits for no timer.
 */
async function settle<T>(work: Promise<T>): Promise<T> {
  let settled = false
  work.then(
    () => {
      settled = true
    },
    () => {
      settled = true
    },
  )
  for (let idle = 0; !settled; ) {
    await turnEventLoop(25)
    if (settled) break
    if (vi.getTimerCount() > 0) vi.advanceTimersToNextTimer()
    else if (++idle > 10_000) throw new Error('Expected the run to settle, got one that waits for nothing')
  }
  return work
}

interface Played {
  result: RunResult
  names: EventName[]
}

async function play({ turns, options, approve, abortAt, leaveAt }: Scenario, how: 'run' | 'stream', dialect?: string): Promise<Played> {
  const ownTimers = new Set<unknown>()
  const { logger } = recordingLogger()
  const { model, asked } = modelOf(turns, dialect)
  const runner = new AgentRunner({ ...options, model, logger, tools: makeTools(ownTimers), approve: approvals[approve] })
  const events = watchCalls(runner)
  const controller = new AbortController()
  const names: EventName[] = []
  runner.bus.onAny((name) => {
    if (names.length === abortAt) controller.abort()
    names.push(name)
  })
  if (abortAt === -1) controller.abort()
  const { signal } = controller

  const read = async () => {
    const stream = runner.stream('go', { signal })
    let seen = 0
    try {
      for await (const _ of stream) if (seen++ === leaveAt) break
    } catch (error) {
      // If it throws at the end, that is how the run failed, and nothing else.
      if (!(error instanceof RunError)) throw error
      expect(error.result).toBe(await stream.result)
    }
    return stream.result
  }
  const result = await settle(how === 'run' ? runner.run('go', { signal }) : read())

  expectValidHistory(result.messages)
  expectPairedEvents(events, result)
  const bound = options.maxIterations ?? 5
  const extra = options.onLimit === 'answer' ? 1 : 0
  expect(result.iterations).toBeLessThanOrEqual(bound + extra)
  // An empty response is requested once more.
  expect(asked()).toBeLessThanOrEqual(2 * (bound + extra))
  expect(names.filter((name) => name === Event.RUN_START || name === Event.RUN_END)).toEqual([Event.RUN_START, Event.RUN_END])
  expect(names.at(-1)).toBe(Event.RUN_END)
  const spent = result.steps.reduce((sum, step) => addUsage(sum, step.usage), noUsage)
  expect(result.usage.totalTokens).toBeGreaterThanOrEqual(spent.totalTokens)
  const { stopReason } = result
  const mustExplain = stopReason === 'model_error' || stopReason === 'refused' || stopReason === 'aborted'
  // The extra request for an answer may fail: the run then ends with the limit it reached, and with that error.
  const mayExplain = extra === 1 && (stopReason === 'max_iterations' || stopReason === 'repeated_calls')
  if (!mayExplain) expect(result.error !== undefined).toBe(mustExplain)
  if (stopReason === 'answered') expect(result.output.trim()).not.toBe('')
  if (stopReason === 'aborted') expect(abortAt !== undefined || leaveAt !== undefined).toBe(true)

  // Nothing of the run is left: remaining timers belong to tools that left them behind.
  expect(getEventListeners(signal, 'abort')).toEqual([])
  const quiet = names.length
  vi.runAllTimers()
  await turnEventLoop(1)
  expect(vi.getTimerCount()).toBe(0)
  expect(names).toHaveLength(quiet)
  expect(unhandled.splice(0)).toEqual([])

  const records = recordingLogger()
  const next = new AgentRunner({ model: scriptedModel(['continued']), logger: records.logger, instructions: 'Go on.' })
  expect(await next.run('go on', { messages: result.messages })).toMatchObject({ stopReason: 'answered', output: 'continued' })
  expect(records.records).toEqual([])
  return { result, names }
}

describe('any script, any limits, an abort at any time', () => {
  it('H2 H15 H23 H27 H28 H29 H30 H36 H45 a run settles, leaves nothing behind, and its history is valid', async () => {
    const reasons = new Map<string, number>()
    const outcomes = new Map<string, number>()
    const count = (counts: Map<string, number>, key: string) => counts.set(key, (counts.get(key) ?? 0) + 1)
    await fc.assert(
      fc.asyncProperty(scenarios, async (scenario) => {
        const { result } = await play({ ...scenario, leaveAt: undefined }, 'run')
        count(reasons, result.stopReason)
        for (const { outcome } of result.toolCalls) count(outcomes, outcome)
      }),
      { seed, numRuns },
    )
    // The scripts must reach every ending, or this would prove little.
    const everywhere = [
      'answered',
      'truncated',
      'max_iterations',
      'budget',
      'deadline',
      'aborted',
      'stopped',
      'repeated_calls',
      'refused',
      'model_error',
    ]
    expect([...reasons.keys()].sort()).toEqual(everywhere.sort())
    expect([...outcomes.keys()].sort()).toEqual(['cancelled', 'denied', 'failed', 'ok', 'rejected', 'timeout', 'truncated'])
  })

  it.each(['tool-action', 'json', 'hermes'])('H2 H15 H30 H36 H45 the same for text calls, %s; run and stream agree', async (dialect) => {
    await fc.assert(
      fc.asyncProperty(scenarios, async (scenario) => {
        const staying = { ...scenario, leaveAt: undefined }
        const [ran, streamed] = [await play(staying, 'run', dialect), await play(staying, 'stream', dialect)]
        expect(comparable(streamed.result)).toEqual(comparable(ran.result))
        expect(streamed.names).toEqual(ran.names)
      }),
      { seed: seed + 3, numRuns: 60 },
    )
  })

  it('H31 the same for a stream whose consumer may leave at any time', async () => {
    await fc.assert(
      fc.asyncProperty(scenarios, async (scenario) => {
        await play(scenario, 'stream')
      }),
      { seed: seed + 1, numRuns },
    )
  })

  it('H7 run and stream agree, whatever happens', async () => {
    await fc.assert(
      fc.asyncProperty(scenarios, async (scenario) => {
        const staying = { ...scenario, leaveAt: undefined }
        const [ran, streamed] = [await play(staying, 'run'), await play(staying, 'stream')]
        expect(comparable(streamed.result)).toEqual(comparable(ran.result))
        expect(streamed.names).toEqual(ran.names)
      }),
      { seed: seed + 2, numRuns: 150 },
    )
  })
})
