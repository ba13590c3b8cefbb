import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { RunResult } from '../../src/agent/types/options.ts'
import { EventBus } from '../../src/core/callbacks/event-bus.ts'
import { Event, type EventName, type RunEvent } from '../../src/core/events.ts'
import { isToolResult } from '../../src/core/messages.ts'
import type { ModelSink } from '../../src/models/chat-model.ts'
import type { MockReply } from '../../src/testing/mock/reply.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { quickModes, rowsFor } from './modes.ts'
import { recordingLogger } from './recording-logger.ts'
import { comparable, stage } from './stage.ts'
import { skipWhatTextCannotSay } from './text-modes.ts'
import { call, countingTool, deafTool, thenable } from './tools.ts'
import { failOnUnhandledRejections } from './unhandled.ts'
import { turnEventLoop } from './waiting.ts'

failOnUnhandledRejections()
afterEach(() => {
  vi.useRealTimers()
})

const usage = { inputTokens: 10, outputTokens: 2 }
const script: MockReply[] = [
  {
    text: 'Let me see.',
    reasoning: 'Hm.',
    toolCalls: [call('look', { deep: { list: [1, { a: 1 }] } }), call('fail'), call('gone', { x: 1 }), call('steps'), call('look', '[]')],
    usage,
  },
  { text: 'All is well.', usage },
]

function tools() {
  return [
    countingTool('look', (args: unknown) => args).tool,
    defineTool({ name: 'fail', description: 'fails', execute: () => Promise.reject(new Error('no luck')) }),
    defineTool({
      name: 'steps',
      description: 'reports',
      execute: (_args, { progress }) => {
        const update = { step: 1, of: [3] }
        progress(update)
        return update
      },
    }),
  ]
}

const plainly = (events: readonly RunEvent[]) =>
  events.map(({ meta: { runId: _r, durationMs: _d, time: _t, ...meta }, ...event }) => ({ ...event, meta }))

/** Changes everything that can be reached from `value`. */
function wreck(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return
  for (const item of Object.values(value)) wreck(item)
  if (Array.isArray(value)) value.push('wrecked')
  else
    for (const key of Object.keys(value))
      Object.assign(value, { [key]: typeof Reflect.get(value, key) === 'number' ? -1_000_000 : 'wrecked' })
}

const badListeners: Record<string, { listener: (...args: unknown[]) => unknown; records: number }> = {
  throws: {
    listener: () => {
      throw new Error('bad listener')
    },
    records: 1,
  },
  'throws undefined': {
    listener: () => {
      throw undefined
    },
    records: 1,
  },
  rejects: { listener: () => Promise.reject(new Error('bad listener')), records: 1 },
  'rejects later': { listener: () => new Promise((_, reject) => setImmediate(() => reject(new Error('bad listener')))), records: 1 },
  'returns a thenable that throws': {
    listener: () =>
      thenable(() => {
        throw new Error('bad listener')
      }),
    records: 1,
  },
  'never resolves': { listener: () => new Promise(() => {}), records: 0 },
  'changes its payload': {
    listener: (...args) => {
      for (const arg of args) wreck(arg)
    },
    records: 0,
  },
}

describe.each(quickModes)('events: $name', (mode) => {
  beforeEach((context) => skipWhatTextCannotSay(mode, context))

  it('H36 every call has START and END, or REJECTED, in a fixed order, however it ends', async () => {
    const deaf = deafTool('deaf', { timeoutMs: 1_000 })
    const refused = { ...countingTool('refused').tool, approval: true }
    const never = deafTool('never')
    const names = ['look', 'fail', 'steps', 'deaf', 'gone', 'refused']
    const all: MockReply[] = [
      { toolCalls: [...names.map((name) => call(name)), call('look', '[]')] },
      { toolCalls: [call('look'), call('steps')], finishReason: 'length' },
      { toolCalls: [call('look'), call('never'), call('look', { n: 2 })] },
    ]
    await using on = await stage(mode, all, {
      tools: [...tools(), deaf.tool, refused, never.tool],
      approve: () => false,
      toolConcurrency: 7,
    })
    const order: string[] = []
    on.runner.bus.onAny((name) => void order.push(name))
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const controller = new AbortController()
    const running = on.run('go', { signal: controller.signal })
    await deaf.called
    vi.advanceTimersByTime(1_000)
    await never.called
    await turnEventLoop(1)
    controller.abort()
    const { toolCalls, runId } = await running

    // `on.run` has checked the pairs; this checks how each call ended.
    const eventsOf = (id: string) => on.events.filter(({ meta }) => meta.toolCallId === id)
    expect(
      toolCalls.map(
        ({ tool, outcome, id }) =>
          `${tool} ${outcome} ${eventsOf(id)
            .map(({ name }) => name.replace('TOOL_', ''))
            .join(' ')}`,
      ),
    ).toEqual([
      'look ok CALL_START CALL_END',
      'fail failed CALL_START CALL_END',
      'steps ok CALL_START PROGRESS CALL_END',
      'deaf timeout CALL_START CALL_END',
      'gone rejected CALL_REJECTED',
      'refused denied CALL_REJECTED',
      'look rejected CALL_REJECTED',
      'look truncated CALL_REJECTED',
      'steps truncated CALL_REJECTED',
      'look ok CALL_START CALL_END',
      'never cancelled CALL_START CALL_END',
      'look ok CALL_START CALL_END',
    ])
    for (const { id, tool, content, outcome, iteration, args, rawArguments, errorCode, value } of toolCalls) {
      for (const { name, payload, meta } of eventsOf(id)) {
        expect(meta).toMatchObject({ runId, iteration, toolCallId: id })
        if (name === Event.TOOL_CALL_START) expect(payload).toEqual({ tool, args })
        if (name === Event.TOOL_CALL_REJECTED)
          expect(payload).toEqual({ tool, args: args ?? rawArguments, error: content, outcome, errorCode })
        if (name !== Event.TOOL_CALL_END) continue
        const bytes = Buffer.byteLength(String(content))
        expect(payload).toEqual({ tool, result: content, args, outcome, errorCode, value, bytes })
        expect(meta).toMatchObject({ ok: outcome === 'ok', durationMs: expect.any(Number) })
      }
    }
    // No call of a turn starts before the turn's response is complete, and nothing follows the end.
    const lastOf = (name: EventName) => order.lastIndexOf(name)
    expect(order.indexOf(Event.TOOL_CALL_START)).toBeGreaterThan(order.indexOf(Event.MODEL_END))
    expect(order[0]).toBe(Event.RUN_START)
    expect(lastOf(Event.RUN_END)).toBe(order.length - 1)
  })

  it('H36 START comes immediately before the function, END after it has returned', async () => {
    const order: string[] = []
    const tool = defineTool({
      name: 'work',
      description: 'works',
      retries: 1,
      execute: async (_args, { attempt }) => {
        order.push(`in ${attempt}`)
        await turnEventLoop(1)
        order.push(`out ${attempt}`)
        if (attempt === 1) throw new Error('once more')
      },
    })
    await using on = await stage(mode, [{ toolCalls: [call('work')] }, 'done'], { tools: [tool] })
    on.runner.on('TOOL_CALL_START', () => void order.push('START'))
    on.runner.on('TOOL_CALL_END', () => void order.push('END'))
    await on.run()
    expect(order).toEqual(['START', 'in 1', 'out 1', 'in 2', 'out 2', 'END'])
  })

  it('a listener that aborts the run when a call starts: the tool does not run', async () => {
    const { tool, calls } = countingTool('look')
    await using on = await stage(mode, [{ toolCalls: [call('look')] }, 'done'], { tools: [tool] })
    const control = new AbortController()
    on.runner.on('TOOL_CALL_START', () => control.abort())
    const result = await on.run('go', { signal: control.signal })
    expect(result.stopReason).toBe('aborted')
    expect(calls).toEqual([])
  })

  it.each(rowsFor(mode, Object.entries(badListeners)))(
    'H37 a listener that %s: the run is unaffected, one log record',
    async (_what, { listener, records }) => {
      await using plain = await stage(mode, script, { tools: tools(), limits: { tokens: 24 } })
      const stream = plain.runner.stream('go')
      const expectedEvents = structuredClone(await Array.fromAsync(stream))
      const expected = await stream.result

      const subscriptions: Record<string, (bus: EventBus) => unknown> = {
        'to everything': (bus) => bus.onAny(listener),
        'to each': (bus) => [bus.on(Event.TOOL_CALL_START, listener), bus.on(Event.TEXT_DELTA, listener)],
      }
      for (const [to, subscribe] of Object.entries(subscriptions)) {
        await using on = await stage(mode, script, { tools: tools(), limits: { tokens: 24 } })
        subscribe(on.runner.bus)
        const after: EventName[] = []
        on.runner.bus.onAny((name) => void after.push(name))
        const watched = on.runner.stream('go')
        const events = await Array.fromAsync(watched)
        expect(comparable(await watched.result), to).toEqual(comparable(expected))
        expect(plainly(events), to).toEqual(plainly(expectedEvents))
        // Another listener, subscribed later, has missed nothing.
        expect(after).toEqual(expectedEvents.map(({ type }) => type))
        await turnEventLoop(1)
        const failures = on.log.filter(({ message }) => message === 'event listener failed')
        expect(failures, to).toHaveLength(to === 'to each' ? 2 * records : records)
        for (const failure of failures) expect(failure).toMatchObject({ level: 'error', fields: { event: expect.any(String) } })
      }
    },
  )

  it('H37 listeners that change what they receive affect neither the budget, nor the tool’s arguments, nor its own objects', async () => {
    const seen: unknown[] = []
    const report = { done: 1, of: [1] }
    const tool = defineTool({
      name: 'work',
      description: 'works',
      parameters: { type: 'object' },
      execute: (args, { progress }) => {
        seen.push(structuredClone(args))
        progress(report)
        return report
      },
    })
    const turn = (): MockReply => ({
      toolCalls: [call('work', { list: [{ at: Math.random() }] })],
      usage: { inputTokens: 50, outputTokens: 0 },
    })
    await using on = await stage(mode, turn, { tools: [tool], maxIterations: 9, limits: { tokens: 100 } })
    on.runner.bus.onAny((_name, payload, meta) => {
      wreck(payload)
      wreck(meta)
    })
    const result = await on.runner.run('go')
    expect(result).toMatchObject({ stopReason: 'budget', iterations: 2, usage: { inputTokens: 50 * 2, totalTokens: 100 } })
    expect(result.steps.map((step) => step.usage?.totalTokens)).toEqual([50, 50])
    expect(seen).toEqual([{ list: [{ at: expect.any(Number) }] }, { list: [{ at: expect.any(Number) }] }])
    expect(result.messages.filter(isToolResult).map(({ content }) => content)).toEqual(Array(2).fill('{"done":1,"of":[1]}'))
    expect(result.toolCalls.map(({ args }) => args)).toEqual(seen)
  })

  it('H37 a listener that removes itself or others, or starts another run', async () => {
    await using on = await stage(mode, () => script[0] ?? 'never', { tools: tools() })
    const seen: string[] = []
    let inner: Promise<RunResult> | undefined
    const off = on.runner.on(Event.RUN_START, () => {
      seen.push('first')
      off()
      offLater()
      inner ??= on.runner.run('inner', { maxIterations: 1 })
    })
    const offLater = on.runner.on(Event.RUN_START, () => seen.push('later'))
    const outer = await on.runner.run('go', { maxIterations: 1 })
    expect(seen).toEqual(['first'])
    expect([outer.stopReason, (await inner)?.stopReason]).toEqual(['max_iterations', 'max_iterations'])
    for (const result of [outer, await inner]) if (result) await on.check(result)
    expect(on.log.filter(({ level }) => level === 'error')).toEqual([])
  })

  it('H37 a stopWhen that throws: the run continues, with one log record each time', async () => {
    await using on = await stage(mode, script, {
      tools: tools(),
      stopWhen: () => {
        throw new Error('bad condition')
      },
    })
    expect(await on.run()).toMatchObject({ stopReason: 'answered', output: 'All is well.' })
    expect(on.log.filter(({ level }) => level === 'error')).toHaveLength(1)
  })

  it('H37 a logger that throws or rejects: the run is unaffected', async () => {
    const bad = () => {
      throw new Error('disk full')
    }
    const rejects = async () => bad()
    for (const log of [bad, rejects]) {
      const logger = { debug: log, info: log, warn: log, error: log }
      await using on = await stage(mode, script, { tools: tools(), logger, maxIterations: 1 })
      on.runner.on(Event.RUN_START, bad)
      expect((await on.run()).stopReason).toBe('max_iterations')
    }
  })
})

describe('events of a custom model', () => {
  it('H36 reports of a model or tool after its end reach nobody', async () => {
    const late: { sink?: ModelSink | undefined; progress?: (update: string) => void } = {}
    const tool = defineTool({
      name: 'work',
      description: 'reports late',
      execute: (_args, { progress }) => {
        late.progress = progress
      },
    })
    for (const ending of ['answer', 'error'] as const) {
      const inner = scriptedModel([
        { toolCalls: [{ name: 'work' }] },
        ending === 'answer' ? 'done' : { text: 'do', error: new Error('broken') },
      ])
      const model: typeof inner = {
        ...inner,
        generate(request, sink) {
          late.sink?.text?.('too late')
          late.progress?.('too late')
          late.sink = sink
          return inner.generate(request, sink)
        },
      }
      const { logger } = recordingLogger()
      const runner = new AgentRunner({ model, tools: [tool], logger })
      const seen: unknown[] = []
      runner.bus.onAny((name, payload) => void seen.push(name, payload))
      const result = await runner.run('go')
      late.sink?.text?.('too late')
      late.sink?.reasoning?.('too late')
      late.sink?.toolCallStart?.(0, 'too late', 'work')
      late.sink?.toolCallDelta?.(0, 'too late')
      expect(JSON.stringify([seen, result])).not.toContain('too late')
      expect(seen.at(-2)).toBe(Event.RUN_END)
    }
  })

  it('H37 failures of listeners on a custom bus are reported as the bus says', async () => {
    const failures: [unknown, EventName][] = []
    const bus = new EventBus((error, event) => {
      failures.push([error, event])
      throw new Error('the reporter fails as well')
    })
    bus.onAny(() => {
      throw new Error('bad listener')
    })
    const { logger, records } = recordingLogger()
    const result = await new AgentRunner({ model: scriptedModel(['fine']), bus, logger }).run('go')
    expect(result.output).toBe('fine')
    expect(failures).toEqual([[new Error('bad listener'), Event.RUN_START]])
    expect(records).toEqual([])
  })
})
