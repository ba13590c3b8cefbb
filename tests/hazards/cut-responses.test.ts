import { afterEach, describe, expect, it, vi } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { Event, type RunEvent } from '../../src/core/events.ts'
import type { JsonObject } from '../../src/core/messages.ts'
import { memoryJournal } from '../../src/testing/memory-journal.ts'
import type { MockFault } from '../../src/testing/mock/fault.ts'
import type { MockReply } from '../../src/testing/mock/reply.ts'
import type { WireName } from '../../src/testing/mock/wires/wire.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { type Mode, streamingModes } from './modes.ts'
import { recordingLogger } from './recording-logger.ts'
import { stage } from './stage.ts'
import { call, countingTool } from './tools.ts'
import { failOnUnhandledRejections } from './unhandled.ts'
import { until } from './waiting.ts'
import { Watcher } from './watcher.ts'

failOnUnhandledRejections()
afterEach(() => {
  vi.useRealTimers()
})

const half = 'The answer is lo'
const answer = 'The answer is long enough to be cut somewhere.'
const retries = { settings: { maxRetries: 2, maxRetryDelayMs: 1 } }

const overloaded: Record<WireName, JsonObject> = {
  'chat-completions': { error: { message: 'Overloaded', type: 'overloaded_error' } },
  responses: { type: 'error', code: 'server_is_overloaded', message: 'Overloaded' },
  'anthropic-messages': { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
  'gemini-generate-content': { error: { code: 503, status: 'UNAVAILABLE', message: 'Overloaded' } },
}

/** How a response breaks off after all its pieces have arrived. */
const cuts: readonly (readonly [name: string, fault: (mode: Mode) => MockFault])[] = [
  ['a reset', () => ({ resetAfterBytes: 'content' })],
  ['an end without a finish reason', () => ({ cutAfterBytes: 'content' })],
  ['garbage', () => ({ garbageAfterBytes: 'content' })],
  ['an error event', ({ wire }) => ({ errorInStream: overloaded[wire] })],
]

describe.each(streamingModes)('a response that breaks off: $name', (mode) => {
  /** A run of three turns, of which the second breaks off. */
  function script(cut: MockReply): MockReply[] {
    const usage = { inputTokens: 10, outputTokens: 2 }
    return [{ text: 'First.', toolCalls: [call('look', { n: 1 })], usage }, cut, { text: answer, usage }]
  }

  it.each(cuts)('F21 is requested again after %s, and watchers take back what they were shown', async (_name, fault) => {
    const look = countingTool('look')
    const cut = { text: half, usage: { inputTokens: 20, outputTokens: 3 }, fault: fault(mode) }
    for (const way of ['listener', 'stream'] as const) {
      await using on = await stage(mode, script(cut), { tools: [look.tool], ...retries })
      const watcher = new Watcher()
      const result = await watch(on.runner, watcher, way)
      await on.check(result)
      expect(result).toMatchObject({ stopReason: 'answered', output: answer, iterations: 2 })
      expect(result.steps.map((step) => step.retries)).toEqual([0, 1])
      expect(watcher.texts.map((text) => text.trim())).toEqual(['First.', answer])
      expect(watcher.discarded).toBe(1)
      // The history has the response once, and the repeated request is the same.
      expect(result.newMessages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
      expect(on.requests()[2]).toEqual(on.requests()[1])
    }
    expect(look.calls).toHaveLength(2)
  })

  it('F21 is requested again after a silence', async () => {
    await using on = await stage(mode, [{ text: half, hang: true }, answer], { ...retries, streamIdleTimeoutMs: 60_000 })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const watcher = new Watcher()
    on.runner.on(Event.TEXT_DELTA, () => {})
    on.runner.bus.onAny((type, payload, meta) => watcher.take({ type, meta, ...payload } as RunEvent))
    const running = on.run()
    await until(() => watcher.text === half)
    await vi.advanceTimersByTimeAsync(60_000)
    await on.provider.waitForEnd(1)
    await vi.advanceTimersByTimeAsync(2)
    expect(await running).toMatchObject({ stopReason: 'answered', output: answer })
    expect([watcher.texts, watcher.discarded]).toEqual([[answer], 1])
  })

  it('F21 does not run its calls, and leaves none over', async () => {
    const look = countingTool('look')
    const cut = { text: half, toolCalls: [call('look', { n: 'cut' })], fault: { cutAfterBytes: 'content' as const } }
    const whole = { text: half, toolCalls: [call('look', { n: 'whole' })] }
    await using on = await stage(mode, [cut, whole, answer], { tools: [look.tool], ...retries })
    const watcher = new Watcher()
    const result = await watch(on.runner, watcher, 'stream')
    await on.check(result)
    expect(look.calls).toEqual([{ n: 'whole' }])
    expect(watcher.texts.map((text) => text.trim())).toEqual([half, answer])
    expect(result.toolCalls).toMatchObject([{ args: { n: 'whole' }, outcome: 'ok' }])
  })

  it('F21 counts its usage, reported or not', async () => {
    const cut = { text: half, fault: { resetAfterBytes: 'content' as const }, usage: { inputTokens: 20, outputTokens: 3 } }
    await using on = await stage(mode, [cut, { text: answer, usage: { inputTokens: 10, outputTokens: 2 } }], retries)
    const result = await watch(on.runner, new Watcher(), 'stream')
    expect(result.usage.inputTokens).toBeGreaterThan(10)
    // The Messages API reports usage at the start of a stream, others at the end.
    const isReported = mode.wire === 'anthropic-messages'
    const warning = 'The usage of a response that broke off was not reported, and is estimated'
    expect(result.steps[0]?.warnings).toEqual(isReported ? [] : [warning])
    if (isReported) expect(result.usage.inputTokens).toBe(30)
  })

  it('F21 is requested as often as allowed; then the run ends, and the last part is kept as shown', async () => {
    await using on = await stage(mode, () => ({ text: half, fault: { cutAfterBytes: 'content' } }), retries)
    const watcher = new Watcher()
    const result = await watch(on.runner, watcher, 'listener')
    await on.check(result)
    expect(result).toMatchObject({ stopReason: 'model_error', error: { code: 'stream_cut' }, output: half })
    expect([watcher.text, watcher.discarded, on.provider.requests.length]).toEqual([half, 2, 3])
  })

  it.each(['onText', 'text'] as const)('F21 ends the run if text went to `%s`, which can’t take it back', async (reader) => {
    const cut = { text: half, fault: { cutAfterBytes: 'content' as const } }
    for (const [onCut, expected] of [
      [undefined, [half, 'model_error']],
      ['end', [half, 'model_error']],
      ['restart', [half + answer, 'answered']],
    ] as const) {
      await using on = await stage(mode, [cut, answer], retries)
      let shown = ''
      const show = (text: string): void => {
        shown += text
      }
      const options = onCut === undefined ? {} : { onCut }
      const stream = on.runner.stream('go', { ...options, ...(reader === 'onText' ? { onText: show } : {}) })
      const read = async () => {
        for await (const text of stream.text) show(text)
      }
      if (reader === 'text' && expected[1] === 'model_error')
        await expect(read()).rejects.toMatchObject({ name: 'RunError', code: 'stream_cut' })
      else if (reader === 'text') await read()
      const result = await stream.result
      expect([shown, result.stopReason]).toEqual(expected)
      expect(result.output).toBe(onCut === 'restart' ? answer : half)
    }
  })

  it('F21 ends the run with `onCut: end`, even with a listener', async () => {
    const cut = { text: half, fault: { cutAfterBytes: 'content' as const } }
    await using on = await stage(mode, [cut, answer], { ...retries, onCut: 'end' })
    const watcher = new Watcher()
    expect(await watch(on.runner, watcher, 'listener')).toMatchObject({ stopReason: 'model_error', output: half })
    expect(watcher.discarded).toBe(0)
  })

  it('F21 is absent from a stream that is read later', async () => {
    const cut = { text: half, fault: { cutAfterBytes: 'content' as const } }
    for (const way of ['events', 'text'] as const) {
      await using on = await stage(mode, script(cut), { tools: [countingTool('look').tool], ...retries })
      const stream = on.runner.stream('go')
      await stream.result
      if (way === 'text') {
        let text = ''
        for await (const piece of stream.text) text += piece
        expect(text.replace(/\s+/g, '')).toBe(`First.${answer}`.replace(/\s+/g, ''))
      } else {
        const events: RunEvent[] = []
        for await (const event of stream) events.push(event)
        const texts = events.filter((event) => event.type === 'TEXT_DELTA').map(({ text }) => text)
        expect(texts.join('').replace(/\s+/g, '')).toBe(`First.${answer}`.replace(/\s+/g, ''))
      }
    }
  })
})

const [mode] = streamingModes
if (mode === undefined) throw new Error('expected modes')

describe('a response that breaks off', () => {
  it('F21 is replaced by the next model, which starts again', async () => {
    await using one = await mode.open([{ text: half, fault: { cutAfterBytes: 'content' } }])
    await using two = await mode.open([answer])
    const runner = new AgentRunner({ models: [one.model, two.model], logger: recordingLogger().logger })
    const watcher = new Watcher()
    expect(await watch(runner, watcher, 'listener')).toMatchObject({ stopReason: 'answered', output: answer })
    expect([watcher.text, watcher.discarded]).toEqual([answer, 1])
  })

  it('F21 takes back reasoning and an unfinished call too', async () => {
    const cut = { reasoning: 'Hm, wh', toolCalls: [call('look', { n: 1 })], fault: { cutAfterBytes: 'content' as const } }
    const whole = { reasoning: 'Hm.', toolCalls: [call('look', { n: 2 })] }
    await using on = await stage(mode, [cut, whole, answer], { tools: [countingTool('look').tool], ...retries })
    const watcher = new Watcher()
    const seen: [string, [string, string][]][] = []
    const stream = on.runner.stream('go')
    for await (const event of stream) {
      watcher.take(event)
      if (event.type === 'MODEL_END') seen.push([watcher.reasoning, [...watcher.calls]])
    }
    const [{ id } = { id: '' }] = (await stream.result).toolCalls
    expect(seen[0]).toEqual(['Hm.', [[id, '{"n":2}']]])
  })

  it('F21 is requested again if only reasoning was shown while only text is read', async () => {
    const cut = { reasoning: 'Hm, wh', fault: { cutAfterBytes: 'content' as const } }
    await using on = await stage(mode, [cut, { reasoning: 'Hm.', text: answer }], retries)
    on.runner.on(Event.REASONING_DELTA, () => {})
    let shown = ''
    const onText = (text: string): void => {
      shown += text
    }
    expect(await on.run('go', { onText })).toMatchObject({ stopReason: 'answered', output: answer })
    expect(shown).toBe(answer)
  })

  it('F21 restarts a partial answer with a schema', async () => {
    const output = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const
    const cut = { text: '{"city": "Os', fault: { cutAfterBytes: 'content' as const } }
    await using on = await stage(mode, [cut, '{"city": "Rome"}'], {
      ...retries,
      settings: { ...retries.settings, quirks: { structuredOutput: 'with-tools' } },
    })
    const stream = on.runner.stream('go', { output })
    let last: unknown
    for await (const part of stream.partialOutput) last = structuredClone(part)
    expect(last).toEqual({ city: 'Rome' })
    expect((await stream.result).output).toEqual({ city: 'Rome' })
  })

  it('F21 is seen once by hooks around the request and guardrails that hold text', async () => {
    const cut = { text: half, toolCalls: [call('look', { n: 1 })], fault: { cutAfterBytes: 'content' as const } }
    const seen: string[] = []
    await using on = await stage(mode, [cut, answer], {
      ...retries,
      tools: [countingTool('look').tool],
      hooks: [
        {
          async aroundModel(_request, proceed) {
            const response = await proceed()
            seen.push(response.text)
            return response
          },
        },
      ],
      guardrails: [{ name: 'fine', output: ({ text }) => void seen.push(text) }],
    })
    const watcher = new Watcher()
    expect(await watch(on.runner, watcher, 'stream')).toMatchObject({ stopReason: 'answered', output: answer })
    expect(seen).toEqual([answer, answer])
    expect(watcher.text).toBe(answer)
  })

  it('F21 inside a call does not affect the outer run, whose own text can be read separately', async () => {
    await using inner = await mode.open([{ text: half, fault: { cutAfterBytes: 'content' } }, 'inside'], retries)
    const agent = new AgentRunner({ model: inner.model, logger: recordingLogger().logger })
    const ask = defineTool({
      name: 'ask',
      description: 'Asks.',
      execute: async (_args, parent) => (await agent.run('go', { parent, forwardEvents: true })).output,
    })
    await using on = await stage(mode, [{ toolCalls: [call('ask')] }, answer], { tools: [ask], ...retries })
    const stream = on.runner.stream('go')
    let shown = ''
    for await (const text of stream.text) shown += text
    const result = await stream.result
    expect([shown, result.toolCalls[0]?.content]).toEqual([answer, 'inside'])
  })

  it('F21 is recorded once: a stream of the resumed run contains nothing that was taken back', async () => {
    const journal = memoryJournal()
    const cut = { text: half, fault: { cutAfterBytes: 'content' as const } }
    const pay = defineTool({ name: 'pay', description: 'Pays.', approval: true, execute: () => 'paid' })
    await using on = await stage(mode, [cut, { text: 'May I?', toolCalls: [call('pay')] }, answer], { tools: [pay], ...retries, journal })
    const first = new Watcher()
    const paused = await watch(on.runner, first, 'stream')
    expect([paused.stopReason, first.discarded, first.texts]).toEqual(['paused', 1, ['May I?']])
    const decisions = paused.pending.map((item) => ({ ...item, approved: true as const }))
    const second = new Watcher()
    const stream = on.runner.resumeStream(paused.runId, { decisions })
    for await (const event of stream) second.take(event)
    const result = await stream.result
    expect(result).toMatchObject({ stopReason: 'answered', output: answer, steps: [{ retries: 1 }, { retries: 0 }] })
    expect([second.discarded, second.texts]).toEqual([0, ['May I?', answer]])
    expect(result.messages.filter(({ role }) => role === 'assistant')).toHaveLength(2)
  })

  it('F21 is taken back after a conversation that was too long, and not requested again if that is impossible', async () => {
    const usage = (inputTokens: number) => ({ inputTokens, outputTokens: 3 })
    const long = 'long result '.repeat(50)
    const rounds = Array.from({ length: 4 }, (_, n): MockReply => ({ toolCalls: [call('look', { n })], usage: usage(200) }))
    const options = {
      tools: [countingTool('look', long).tool],
      maxIterations: 8,
      limits: { repeatedCalls: Number.POSITIVE_INFINITY },
      compaction: { maxTokens: 100_000 },
      settings: { contextWindow: 1000 },
    }
    const replies = [...rounds, { text: 'Who are you?', usage: usage(1100) }, { text: answer, usage: usage(700) }]
    await using on = await stage(mode, replies, options)
    const watcher = new Watcher()
    expect(await watch(on.runner, watcher, 'listener')).toMatchObject({ stopReason: 'answered', output: answer })
    expect([watcher.text, watcher.discarded]).toEqual([answer, 1])

    await using again = await stage(mode, replies, options)
    const result = await again.run('go', { onText: () => {} })
    expect(result).toMatchObject({ stopReason: 'model_error', error: { code: 'context_overflow' }, output: 'Who are you?' })
  })
})

/** Runs, and lets the watcher see every event. */
async function watch(runner: AgentRunner, watcher: Watcher, way: 'listener' | 'stream') {
  if (way === 'listener') {
    runner.bus.onAny((type, payload, meta) => watcher.take({ type, meta, ...payload } as RunEvent))
    return await runner.run('go')
  }
  const stream = runner.stream('go')
  for await (const event of stream) watcher.take(event)
  return await stream.result
}
