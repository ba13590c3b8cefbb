import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { Event } from '../../src/core/events.ts'
import type { AnyModel } from '../../src/models/create-model.ts'
import type { MockFault } from '../../src/testing/mock/fault.ts'
import type { MockReply } from '../../src/testing/mock/reply.ts'
import { modes, streamingModes } from './modes.ts'
import { expectValidHistory, recordingLogger } from './stage.ts'
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

describe.each(modes)('a second model: $name', (mode) => {
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

  it.each(failures)('H44 takes over when the first fails with %j before it has said anything', async (fault) => {
    await using on = await open({ script: [], faults: () => fault }, [{ toolCalls: [call('look')] }, 'done'])
    const result = await on.runner.run('go')
    expect(result).toMatchObject({ stopReason: 'answered', output: 'done', iterations: 2 })
    expect(result.steps[0]?.warnings[0]).toMatch(/^Answered by `.+` instead: /)
    expect(on.look.calls).toHaveLength(1)
    expectValidHistory(result.messages)
  })

  it('H44 takes over in the middle of a run, with the whole conversation', async () => {
    await using on = await open(
      { script: [{ text: 'First.', toolCalls: [call('look')], usage }], faults: (index) => (index === 0 ? undefined : { status: 503 }) },
      [{ text: 'done', usage }],
    )
    const result = await on.runner.run('go')
    expect(result).toMatchObject({ stopReason: 'answered', output: 'done', usage: { inputTokens: 10, outputTokens: 2 } })
    expect(on.two.requests()[0]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
  })

  it('H44 all fail: model_error, which says what each of them said; nothing is lost', async () => {
    await using on = await open(
      { script: [{ toolCalls: [call('look')] }], faults: (index) => (index === 0 ? undefined : { status: 503 }) },
      [],
    )
    const result = await on.runner.run('go')
    expect(result.stopReason).toBe('model_error')
    expect(result.error?.message).toMatch(/HTTP .*The other models: .*HTTP 503/s)
    expect(result.messages).toHaveLength(3)
  })

  it('H44 an abort is not a failure to make up for', async () => {
    await using on = await open({ script: [], faults: () => ({ stallAfterBytes: 0 }) }, ['never'])
    const controller = new AbortController()
    on.runner.on(Event.MODEL_START, () => setImmediate(() => controller.abort()))
    const result = await on.runner.run('go', { signal: controller.signal })
    expect(result.stopReason).toBe('aborted')
    expect(on.two.provider.requests).toHaveLength(0)
  })
})

describe.each(streamingModes)('a second model, streaming: $name', (mode) => {
  it('H44 does not take over once text was shown where it can’t be taken back: nobody is to read two beginnings', async () => {
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
