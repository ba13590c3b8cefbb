import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { Event } from '../../src/core/events.ts'
import { type FallbackOn, fallbackModel } from '../../src/models/combined/fallback.ts'
import type { AnyModel } from '../../src/models/create-model.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import type { MockFault } from '../../src/testing/mock/fault.ts'
import type { MockReply } from '../../src/testing/mock/reply.ts'
import { findWire } from '../../src/testing/mock/wires.ts'
import { driverModes, streamingModes } from './modes.ts'
import { recordingLogger } from './recording-logger.ts'
import { expectValidHistory } from './stage.ts'
import { call, countingTool } from './tools.ts'
import { failOnUnhandledRejections } from './unhandled.ts'

failOnUnhandledRejections()

const usage = { inputTokens: 5, outputTokens: 1 }
const failures: MockFault[] = [
  { status: 500 },
  { status: 429 },
  { status: 401 },
  { contextOverflow: true },
  { htmlError: 502 },
  { resetAfterBytes: 0 },
  { cutAfterBytes: 0 },
  { jsonErrorWith200: true },
]

describe.each(driverModes)('a second model: $name', (mode) => {
  async function open(first: { script: MockReply[]; faults?: (index: number) => MockFault | undefined }, second: MockReply[]) {
    const { faults } = first
    const one = await mode.open(first.script, faults && { faults: ({ index }) => faults(index) })
    const two = await mode.open(second)
    const look = countingTool('look')
    const { logger } = recordingLogger()
    const models: readonly AnyModel[] = [one.model, two.model]
    const runner = new AgentRunner({ ...one.options, models, tools: [look.tool], logger })
    const close = async () => {
      await two[Symbol.asyncDispose]()
      await one[Symbol.asyncDispose]()
    }
    return { one, two, look, runner, [Symbol.asyncDispose]: close }
  }

  it.each(failures)('H44 takes over if the first fails with %j before it has sent anything', async (fault) => {
    await using on = await open({ script: [], faults: () => fault }, [{ toolCalls: [call('look')] }, 'done'])
    const result = await on.runner.run('go')
    expect(result).toMatchObject({ stopReason: 'answered', output: 'done', iterations: 2 })
    expect(result.steps[0]?.warnings[0]).toMatch(/^Answered by `.+` instead: /)
    expect(on.look.calls).toHaveLength(1)
    expectValidHistory(result.messages)
  })

  it('H44 takes over during a run, with the whole conversation', async () => {
    await using on = await open(
      { script: [{ text: 'First.', toolCalls: [call('look')], usage }], faults: (index) => (index === 0 ? undefined : { status: 503 }) },
      [{ text: 'done', usage }],
    )
    const result = await on.runner.run('go')
    expect(result).toMatchObject({ stopReason: 'answered', output: 'done', usage: { inputTokens: 10, outputTokens: 2 } })
    expect(on.two.requests()[0]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
  })

  it('H44 all fail: model_error with the error of each; nothing is lost', async () => {
    await using on = await open(
      { script: [{ toolCalls: [call('look')] }], faults: (index) => (index === 0 ? undefined : { status: 503 }) },
      [],
    )
    const result = await on.runner.run('go')
    expect(result.stopReason).toBe('model_error')
    expect(result.error?.message).toMatch(/HTTP .*The other models: .*HTTP 503/s)
    expect(result.messages).toHaveLength(3)
  })

  it('H44 does not treat an abort as a failure', async () => {
    await using on = await open({ script: [], faults: () => ({ stallAfterBytes: 0 }) }, ['never'])
    const controller = new AbortController()
    on.runner.on(Event.MODEL_START, () => setImmediate(() => controller.abort()))
    const result = await on.runner.run('go', { signal: controller.signal })
    expect(result.stopReason).toBe('aborted')
    expect(on.two.provider.requests).toHaveLength(0)
  })
})

describe.each(driverModes)('fallbackOn: $name', (mode) => {
  const reasons = findWire(mode.wire).traits.refusals ? (['refusal', 'content_filter'] as const) : (['content_filter'] as const)
  const all = ['refusal', 'content_filter'] as const

  const textOf = (finishReason: string) => (finishReason === 'refusal' ? 'I can’t.' : '')

  async function run(replies: MockReply[], fallbackOn: FallbackOn | undefined, options: { onText?: (text: string) => void } = {}) {
    await using one = await mode.open(replies)
    await using two = await mode.open([{ text: 'done', usage }])
    const look = countingTool('look')
    const { logger } = recordingLogger()
    const models: readonly AnyModel[] = [one.model, two.model]
    const runner = new AgentRunner({
      ...one.options,
      models,
      tools: [look.tool],
      logger,
      ...(fallbackOn && { fallbackOn }),
    })
    const retries: unknown[] = []
    runner.on(Event.MODEL_RETRY, (retry) => retries.push(retry))
    const watched = watchText(runner)
    const result = await runner.run('go', options)
    return { result, retries, asked: [one, two].map(({ provider }) => provider.requests.length), look, shown: watched() }
  }

  it.each(reasons)('F23 a response that ended with %s lets the next model try; its usage counts', async (finishReason) => {
    const { result, retries, shown } = await run([{ text: textOf(finishReason), finishReason, usage }], all)
    expect(result).toMatchObject({ stopReason: 'answered', output: 'done', usage: { inputTokens: 10, outputTokens: 2 } })
    expect(result.steps[0]?.warnings[0]).toMatch(/^Answered by `.+` instead: /)
    expect(retries).toMatchObject([{ delayMs: 0, errorCode: finishReason }])
    expect(shown).toBe('done')
    expectValidHistory(result.messages)
  })

  it.runIf(reasons.length === 2)(
    'F23 a refusal with text is taken back: history and watchers only have the other model’s answer',
    async () => {
      const { result, shown } = await run([{ text: 'I can’t.', finishReason: 'refusal', usage }], ['refusal'])
      expect(result).toMatchObject({ stopReason: 'answered', output: 'done' })
      expect(shown).toBe('done')
      expect(JSON.stringify(result.messages)).not.toContain('I can’t.')
    },
  )

  it('F23 a response that a filter cut after some text is kept, and so is every response by default', async () => {
    const cut = await run([{ text: 'Half', finishReason: 'content_filter' }], all)
    expect(cut).toMatchObject({ asked: [1, 0], result: { error: { code: 'content_filter' } } })
    for (const finishReason of reasons) expect((await run([{ text: textOf(finishReason), finishReason }], undefined)).asked).toEqual([1, 0])
  })

  it('F23 a function decides for any response; if it throws, the response is kept, with a warning', async () => {
    const decided = await run([{ text: 'short' }], ({ text }) => text === 'short')
    expect(decided.result).toMatchObject({ output: 'done' })
    const threw = await run([{ text: 'short' }], () => {
      throw new Error('oh')
    })
    expect(threw).toMatchObject({ asked: [1, 0], result: { output: 'short' } })
    expect(threw.result.steps[0]?.warnings).toContain('`fallbackOn` threw, and the response is kept: oh')
  })

  it('F23 the last model’s response is kept', async () => {
    await using one = await mode.open([{ text: '', finishReason: 'content_filter' }])
    await using two = await mode.open([{ text: '', finishReason: 'content_filter' }])
    const runner = new AgentRunner({ ...one.options, models: [one.model, two.model], fallbackOn: all, logger: recordingLogger().logger })
    const result = await runner.run('go')
    expect(result.error?.code).toBe('content_filter')
    expect(two.provider.requests).toHaveLength(1)
  })
})

describe.each(streamingModes)('fallbackOn, streaming: $name', (mode) => {
  it('F23 text that can’t be taken back is kept: nobody reads two answers', async () => {
    await using one = await mode.open(['No.'])
    await using two = await mode.open(['never'])
    const models: readonly AnyModel[] = [one.model, two.model]
    const runner = new AgentRunner({ models, fallbackOn: () => true, logger: recordingLogger().logger })
    let shown = ''
    const onText = (text: string) => {
      shown += text
    }
    const result = await runner.run('go', { onText })
    expect(result).toMatchObject({ stopReason: 'answered', output: 'No.' })
    expect(shown).toBe('No.')
    expect(two.provider.requests).toHaveLength(0)
  })
})

it.each([['refused'], 'refusal', 1, {}])('F23 `fallbackOn: %j` is refused', (fallbackOn) => {
  const models = [scriptedModel(['a']), scriptedModel(['b'])]
  expect(() => fallbackModel(models, { fallbackOn: fallbackOn as never })).toThrow(/^Expected `fallbackOn` to be a function or an array of/)
})

it('F23 `fallbackOn` is refused without `models`', () => {
  expect(() => new AgentRunner({ model: scriptedModel(['a']), fallbackOn: ['refusal'] })).toThrow(
    /`fallbackOn` to be absent unless `models`/,
  )
})

/** The text for a reader who takes back what a `MODEL_RETRY` discards. */
function watchText(runner: AgentRunner): () => string {
  let shown = ''
  runner.on(Event.TEXT_DELTA, ({ text }) => {
    shown += text
  })
  runner.on(Event.MODEL_RETRY, ({ discards }) => {
    if (discards) shown = ''
  })
  return () => shown
}

describe.each(streamingModes)('a second model, streaming: $name', (mode) => {
  it('H44 does not take over after text was shown that can’t be taken back: nobody reads two beginnings', async () => {
    await using one = await mode.open(['Hello, this is the beginning.'], { faults: { cutAfterBytes: 'content' } })
    await using two = await mode.open(['never'])
    const runner = new AgentRunner({ models: [one.model, two.model], logger: recordingLogger().logger })
    let shown = ''
    const onText = (text: string) => {
      shown += text
    }
    const result = await runner.run('go', { onText })
    expect(result).toMatchObject({ stopReason: 'model_error', error: { code: 'stream_cut' }, output: 'Hello, this is the beginning.' })
    expect(shown).toBe('Hello, this is the beginning.')
    expect(two.provider.requests).toHaveLength(0)
  })
})
