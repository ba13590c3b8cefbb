import { execFile } from 'node:child_process'
import { getEventListeners } from 'node:events'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import type { RunnerOptions } from '../../src/agent/run.ts'
import { AgentRunner } from '../../src/agent/runner.ts'
import { Event, type RunEvent } from '../../src/events.ts'
import { isToolResult, textOf } from '../../src/messages.ts'
import type { ScriptedTurn } from '../../src/testing/script.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { ToolRegistry } from '../../src/tools/registry.ts'
import { ToolRunner } from '../../src/tools/runner.ts'
import { type AnyTool, defineTool } from '../../src/tools/tool.ts'
import { modes, streamingModes } from './modes.ts'
import { expectPairedEvents, expectValidHistory, recordingLogger, stage, watchCalls } from './stage.ts'
import { call, countingTool, deafTool, gatedTool } from './tools.ts'

const resultsOf = (messages: Parameters<typeof isToolResult>[0][]) => messages.filter(isToolResult).map(({ content }) => textOf(content))
const usage = { inputTokens: 20, outputTokens: 5 }
const cancelled = (name: string) => `Tool \`${name}\` was cancelled: the run ended before it finished.`

const unhandled: unknown[] = []
const noteUnhandled = (reason: unknown) => void unhandled.push(reason)
beforeEach(() => void process.on('unhandledRejection', noteUnhandled))
afterEach(async () => {
  vi.useRealTimers()
  // Rejections are reported after the microtasks have run.
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', noteUnhandled)
  expect(unhandled.splice(0)).toEqual([])
})

/** Only what our own code uses: the HTTP client's clocks go on. */
function fakeTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
}

describe.each(modes)('time and cancellation: $name', (mode) => {
  it('H28 a tool over its time: signal aborted, timeout result, the loop goes on, the timer is gone', async () => {
    const deaf = deafTool()
    await using on = await stage(mode, [{ toolCalls: [call('deaf')] }, 'done'], { tools: [deaf.tool] })
    fakeTimers()
    const running = on.run()
    const signal = await deaf.called
    vi.advanceTimersByTime(29_999)
    expect(signal.aborted).toBe(false)
    vi.advanceTimersByTime(1)
    const result = await running
    expect(signal.aborted).toBe(true)
    expect(result).toMatchObject({ stopReason: 'answered', output: 'done' })
    expect(resultsOf(result.messages)).toEqual(['Tool `deaf` timed out after 30000 ms.'])
    expect(result.toolCalls).toMatchObject([{ outcome: 'timeout', errorCode: 'tool_timeout' }])
    expect(vi.getTimerCount()).toBe(0)
  })

  it("H28 the tool's own limit comes before the run's", async () => {
    const [own, runs] = [deafTool('own', { timeoutMs: 70_000 }), deafTool('runs')]
    await using on = await stage(mode, [{ toolCalls: [call('own'), call('runs')] }, 'done'], {
      tools: [own.tool, runs.tool],
      toolTimeoutMs: 500,
    })
    fakeTimers()
    const running = on.run()
    const [ownSignal, runsSignal] = await Promise.all([own.called, runs.called])
    vi.advanceTimersByTime(500)
    await Promise.resolve()
    expect([ownSignal.aborted, runsSignal.aborted]).toEqual([false, false])
    await new Promise((resolve) => setImmediate(resolve))
    expect([ownSignal.aborted, runsSignal.aborted]).toEqual([false, true])
    vi.advanceTimersByTime(69_500)
    expect(resultsOf((await running).messages)).toEqual(['Tool `own` timed out after 70000 ms.', 'Tool `runs` timed out after 500 ms.'])
  })

  it.each(['result', 'failure', 'progress'] as const)('H28 a late %s changes nothing', async (what) => {
    const late = Promise.withResolvers<string>()
    const entered = Promise.withResolvers<(update: string) => void>()
    const tool = defineTool({
      name: 'slow',
      description: 'comes late',
      timeoutMs: 50,
      execute: (_args, { progress }) => {
        entered.resolve(progress)
        return late.promise
      },
    })
    const goOn = Promise.withResolvers<void>()
    await using on = await stage(mode, [{ toolCalls: [call('slow')] }, { before: goOn.promise, text: 'done' }], { tools: [tool] })
    fakeTimers()
    const running = on.run()
    const progress = await entered.promise
    vi.advanceTimersByTime(50)
    await on.provider.waitForRequest(2)
    if (what === 'result') late.resolve('too late')
    if (what === 'failure') late.reject(new Error('too late'))
    if (what === 'progress') progress('too late')
    goOn.resolve()
    const result = await running
    expect(resultsOf(result.messages)).toEqual(['Tool `slow` timed out after 50 ms.'])
    expect(JSON.stringify([on.events, result.toolCalls])).not.toContain('too late')
  })

  it('H28 an attempt that timed out is tried again where the tool says so, with a signal of its own', async () => {
    const signals: AbortSignal[] = []
    const second = Promise.withResolvers<void>()
    const tool = defineTool({
      name: 'flaky',
      description: 'hangs once',
      timeoutMs: 1_000,
      retries: 1,
      execute: (_args, { signal, attempt }) => {
        signals.push(signal)
        if (attempt === 1) return new Promise(() => {})
        second.resolve()
        return 'at last'
      },
    })
    await using on = await stage(mode, [{ toolCalls: [call('flaky')] }, 'done'], { tools: [tool] })
    fakeTimers()
    const running = on.run()
    await vi.waitFor(() => expect(signals).toHaveLength(1))
    await vi.advanceTimersByTimeAsync(1_000)
    await vi.advanceTimersByTimeAsync(1_000)
    await second.promise
    const result = await running
    expect(resultsOf(result.messages)).toEqual(['at last'])
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
    expect(result.toolCalls).toMatchObject([{ outcome: 'ok', attempts: 2 }])
    expect(on.events.filter(({ name }) => name === Event.TOOL_CALL_START)).toHaveLength(1)
  })

  it('H30 aborted before it starts: nothing is sent, nothing runs', async () => {
    await using on = await stage(mode, ['never'], { tools: [countingTool('look').tool] })
    const result = await on.run('go', { signal: AbortSignal.abort(new Error('changed my mind')) })
    expect(result).toMatchObject({ stopReason: 'aborted', output: '', messages: [{ role: 'user', content: 'go' }], toolCalls: [] })
    expect(on.requests()).toEqual([])
  })

  it('H30 aborted while the response is on its way: the request is broken off, usage so far is there', async () => {
    const look = countingTool('look')
    await using on = await stage(
      mode,
      [
        { toolCalls: [call('look')], usage },
        { text: 'I was about to', hang: true },
      ],
      { tools: [look.tool] },
    )
    const controller = new AbortController()
    const running = on.run('go', { signal: controller.signal })
    await on.provider.waitForRequest(2)
    const abortedAt = performance.now()
    controller.abort()
    const result = await running
    expect(performance.now() - abortedAt).toBeLessThan(100 + ranChecks)
    expect(result).toMatchObject({ stopReason: 'aborted', usage: { totalTokens: 25 } })
    expect(resultsOf(result.messages)).toEqual(['look done'])
    expect(await on.provider.waitForEnd(2)).toMatchObject({ aborted: true })
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })

  it.each([Event.MODEL_END, Event.TOOL_CALL_START, Event.TOOL_CALL_END, Event.MODEL_START, Event.RUN_START])(
    'H30 aborted by a listener of %s, between the steps',
    async (name) => {
      const [look, other] = [countingTool('look'), countingTool('other')]
      await using on = await stage(mode, [{ toolCalls: [call('look'), call('other')], usage }, 'never'], {
        tools: [look.tool, other.tool],
        toolConcurrency: 1,
      })
      const controller = new AbortController()
      on.runner.on(name, () => controller.abort())
      const result = await on.run('go', { signal: controller.signal })
      expect(result.stopReason).toBe('aborted')
      expect(on.requests().length).toBeLessThanOrEqual(1)
      expect(other.calls).toEqual([])
      const finished = name === Event.TOOL_CALL_END ? ['look done', cancelled('other')] : [cancelled('look'), cancelled('other')]
      const called = name !== Event.MODEL_START && name !== Event.RUN_START
      expect(resultsOf(result.messages)).toEqual(called ? finished : [])
      expect(result.usage.totalTokens).toBe(called ? 25 : 0)
    },
  )

  it('H30 aborted while tool 2 of 3 runs: the first result is kept, the others are told as cancelled', async () => {
    const [first, third] = [countingTool('first'), countingTool('third')]
    const second = deafTool('second')
    await using on = await stage(mode, [{ text: 'Three.', toolCalls: [call('first'), call('second'), call('third')], usage }], {
      tools: [first.tool, second.tool, third.tool],
      toolConcurrency: 1,
    })
    const controller = new AbortController()
    const running = on.run('go', { signal: controller.signal })
    const signal = await second.called
    controller.abort()
    const result = await running
    expect(signal.aborted).toBe(true)
    expect(result).toMatchObject({ stopReason: 'aborted', usage: { totalTokens: 25 }, output: 'Three.' })
    expect(resultsOf(result.messages)).toEqual(['first done', cancelled('second'), cancelled('third')])
    expect(result.toolCalls.map(({ outcome }) => outcome)).toEqual(['ok', 'cancelled', 'cancelled'])
    expect(third.calls).toEqual([])
    expect(on.events.filter(({ name }) => name === Event.TOOL_CALL_START)).toHaveLength(2)
  })

  it('H30 aborted while a tool waits to be tried again', async () => {
    const failed = Promise.withResolvers<void>()
    const tool = defineTool({
      name: 'flaky',
      description: 'fails',
      retries: 3,
      execute: () => {
        failed.resolve()
        throw new Error('not yet')
      },
    })
    await using on = await stage(mode, [{ toolCalls: [call('flaky')] }], { tools: [tool] })
    const controller = new AbortController()
    fakeTimers()
    const running = on.run('go', { signal: controller.signal })
    await failed.promise
    await new Promise((resolve) => setImmediate(resolve))
    expect(vi.getTimerCount()).toBe(1)
    controller.abort()
    expect(resultsOf((await running).messages)).toEqual([cancelled('flaky')])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('H30 aborted while waiting for an approval: the calls that wait are cancelled, the others are kept', async () => {
    const [pay, look] = [countingTool('pay'), countingTool('look')]
    const asked = Promise.withResolvers<AbortSignal>()
    await using on = await stage(mode, [{ toolCalls: [call('pay'), call('pay', { twice: true })], usage }], {
      tools: [{ ...pay.tool, approval: true }, look.tool],
      approve: ({ signal }) => {
        asked.resolve(signal)
        return new Promise(() => {})
      },
    })
    const controller = new AbortController()
    const running = on.run('go', { signal: controller.signal })
    const signal = await asked.promise
    controller.abort()
    const result = await running
    expect(signal.aborted).toBe(true)
    expect(result).toMatchObject({ stopReason: 'aborted', pending: [], usage: { totalTokens: 25 } })
    expect(resultsOf(result.messages)).toEqual([cancelled('pay'), cancelled('pay')])
    expect(result.toolCalls.map(({ outcome }) => outcome)).toEqual(['cancelled', 'cancelled'])
    expect(pay.calls).toEqual([])
  })

  it.each(['break', 'throw', 'return'] as const)('H31 a consumer that leaves the stream (%s): the same as an abort', async (how) => {
    await using on = await stage(
      mode,
      [
        { toolCalls: [call('look')], usage },
        { text: 'and so on', hang: true },
      ],
      { tools: [countingTool('look').tool] },
    )
    const { signal } = new AbortController()
    const stream = on.runner.stream('go', { signal })
    const leave = async () => {
      for await (const event of stream) {
        if (event.type !== Event.TOOL_CALL_END) continue
        if (how === 'break') break
        if (how === 'throw') throw new Error('enough')
        return
      }
    }
    if (how === 'throw') await expect(leave()).rejects.toThrow('enough')
    else await leave()
    const result = await stream.result
    expect(result).toMatchObject({ stopReason: 'aborted', usage: { totalTokens: 25 } })
    await on.check(result)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it('H31 a consumer that leaves while it waits for the next event: the run ends at once', async () => {
    for (const read of ['events', 'text'] as const) {
      await using on = await stage(mode, [{ hang: true }])
      const stream = on.runner.stream('go')
      const iterator = (read === 'text' ? stream.text : stream)[Symbol.asyncIterator]()
      let waiting: Promise<IteratorResult<RunEvent | string>> = iterator.next()
      if (read === 'events') {
        expect(await waiting).toMatchObject({ value: { type: Event.RUN_START } })
        expect(await iterator.next()).toMatchObject({ value: { type: Event.MODEL_START } })
        waiting = iterator.next()
      }
      await on.provider.waitForRequest(1)
      expect(await iterator.return?.()).toMatchObject({ done: true })
      expect(await waiting).toMatchObject({ done: true })
      expect(await stream.result).toMatchObject({ stopReason: 'aborted' })
      expect(await on.provider.waitForEnd(1)).toMatchObject({ aborted: true })
      expect(await iterator.next()).toMatchObject({ done: true })
    }
  })

  it('H31 a consumer that leaves before it has read anything', async () => {
    for (const read of ['events', 'text'] as const) {
      await using on = await stage(mode, [{ hang: true }])
      const stream = on.runner.stream('go')
      await (read === 'text' ? stream.text : stream)[Symbol.asyncIterator]().return?.()
      expect(await stream.result).toMatchObject({ stopReason: 'aborted' })
    }
  })

  it('H31 a stream of which nobody reads anything: the result is there all the same', async () => {
    await using on = await stage(mode, [{ text: 'x', toolCalls: [call('look')] }, 'done'], { tools: [countingTool('look').tool] })
    const result = await on.runner.stream('go').result
    expect(result).toMatchObject({ stopReason: 'answered', output: 'done' })
    await on.check(result)
  })

  it('H31 a run that can not start: the stream and the result both say so, and neither has to be asked', async () => {
    await using on = await stage(mode, ['never'])
    const refused = { code: 'invalid_option' }
    on.runner.stream('go', { maxIterations: 0 })
    const stream = on.runner.stream('go', { maxIterations: 0 })
    await expect(Array.fromAsync(stream)).rejects.toMatchObject(refused)
    await expect(stream.result).rejects.toMatchObject(refused)
    await expect(Array.fromAsync(on.runner.stream('go', { maxIterations: 0 }).text)).rejects.toMatchObject(refused)
    expect(on.requests()).toEqual([])
  })

  it('H31 a stream can be read once', async () => {
    await using on = await stage(mode, ['done'])
    const stream = on.runner.stream('go')
    expect((await Array.fromAsync(stream.text)).join('')).toBe('done')
    expect(() => stream[Symbol.asyncIterator]()).toThrow(TypeError)
    expect(() => stream.text[Symbol.asyncIterator]()).toThrow(TypeError)
  })

  it('H32 runs on one signal, one after the other and at once, leave no listener behind', async () => {
    await using on = await stage(
      mode,
      ({ body }) => (Array.isArray(body.messages) && body.messages.length === 1 ? { toolCalls: [call('look')] } : 'done'),
      {
        tools: [countingTool('look').tool],
        limits: { deadlineMs: 60_000 },
      },
    )
    const { signal } = new AbortController()
    for (let run = 0; run < 20; run++) await on.runner.run('go', { signal })
    await Promise.all(Array.from({ length: 30 }, () => on.runner.run('go', { signal })))
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})

/** `on.run` checks the result before it hands it out, which takes a while of its own. */
const ranChecks = 100

describe.each(streamingModes)('partial text: $name', (mode) => {
  it('H30 what was shown before an abort is kept, in the output and in the history', async () => {
    await using on = await stage(mode, [{ text: 'Half a sentence', hang: true }])
    const controller = new AbortController()
    let shown = ''
    on.runner.on(Event.TEXT_DELTA, ({ text }) => {
      shown += text
      if (shown.endsWith('sentence')) controller.abort()
    })
    const result = await on.run('go', { signal: controller.signal })
    expect(result).toMatchObject({ stopReason: 'aborted', output: 'Half a sentence' })
    expect(result.messages.at(-1)).toEqual({ role: 'assistant', content: 'Half a sentence' })
  })

  it('H31 what was shown before the consumer left is kept', async () => {
    await using on = await stage(mode, [{ text: 'Half a sentence', hang: true }])
    const stream = on.runner.stream('go')
    let shown = ''
    for await (const text of stream.text) {
      shown += text
      if (shown.length >= 8) break
    }
    const result = await stream.result
    expect(result.stopReason).toBe('aborted')
    expect(result.output.startsWith(shown)).toBe(true)
    await on.check(result)
  })
})

describe('time and cancellation, with a model of one’s own', () => {
  it('H28 late results are counted', async () => {
    const gates = [gatedTool('a'), gatedTool('b')]
    const tools = gates.map(({ tool }): AnyTool => ({ ...tool, timeoutMs: 10 }))
    const runner = new ToolRunner(new ToolRegistry(tools))
    const { logger } = recordingLogger()
    const environment = {
      context: undefined,
      signal: new AbortController().signal,
      runId: 'r',
      iteration: 1,
      idempotencyKey: 'k',
      timeoutMs: 10,
      maxResultBytes: 100,
      logger,
    }
    fakeTimers()
    const running = tools.map(({ name }) => runner.run({ id: name, type: 'function', function: { name, arguments: '{}' } }, environment))
    await Promise.all(gates.map(({ called }) => called))
    vi.advanceTimersByTime(10)
    expect((await Promise.all(running)).map(({ end }) => end.outcome)).toEqual(['timeout', 'timeout'])
    expect(runner.lateResults).toBe(0)
    gates[0]?.release()
    gates[1]?.fail(new Error('late'))
    await new Promise((resolve) => setImmediate(resolve))
    expect(runner.lateResults).toBe(2)
  })

  const neverAgain = () => new Promise<never>(() => {})
  const look = { name: 'look', description: 'looks', parameters: { type: 'object' } as const, execute: () => 'fine' }
  const callsLook: ScriptedTurn = { toolCalls: [{ name: 'look' }] }
  /** Each hangs in another place, and hears nothing. `reached` is called when it has got there. */
  const deafPlaces: Record<string, (reached: () => void) => Omit<RunnerOptions, 'model'> & { turn?: ScriptedTurn }> = {
    'a model': () => ({ turn: { text: 'Hm', deaf: true } }),
    'a tool': (reached) => ({
      tools: [
        defineTool({
          ...look,
          execute: () => {
            reached()
            return neverAgain()
          },
        }),
      ],
    }),
    'the decision whether an approval is needed': (reached) => ({
      tools: [
        defineTool({
          ...look,
          approval: () => {
            reached()
            return neverAgain()
          },
        }),
      ],
    }),
    'an approval': (reached) => ({
      tools: [defineTool({ ...look, approval: true })],
      approve: () => {
        reached()
        return neverAgain()
      },
    }),
    'the check of the arguments': (reached) => ({
      tools: [
        defineTool({
          ...look,
          parameters: z.object({}).refine(() => {
            reached()
            return neverAgain()
          }),
        }),
      ],
    }),
    'the instructions': (reached) => ({
      instructions: () => {
        reached()
        return neverAgain()
      },
    }),
  }

  it.each(Object.entries(deafPlaces))('H29 %s that never comes back: an abort settles the run within 100 ms', async (_where, options) => {
    const reached = Promise.withResolvers<void>()
    const { turn = callsLook, ...rest } = options(reached.resolve)
    const model = scriptedModel([turn, 'never'])
    const { logger } = recordingLogger()
    const runner = new AgentRunner({ ...rest, model, logger })
    if (turn !== callsLook) runner.on(Event.TEXT_DELTA, () => reached.resolve())
    const events = watchCalls(runner)
    const controller = new AbortController()
    const running = runner.run('go', { signal: controller.signal })
    await reached.promise
    const abortedAt = performance.now()
    controller.abort()
    const result = await running
    expect(performance.now() - abortedAt).toBeLessThan(100)
    expect(result.stopReason).toBe('aborted')
    expectValidHistory(result.messages)
    expectPairedEvents(events, result)
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })

  it.each(Object.entries(deafPlaces))('H29 %s that never comes back: the deadline settles the run', async (_where, options) => {
    const reached = Promise.withResolvers<void>()
    const { turn = callsLook, ...rest } = options(reached.resolve)
    const model = scriptedModel([turn, 'never'])
    const { logger } = recordingLogger()
    const runner = new AgentRunner({ ...rest, model, logger, limits: { deadlineMs: 90_000 }, toolTimeoutMs: Number.POSITIVE_INFINITY })
    if (turn !== callsLook) runner.on(Event.TEXT_DELTA, () => reached.resolve())
    const events = watchCalls(runner)
    fakeTimers()
    const running = runner.run('go')
    await reached.promise
    vi.advanceTimersByTime(90_000)
    const result = await running
    expect(result.stopReason).toBe('deadline')
    expectValidHistory(result.messages)
    expectPairedEvents(events, result)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('H29 the check of the arguments that never comes back: the time limit of the tool holds for it as well', async () => {
    const reached = Promise.withResolvers<void>()
    const options = deafPlaces['the check of the arguments']?.(reached.resolve)
    const { logger } = recordingLogger()
    const runner = new AgentRunner({ ...options, model: scriptedModel([callsLook, 'done']), logger, toolTimeoutMs: 700 })
    const events = watchCalls(runner)
    fakeTimers()
    const running = runner.run('go')
    await reached.promise
    vi.advanceTimersByTime(700)
    const result = await running
    expect(result).toMatchObject({ stopReason: 'answered', toolCalls: [{ errorCode: 'tool_timeout', attempts: 0 }] })
    expectPairedEvents(events, result)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('H29 after runs with deaf models and tools the process has nothing left to wait for', async () => {
    const child = fileURLToPath(new URL('./deaf-process.ts', import.meta.url))
    // It ends by itself, or is ended here: a process that still waits for something would not.
    const { stdout } = await promisify(execFile)(process.execPath, [child], { timeout: 15_000 })
    const report: { reasons: string[]; before: string[]; after: string[]; listeners: number } = JSON.parse(stdout)
    expect(report.reasons).toEqual(['aborted', 'aborted', 'aborted', 'deadline', 'answered', 'aborted', 'model_error'])
    expect(report.after).toEqual(report.before)
    expect(report.listeners).toBe(0)
  })

  it('H32 a thousand runs on one signal leave no listener behind', async () => {
    const model = scriptedModel(({ messages }) => (messages.length === 1 ? { toolCalls: [{ name: 'look' }] } : 'done'), { record: false })
    const runner = new AgentRunner({ model, tools: [defineTool(look)], limits: { deadlineMs: 60_000 } })
    const warnings: Error[] = []
    const warned = (warning: Error) => void warnings.push(warning)
    process.on('warning', warned)
    const { signal } = new AbortController()
    for (let run = 0; run < 500; run++) await runner.run('go', { signal })
    expect(getEventListeners(signal, 'abort')).toEqual([])
    await Promise.all(Array.from({ length: 500 }, () => runner.stream('go', { signal }).result))
    expect(getEventListeners(signal, 'abort')).toEqual([])
    process.off('warning', warned)
    expect(warnings).toEqual([])
  })
})
