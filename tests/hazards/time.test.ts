import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { Event, type EventName } from '../../src/core/events.ts'
import type { ChatModel } from '../../src/models/chat-model.ts'
import type { MockReply } from '../../src/testing/mock/reply.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { ToolRegistry } from '../../src/tools/registry.ts'
import { type AnyTool, ask, defineTool } from '../../src/tools/tool.ts'
import { ToolRunner } from '../../src/tools/tool-runner.ts'
import { driverModes, streamingModes } from './modes.ts'
import { recordingLogger } from './recording-logger.ts'
import { resultTexts, stage } from './stage.ts'
import { skipWhatTextCannotSay } from './text-modes.ts'
import { call, countingTool, deafTool, gatedTool } from './tools.ts'
import { failOnUnhandledRejections } from './unhandled.ts'
import { timersLeft, turnEventLoop, until } from './waiting.ts'

const usage = { inputTokens: 20, outputTokens: 5 }
const cancelled = (name: string) => `Tool \`${name}\` was cancelled: the run ended before it finished.`

failOnUnhandledRejections()
afterEach(() => {
  vi.useRealTimers()
})

/** Only the timers that our own code uses: the HTTP client's clocks continue. */
function fakeTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
}

describe.each(driverModes)('time and cancellation: $name', (mode) => {
  beforeEach((context) => skipWhatTextCannotSay(mode, context))

  it('H28 a timed-out tool: signal aborted, timeout result, the loop continues, the timer is gone', async () => {
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
    expect(resultTexts(result)).toEqual(['Tool `deaf` timed out after 30000 ms. It may have taken effect.'])
    expect(result.toolCalls).toMatchObject([{ outcome: 'timeout', errorCode: 'tool_timeout' }])
    expect(await timersLeft()).toBe(0)
  })

  it("H28 the tool's own limit takes precedence over the run's", async () => {
    const [own, runs] = [deafTool('own', { timeoutMs: 70_000 }), deafTool('runs')]
    await using on = await stage(mode, [{ toolCalls: [call('own'), call('runs')] }, 'done'], {
      tools: [own.tool, runs.tool],
      toolTimeoutMs: 500,
    })
    fakeTimers()
    const running = on.run()
    const [ownSignal, runsSignal] = await Promise.all([own.called, runs.called])
    vi.advanceTimersByTime(499)
    await turnEventLoop(1)
    expect([ownSignal.aborted, runsSignal.aborted]).toEqual([false, false])
    vi.advanceTimersByTime(1)
    expect([ownSignal.aborted, runsSignal.aborted]).toEqual([false, true])
    vi.advanceTimersByTime(69_500)
    expect(resultTexts(await running)).toEqual([
      'Tool `own` timed out after 70000 ms. It may have taken effect.',
      'Tool `runs` timed out after 500 ms. It may have taken effect.',
    ])
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
    expect(resultTexts(result)).toEqual(['Tool `slow` timed out after 50 ms. It may have taken effect.'])
    expect(JSON.stringify([on.events, result.toolCalls])).not.toContain('too late')
  })

  it('H28 a timed-out attempt is retried if the tool allows it, with its own signal', async () => {
    const signals: AbortSignal[] = []
    const second = Promise.withResolvers<void>()
    const tool = defineTool({
      name: 'flaky',
      description: 'hangs once',
      effect: 'idempotent',
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
    await until(() => signals.length === 1)
    await vi.advanceTimersByTimeAsync(1_000)
    await vi.advanceTimersByTimeAsync(1_000)
    await second.promise
    const result = await running
    expect(resultTexts(result)).toEqual(['at last'])
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
    expect(result.toolCalls).toMatchObject([{ outcome: 'ok', attempts: 2 }])
    expect(on.events.filter(({ name }) => name === Event.TOOL_CALL_START)).toHaveLength(1)
  })

  it('H30 aborted before it starts: nothing is sent, nothing runs', async () => {
    await using on = await stage(mode, ['never'], { tools: [countingTool('look').tool] })
    const result = await on.run('go', { signal: AbortSignal.abort(new Error('changed my mind')) })
    expect(result).toMatchObject({
      stopReason: 'aborted',
      output: '',
      messages: [{ role: 'user', content: 'go' }],
      toolCalls: [],
      iterations: 0,
    })
    expect(on.requests()).toEqual([])
  })

  it('H30 aborted during the response: the request is aborted, with usage so far', async () => {
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
    const running = on.runner.run('go', { signal: controller.signal })
    await on.provider.waitForRequest(2)
    // No timer fires from now on: the run settles immediately, and waits for nothing.
    fakeTimers()
    controller.abort()
    const result = await running
    vi.useRealTimers()
    expect(result).toMatchObject({ stopReason: 'aborted', usage: { totalTokens: 25 } })
    expect(resultTexts(result)).toEqual(['look done'])
    expect(await on.provider.waitForEnd(2)).toMatchObject({ aborted: true })
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    await on.check(result)
  })

  it.each([Event.MODEL_END, Event.TOOL_CALL_START, Event.TOOL_CALL_END, Event.MODEL_START, Event.RUN_START])(
    'H30 aborted by a listener of %s, between the steps',
    async (name) => {
      const [look, other] = [countingTool('look'), countingTool('other')]
      const turn: MockReply = { text: 'Two.', toolCalls: [call('look'), call('other')], usage }
      await using on = await stage(mode, [turn, 'never'], {
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
      expect(resultTexts(result)).toEqual(called ? finished : [])
      const iterations = name === Event.RUN_START ? 0 : 1
      expect(result).toMatchObject({ iterations, output: called ? 'Two.' : '', usage: { totalTokens: called ? 25 : 0 } })
    },
  )

  it('H30 aborted while tool 2 of 3 runs: the first result is kept, the others are cancelled', async () => {
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
    expect(resultTexts(result)).toEqual(['first done', `${cancelled('second')} It may have taken effect.`, cancelled('third')])
    expect(result.toolCalls.map(({ outcome }) => outcome)).toEqual(['ok', 'cancelled', 'cancelled'])
    expect(third.calls).toEqual([])
    expect(on.events.filter(({ name }) => name === Event.TOOL_CALL_START)).toHaveLength(2)
  })

  it('H30 aborted while a tool waits to be retried', async () => {
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
    await turnEventLoop(1)
    expect(await timersLeft(1)).toBe(1)
    controller.abort()
    expect(resultTexts(await running)).toEqual([cancelled('flaky')])
    expect(await timersLeft()).toBe(0)
  })

  it('H30 aborted while waiting for an approval: waiting calls are cancelled, the others are kept', async () => {
    const [pay, look] = [countingTool('pay'), countingTool('look')]
    const asked = Promise.withResolvers<AbortSignal>()
    let timesAsked = 0
    await using on = await stage(mode, [{ toolCalls: [call('pay'), call('pay', { twice: true })], usage }], {
      tools: [{ ...pay.tool, approval: true }, look.tool],
      approve: ({ signal }) => {
        timesAsked++
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
    expect(resultTexts(result)).toEqual([cancelled('pay'), cancelled('pay')])
    expect(result.toolCalls.map(({ outcome }) => outcome)).toEqual(['cancelled', 'cancelled'])
    expect(pay.calls).toEqual([])
    expect(timesAsked).toBe(1)
  })

  it('H30 aborted while some calls of the turn wait for a decision and another runs: it does not pause, all are cancelled', async () => {
    const deaf = deafTool()
    const tools: AnyTool[] = [
      { ...countingTool('pay').tool, approval: true },
      { name: 'clients', description: 'run by the caller', parameters: { type: 'object' } },
      defineTool({ name: 'unsure', description: 'asks', execute: () => ask({ about: 'Really?' }) }),
      deaf.tool,
    ]
    await using on = await stage(mode, [{ toolCalls: tools.map(({ name }) => call(name)), usage }], { tools })
    const controller = new AbortController()
    const running = on.run('go', { signal: controller.signal })
    await deaf.called
    await turnEventLoop()
    controller.abort()
    const result = await running
    expect(result).toMatchObject({ stopReason: 'aborted', pending: [], usage: { totalTokens: 25 } })
    const started = (name: string) => (name === 'deaf' ? ' It may have taken effect.' : '')
    expect(resultTexts(result)).toEqual(tools.map(({ name }) => `${cancelled(name)}${started(name)}`))
    expect(result.toolCalls.map(({ outcome }) => outcome)).toEqual(Array(4).fill('cancelled'))
  })

  it('H32 runs on one signal, one after another and at once, leave no listener behind', async () => {
    await using on = await stage(
      mode,
      ({ readRequest }) => (readRequest().messages.length === 1 ? { toolCalls: [call('look')] } : 'done'),
      {
        tools: [countingTool('look').tool],
        limits: { deadlineMs: 60_000 },
      },
    )
    const { signal } = new AbortController()
    for (let run = 0; run < 5; run++) await on.runner.run('go', { signal })
    // More than the listeners a signal may have before Node.js warns of a leak.
    await Promise.all(Array.from({ length: 12 }, () => on.runner.run('go', { signal })))
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})

describe.each(streamingModes)('partial text: $name', (mode) => {
  it('H30 text shown before an abort is kept, in the output and in the history', async () => {
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

  it.each<[string, EventName | undefined]>([
    ['nobody', undefined],
    ['somebody who hears something else', Event.REASONING_DELTA],
  ])('H30 H8 what had arrived is kept as well if %s listens, after an abort and at the deadline', async (_who, heard) => {
    for (const how of ['aborted', 'deadline'] as const) {
      await using open = await mode.open([{ text: 'Half a sentence <tool_', hang: true }])
      const arrived = Promise.withResolvers<void>()
      let seen = ''
      // The same model over the same connection, which reports when the text has arrived.
      const model: ChatModel = {
        provider: open.model.provider,
        model: open.model.model,
        capabilities: open.model.capabilities,
        generate: (request, sink) =>
          open.model.generate(request, {
            ...sink,
            text: (delta) => {
              sink?.text?.(delta)
              seen += delta
              if (seen.endsWith('<tool_')) arrived.resolve()
            },
          }),
      }
      fakeTimers()
      const runner = new AgentRunner({ model, ...open.options, tools: [countingTool('look').tool], limits: { deadlineMs: 60_000 } })
      if (heard !== undefined) runner.on(heard, () => {})
      const controller = new AbortController()
      const running = runner.run('go', { signal: controller.signal })
      await arrived.promise
      if (how === 'aborted') controller.abort()
      else vi.advanceTimersByTime(60_000)
      const { stopReason, output, messages } = await running
      // If the runner reads calls from tags, the output lacks the start of a tag, which could have become a call.
      expect([stopReason, output]).toEqual([how, expect.stringMatching(/^Half a sentence( <tool_)?/)])
      expect(messages.at(-1)).toEqual({ role: 'assistant', content: output })
      vi.useRealTimers()
    }
  })

  it('the time to the first token is reported, with and without a listener', async () => {
    for (const heard of [undefined, Event.TEXT_DELTA, Event.TOOL_INPUT_DELTA]) {
      await using on = await stage(mode, [{ toolCalls: [call('look')] }, 'Done.'], { tools: [countingTool('look').tool] })
      const runner = new AgentRunner({ model: on.runner.model, tools: on.runner.tools, ...(mode.streaming ? {} : { stream: false }) })
      if (heard !== undefined) runner.on(heard, () => {})
      const { steps } = await runner.run('go')
      expect(steps.map(({ timeToFirstTokenMs }) => timeToFirstTokenMs)).toEqual([expect.any(Number), expect.any(Number)])
    }
  })
})

describe('the error of an aborted run', () => {
  const hanging = () => new AgentRunner({ model: scriptedModel([{ text: 'On', hang: true }]) })

  it.each<[string, unknown, RegExp]>([
    ['an error', new Error('the user closed the tab'), /^The run was aborted: the user closed the tab$/],
    ['a text', 'shutting down', /^The run was aborted: shutting down$/],
    ['nothing', undefined, /^The run was aborted$/],
    ['a time-out', new DOMException('over', 'TimeoutError'), /^The run was aborted: over$/],
  ])('H30 has the reason: %s', async (_what, reason, message) => {
    const controller = new AbortController()
    const runner = hanging()
    runner.on(Event.TEXT_DELTA, () => controller.abort(reason))
    const { stopReason, error } = await runner.run('go', { signal: controller.signal })
    expect(stopReason).toBe('aborted')
    expect(error).toMatchObject({ code: 'aborted', fault: 'caller', message: expect.stringMatching(message) })
    if (reason !== undefined) expect(error?.cause).toBe(reason)
  })

  it('H30 says that it was aborted before it started, and H31 that the consumer left', async () => {
    const { error } = await hanging().run('go', { signal: AbortSignal.abort(new Error('too late')) })
    expect(error).toMatchObject({ code: 'aborted', message: 'The run was aborted: too late' })
    const stream = hanging().stream('go')
    for await (const event of stream) if (event.type === 'TEXT_DELTA') break
    expect((await stream.result).error).toMatchObject({ code: 'aborted', message: 'The run was aborted: The consumer left the stream' })
  })

  it('H8 the deadline is a limit, not an error', async () => {
    fakeTimers()
    const runner = hanging()
    runner.on(Event.TEXT_DELTA, () => vi.advanceTimersByTime(1_000))
    const result = await runner.run('go', { limits: { deadlineMs: 1_000 } })
    expect(result.stopReason).toBe('deadline')
    expect(result).not.toHaveProperty('error')
  })
})

describe('time and cancellation with a custom model', () => {
  it('H28 late results are dropped and logged', async () => {
    const gates = [gatedTool('a'), gatedTool('b')]
    const tools = gates.map(({ tool }): AnyTool => ({ ...tool, timeoutMs: 10 }))
    const runner = new ToolRunner(new ToolRegistry(tools))
    const { logger, records } = recordingLogger()
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
    const late = () => records.filter(({ message }) => message.includes('its result is dropped'))
    expect(late()).toEqual([])
    gates[0]?.release()
    gates[1]?.fail(new Error('late'))
    await turnEventLoop(1)
    expect(late()).toMatchObject([{ fields: { toolCallId: 'a' } }, { fields: { toolCallId: 'b' } }])
  })

  it('H32 a thousand runs on one signal leave no listener behind', async () => {
    const model = scriptedModel(({ messages }) => (messages.length === 1 ? { toolCalls: [{ name: 'look' }] } : 'done'), { record: false })
    const runner = new AgentRunner({ model, tools: [countingTool('look').tool], limits: { deadlineMs: 60_000 } })
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
