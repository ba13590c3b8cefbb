import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import type { Json } from '../../src/core/messages.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { add, bench, listenersOf } from './call-bench.ts'

const listenTo = (signal: AbortSignal, over: () => void) => {
  signal.addEventListener('abort', over)
  return () => signal.removeEventListener('abort', over)
}

describe('the time limit of a call', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it.each([
    [undefined, 1_000],
    [250, 250],
  ])('S1-23 S3-12 is the environment’s, unless the tool has its own: %s', async (timeoutMs, limit) => {
    const tool = defineTool({
      name: 'slow',
      description: '',
      execute: () => new Promise(() => {}),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    })
    const { run, warnings } = bench([tool])
    const running = run('slow')
    let settled = false
    void running.then(() => {
      settled = true
    })
    await vi.advanceTimersByTimeAsync(limit - 1)
    expect(settled).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(await running).toEqual({
      message: {
        role: 'tool',
        content: `Tool \`slow\` timed out after ${limit} ms. It may have taken effect.`,
        toolCallId: 'call_1',
        name: 'slow',
        isError: true,
      },
      end: {
        outcome: 'timeout',
        code: 'tool_timeout',
        content: `Tool \`slow\` timed out after ${limit} ms. It may have taken effect.`,
        attempts: 1,
        effect: 'possible',
      },
    })
    expect(warnings()).toHaveLength(1)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('S1-24 H28 aborts the tool’s signal with the reason', async () => {
    let signal: AbortSignal | undefined
    const tool = defineTool({
      name: 'slow',
      description: '',
      execute: (_args, ctx) => {
        signal = ctx.signal
        return new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
      },
    })
    const { run, controller } = bench([tool])
    const running = run('slow')
    await vi.advanceTimersByTimeAsync(1_000)
    expect((await running).end.outcome).toBe('timeout')
    expect(signal?.aborted).toBe(true)
    expect(signal?.reason).toMatchObject({ name: 'TimeoutError', message: 'Tool `slow` timed out after 1000 ms.' })
    expect(controller.signal.aborted).toBe(false)
  })

  it('H28 leaves no timer, no listener and an unaborted signal after a tool that is in time', async () => {
    let signal: AbortSignal | undefined
    const tool = defineTool({
      name: 'fast',
      description: '',
      execute: (_args, ctx) => {
        signal = ctx.signal
      },
    })
    const { run, controller } = bench([tool])
    for (let i = 0; i < 100; i++) await run('fast')
    expect(vi.getTimerCount()).toBe(0)
    expect(listenersOf(controller.signal)).toBe(0)
    expect(signal?.aborted).toBe(false)
  })

  it.each([Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER, 2 ** 31])('may be %d ms, which is not short', async (timeoutMs) => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const { run } = bench([defineTool({ name: 'slow', description: '', execute: () => promise })])
    const running = run('slow', {}, { timeoutMs })
    await vi.advanceTimersByTimeAsync(60_000)
    resolve('at last')
    expect((await running).end).toMatchObject({ outcome: 'ok', value: 'at last' })
  })

  it('H28 H29 abandons a tool that ignores it; a late result or rejection is dropped and logged', async () => {
    const gates = [Promise.withResolvers<string>(), Promise.withResolvers<string>(), Promise.withResolvers<string>()]
    let calls = 0
    const tool = defineTool({ name: 'deaf', description: '', execute: () => gates[calls++]?.promise })
    const { run, lateResults } = bench([tool])
    const running = [run('deaf'), run('deaf'), run('deaf')]
    await vi.advanceTimersByTimeAsync(500)
    gates[2]?.resolve('in time')
    await vi.advanceTimersByTimeAsync(500)
    expect((await Promise.all(running)).map(({ end }) => end.outcome)).toEqual(['timeout', 'timeout', 'ok'])
    expect(lateResults()).toBe(0)
    gates[0]?.resolve('late')
    gates[1]?.reject(new Error('late'))
    await vi.advanceTimersByTimeAsync(0)
    expect(lateResults()).toBe(2)
  })

  it('does not count a failure in time as late', async () => {
    const tool = defineTool({
      name: 'fail',
      description: '',
      execute: async () => {
        throw new Error('at once')
      },
    })
    const { run, lateResults } = bench([tool])
    await run('fail')
    expect(lateResults()).toBe(0)
  })

  it('also ends a schema check that never settles', async () => {
    const never = z.object({ n: z.number().refine(() => new Promise<boolean>(() => {})) })
    const { run, controller } = bench([defineTool({ name: 'slow', description: '', parameters: never, execute: () => 'ran' })])
    const running = run('slow', { n: 1 })
    await vi.advanceTimersByTimeAsync(1_000)
    expect((await running).end).toMatchObject({ outcome: 'timeout', code: 'tool_timeout', attempts: 0 })
    const second = run('slow', { n: 1 })
    controller.abort()
    expect((await second).end).toMatchObject({ outcome: 'cancelled', attempts: 0 })
    expect([vi.getTimerCount(), listenersOf(controller.signal)]).toEqual([0, 0])
  })
})

describe('the end of the run', () => {
  it('S3-14 H30 prevents calls that have not started', async () => {
    const execute = vi.fn(() => 'ran')
    const onStart = vi.fn()
    const { run, controller } = bench([defineTool({ name: 'any', description: '', execute })], { onStart })
    controller.abort(new Error('over'))
    expect(await run('any')).toEqual({
      message: {
        role: 'tool',
        content: 'Tool `any` was cancelled: the run ended before it finished.',
        toolCallId: 'call_1',
        name: 'any',
        isError: true,
      },
      end: {
        outcome: 'cancelled',
        code: 'tool_cancelled',
        content: 'Tool `any` was cancelled: the run ended before it finished.',
        attempts: 0,
      },
    })
    expect([execute.mock.calls.length, onStart.mock.calls.length]).toEqual([0, 0])
  })

  it.each(['returns', 'throws', 'rejects'])('H29 cancels a tool that ends its own run and then %s', async (how) => {
    const seen: boolean[] = []
    const tool = defineTool({
      name: 'last',
      description: '',
      execute: (_args, { signal }) => {
        controller.abort()
        seen.push(signal.aborted)
        if (how === 'throws') throw new Error('over')
        return how === 'returns' ? 'over' : Promise.reject(new Error('over'))
      },
    })
    const { run, controller, lateResults } = bench([tool])
    expect((await run('last')).end).toMatchObject({ outcome: 'cancelled', code: 'tool_cancelled', attempts: 1 })
    expect(seen).toEqual([true])
    await new Promise((resolve) => setImmediate(resolve))
    expect([lateResults(), listenersOf(controller.signal)]).toEqual([how === 'rejects' ? 1 : 0, 0])
  })

  it('H29 abandons a call in flight immediately, whether or not its tool listens', async () => {
    const reason = new Error('over')
    for (const listens of [true, false]) {
      const started = Promise.withResolvers<AbortSignal>()
      const tool = defineTool({
        name: 'slow',
        description: '',
        execute: (_args, { signal }) => {
          started.resolve(signal)
          return new Promise((_, reject) => {
            if (listens) signal.addEventListener('abort', () => reject(signal.reason))
          })
        },
      })
      const { run, controller, warnings } = bench([tool])
      const running = run('slow')
      const signal = await started.promise
      controller.abort(reason)
      expect((await running).end).toMatchObject({ outcome: 'cancelled', code: 'tool_cancelled', attempts: 1 })
      expect([signal.aborted, signal.reason]).toEqual([true, reason])
      expect(listenersOf(controller.signal)).toBe(0)
      expect(warnings()).toEqual([])
    }
  })

  it('H28 logs the late result of an abandoned call', async () => {
    const gate = Promise.withResolvers<string>()
    const started = Promise.withResolvers<void>()
    const tool = defineTool({
      name: 'deaf',
      description: '',
      execute: () => {
        started.resolve()
        return gate.promise
      },
    })
    const { run, lateResults, controller } = bench([tool])
    const running = run('deaf')
    await started.promise
    controller.abort()
    expect((await running).end.outcome).toBe('cancelled')
    gate.resolve('late')
    await new Promise((resolve) => setImmediate(resolve))
    expect(lateResults()).toBe(1)
  })

  it('S3-14 shortens the time of a `reconcile` that is running, whether or not the environment has `whenOver`', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    for (const hasOwn of [false, true]) {
      const seen: AbortSignal[] = []
      const tool = defineTool({
        name: 'pay',
        description: '',
        timeoutMs: 10,
        execute: () => new Promise(() => {}),
        reconcile: (_args, { signal }) => {
          seen.push(signal)
          return new Promise(() => {})
        },
      })
      const { run, controller } = bench([tool], { timeoutMs: 60_000 })
      const running = run('pay', {}, hasOwn ? { whenOver: (over) => listenTo(controller.signal, over) } : {})
      await vi.advanceTimersByTimeAsync(10)
      expect(seen).toHaveLength(1)
      controller.abort()
      await vi.advanceTimersByTimeAsync(1_000)
      expect(seen[0]?.aborted).toBe(true)
      expect((await running).end).toMatchObject({ outcome: 'timeout', effect: 'possible' })
      expect([vi.getTimerCount(), listenersOf(controller.signal)]).toEqual([0, 0])
    }
  })

  it('H32 leaves no listener on a signal after a thousand calls', async () => {
    const { run, controller } = bench([add])
    await Promise.all(Array.from({ length: 1000 }, (_, a) => run('add', { a, b: 1 })))
    expect(listenersOf(controller.signal)).toBe(0)
  })
})

describe('progress', () => {
  it('is published while the call runs', async () => {
    const seen: Json[] = []
    const tool = defineTool({
      name: 'work',
      description: '',
      execute: async (_args, { progress }) => {
        progress({ done: 1 })
        await undefined
        progress({ done: 2 })
      },
    })
    await bench([tool], { onProgress: (update) => seen.push(update) }).run('work')
    expect(seen).toEqual([{ done: 1 }, { done: 2 }])
    expect((await bench([tool]).run('work')).end.outcome).toBe('ok')
  })

  it.each(['ended', 'failed', 'timed out', 'aborted'])('H28 is dropped after the call has %s', async (how) => {
    const seen: Json[] = []
    let report = (_update: Json): void => {}
    const started = Promise.withResolvers<void>()
    const tool = defineTool({
      name: 'work',
      description: '',
      timeoutMs: how === 'timed out' ? 1 : 10_000,
      execute: (_args, { progress }) => {
        report = progress
        progress('during')
        started.resolve()
        if (how === 'failed') throw new Error('failed')
        return how === 'ended' ? 'done' : new Promise(() => {})
      },
    })
    const { run, controller } = bench([tool], { onProgress: (update) => seen.push(update) })
    const running = run('work')
    await started.promise
    if (how === 'aborted') controller.abort()
    await running
    report('after')
    expect(seen).toEqual(['during'])
  })
})
