import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Event } from '../../src/core/events.ts'
import { type AnyTool, defineTool } from '../../src/tools/tool.ts'
import { quickModes } from './modes.ts'
import { resultTexts, stage } from './stage.ts'
import { skipWhatTextCannotSay } from './text-modes.ts'
import { call, countingTool, deafTool, gatedTool } from './tools.ts'
import { turnEventLoop } from './waiting.ts'

afterEach(() => {
  vi.useRealTimers()
})

/** A tool for which the test decides when each call ends. It counts how many run at once. */
function countedTool(name: string, options: Partial<AnyTool> = {}) {
  const running = new Map<string, () => void>()
  const started: string[] = []
  const state = { running, started, most: 0, alone: true }
  let changed = Promise.withResolvers<void>()
  const tool: AnyTool = {
    ...defineTool({
      name,
      description: name,
      parameters: { type: 'object' },
      execute: async ({ n }) => {
        const key = `${name} ${n}`
        started.push(key)
        const gate = Promise.withResolvers<void>()
        running.set(key, gate.resolve)
        state.most = Math.max(state.most, running.size)
        changed.resolve()
        await gate.promise
        running.delete(key)
        return key
      },
    }),
    ...options,
  }
  return {
    tool,
    state,
    end: (key: string) => running.get(key)?.(),
    /** Resolves as soon as `count` calls have started in total. */
    async untilStarted(count: number) {
      while (started.length < count) {
        changed = Promise.withResolvers<void>()
        if (started.length < count) await changed.promise
      }
    },
  }
}

describe.each(quickModes)('parallel calls: $name', (mode) => {
  beforeEach((context) => skipWhatTextCannotSay(mode, context))

  it('H26 all calls of a turn start before any ends; results are in call order, whatever the order they end in', async () => {
    const work = countedTool('work')
    const script = [{ toolCalls: [0, 1, 2, 3].map((n) => call('work', { n })) }, 'done']
    await using on = await stage(mode, script, { tools: [work.tool] })
    const running = on.run()
    await work.untilStarted(4)
    expect(work.state.started).toEqual(['work 0', 'work 1', 'work 2', 'work 3'])
    for (const n of [2, 0, 3, 1]) {
      work.end(`work ${n}`)
      await turnEventLoop()
    }
    const { messages, toolCalls } = await running
    expect(resultTexts({ messages })).toEqual(['work 0', 'work 1', 'work 2', 'work 3'])
    const order = (name: string) =>
      on.events.filter((event) => event.name === name).map(({ meta }) => toolCalls.findIndex(({ id }) => id === meta.toolCallId))
    expect(order(Event.TOOL_CALL_START)).toEqual([0, 1, 2, 3])
    expect(order(Event.TOOL_CALL_END)).toEqual([2, 0, 3, 1])
  })

  it('H26 at most toolConcurrency run at once, 8 by default; the next starts when one ends, in call order', async () => {
    for (const [toolConcurrency, most] of [
      [undefined, 8],
      [3, 3],
      [1, 1],
    ] as const) {
      const work = countedTool('work')
      const count = 20
      const script = [{ toolCalls: Array.from({ length: count }, (_, n) => call('work', { n })) }, 'done']
      await using on = await stage(mode, script, { tools: [work.tool], ...(toolConcurrency === undefined ? {} : { toolConcurrency }) })
      const running = on.run()
      await work.untilStarted(most)
      await turnEventLoop()
      expect(work.state.started).toHaveLength(most)
      for (let ended = 0; ended < count; ended++) {
        const [first = ''] = work.state.running.keys()
        work.end(first)
        await work.untilStarted(Math.min(count, most + ended + 1))
      }
      await running
      expect(work.state.most).toBe(most)
      expect(work.state.started).toEqual(Array.from({ length: count }, (_, n) => `work ${n}`))
    }
  })

  it('H26 a tool marked not parallel runs alone: after all before it, before all after it', async () => {
    const [work, alone] = [countedTool('work'), countedTool('alone', { parallel: false })]
    const script = [
      {
        toolCalls: [
          call('work', { n: 0 }),
          call('work', { n: 1 }),
          call('alone', { n: 2 }),
          call('alone', { n: 3 }),
          call('work', { n: 4 }),
        ],
      },
      'done',
    ]
    await using on = await stage(mode, script, { tools: [work.tool, alone.tool] })
    const running = on.run()
    await work.untilStarted(2)
    work.end('work 1')
    await turnEventLoop()
    expect(alone.state.started).toEqual([])
    work.end('work 0')
    await alone.untilStarted(1)
    await turnEventLoop()
    expect([...alone.state.started, ...work.state.started]).toEqual(['alone 2', 'work 0', 'work 1'])
    alone.end('alone 2')
    await alone.untilStarted(2)
    await turnEventLoop()
    expect(work.state.started).toHaveLength(2)
    alone.end('alone 3')
    await work.untilStarted(3)
    work.end('work 4')
    expect(resultTexts(await running)).toEqual(['work 0', 'work 1', 'alone 2', 'alone 3', 'work 4'])
    expect(alone.state.most).toBe(1)
  })

  it('H26 calls that are refused take no place and delay nothing', async () => {
    const work = countedTool('work')
    const script = [{ toolCalls: [call('gone'), call('work', { n: 0 }), call('work', '[]'), call('work', { n: 1 })] }, 'done']
    await using on = await stage(mode, script, { tools: [work.tool], toolConcurrency: 2 })
    const running = on.run()
    await work.untilStarted(2)
    work.end('work 0')
    work.end('work 1')
    expect((await running).toolCalls.map(({ outcome }) => outcome)).toEqual(['rejected', 'ok', 'rejected', 'ok'])
  })

  it('H26 sixty-four calls at once cause no warning', async () => {
    const warnings: Error[] = []
    const warned = (warning: Error) => void warnings.push(warning)
    process.on('warning', warned)
    try {
      const work = countedTool('work')
      const script = [{ toolCalls: Array.from({ length: 64 }, (_, n) => call('work', { n })) }, 'done']
      await using on = await stage(mode, script, { tools: [work.tool], toolConcurrency: 64 })
      const running = on.run('go', { signal: new AbortController().signal })
      await work.untilStarted(64)
      for (const key of [...work.state.running.keys()]) work.end(key)
      await running
      await turnEventLoop()
    } finally {
      process.off('warning', warned)
    }
    expect(warnings).toEqual([])
  })

  it('H27 one of several fails: the results of its siblings survive, also of those that end later', async () => {
    const [early, failing, late] = [countingTool('early'), gatedTool('failing'), gatedTool('late')]
    const script = [{ toolCalls: [call('early'), call('failing'), call('late')] }, 'done']
    await using on = await stage(mode, script, { tools: [early.tool, failing.tool, late.tool] })
    const running = on.run()
    await Promise.all([failing.called, late.called])
    failing.fail(new Error('no luck'))
    await turnEventLoop()
    expect(on.requests()).toHaveLength(1)
    late.release()
    const { messages, toolCalls } = await running
    expect(resultTexts({ messages })).toEqual(['early done', 'no luck', 'late done'])
    expect(toolCalls.map(({ outcome }) => outcome)).toEqual(['ok', 'failed', 'ok'])
  })

  it('H27 one of several times out: the results of its siblings survive', async () => {
    const [deaf, late] = [deafTool('deaf', { timeoutMs: 5_000 }), gatedTool('late')]
    const script = [{ toolCalls: [call('deaf'), call('late')] }, 'done']
    await using on = await stage(mode, script, { tools: [deaf.tool, late.tool] })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const running = on.run()
    await Promise.all([deaf.called, late.called])
    vi.advanceTimersByTime(5_000)
    await turnEventLoop()
    late.release()
    const { messages, toolCalls } = await running
    expect(resultTexts({ messages })).toEqual(['Tool `deaf` timed out after 5000 ms. It may have taken effect.', 'late done'])
    expect(toolCalls.map(({ outcome }) => outcome)).toEqual(['timeout', 'ok'])
  })

  it('H27 all fail, each in its own way: each has its own result, and the run continues', async () => {
    const failing = (name: string, reason: unknown) =>
      defineTool({ name, description: 'fails', parameters: { type: 'object' }, execute: () => Promise.reject(reason) })
    const tools = [failing('one', new Error('first')), failing('two', 'second'), failing('three', undefined)]
    await using on = await stage(mode, [{ toolCalls: tools.map(({ name }) => call(name)) }, 'done'], { tools })
    const { messages, stopReason } = await on.run()
    expect(stopReason).toBe('answered')
    expect(resultTexts({ messages })).toEqual(['first', 'second', 'failed without saying why'])
  })
})
