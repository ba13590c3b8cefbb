import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { ModelError } from '../../src/core/errors.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { type ModeScript, quickModes } from './modes.ts'
import { recordingLogger } from './recording-logger.ts'
import { resultTexts, stage } from './stage.ts'
import { skipWhatTextCannotSay } from './text-modes.ts'
import { call, countingTool, deafTool } from './tools.ts'
import { timersLeft } from './waiting.ts'

afterEach(() => {
  vi.useRealTimers()
})

describe('budgets with a custom model', () => {
  it('H8 requests that fail or break off count, with their cost', async () => {
    const partial = { text: 'Half', usage: { inputTokens: 500_000, outputTokens: 0, totalTokens: 500_000 } }
    const error = new ModelError('stream_cut', 'cut', { provider: 'scripted', retryable: false, partial })
    const empty = { text: '', usage: { inputTokens: 250_000, outputTokens: 0 } }
    const model = scriptedModel([empty, { error }], { capabilities: { nativeTools: true, price: { input: 4, output: 8 } } })
    const { logger } = recordingLogger()
    const result = await new AgentRunner({ model, logger, limits: { costUsd: 100 } }).run('go')
    expect(result).toMatchObject({ stopReason: 'model_error', output: 'Half', usage: { totalTokens: 750_000, costUsd: 3 } })
  })
})

describe.each(quickModes)('budgets: $name', (mode) => {
  beforeEach((context) => skipWhatTextCannotSay(mode, context))

  it('H8 a token budget ends the run between steps, after the current round', async () => {
    const look = countingTool('look')
    const script: ModeScript = () => ({ toolCalls: [call('look', { at: Math.random() })], usage: { inputTokens: 40, outputTokens: 10 } })
    await using on = await stage(mode, script, { tools: [look.tool], maxIterations: 9, limits: { tokens: 100 } })
    expect(await on.run()).toMatchObject({ stopReason: 'budget', iterations: 2, usage: { totalTokens: 100 } })
    expect(look.calls).toHaveLength(2)
  })

  it('H8 an answer that uses the budget up is still an answer', async () => {
    await using on = await stage(mode, [{ text: 'Done.', usage: { inputTokens: 400, outputTokens: 10 } }], { limits: { tokens: 100 } })
    expect(await on.run()).toMatchObject({ stopReason: 'answered', output: 'Done.' })
  })

  it('H8 a cost budget counts what the model costs, and is refused if that is unknown', async () => {
    const look = countingTool('look')
    const script: ModeScript = () => ({
      toolCalls: [call('look', { at: Math.random() })],
      usage: { inputTokens: 1_000_000, outputTokens: 100_000 },
    })
    const limits = { costUsd: 5 }
    await using on = await stage(mode, script, {
      tools: [look.tool],
      maxIterations: 9,
      limits,
      settings: { price: { input: 1, output: 10 } },
    })
    expect(await on.run()).toMatchObject({ stopReason: 'budget', iterations: 3, usage: { costUsd: 6 } })
    await expect(stage(mode, script, { limits })).rejects.toMatchObject({ code: 'invalid_option' })
  })

  it('H8 a call budget: further calls are answered with "not run", and the run ends', async () => {
    const look = countingTool('look')
    const script: ModeScript = [
      { toolCalls: [1, 2].map((n) => call('look', { n })) },
      { toolCalls: [3, 4, 5].map((n) => call('look', { n })) },
    ]
    await using on = await stage(mode, script, { tools: [look.tool], maxIterations: 9, limits: { toolCalls: 3 } })
    const result = await on.run()
    expect(result.stopReason).toBe('budget')
    expect(look.calls).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }])
    expect(resultTexts(result).slice(3)).toEqual(Array(2).fill('Not run: the limit of 3 tool calls is reached.'))
    expect(result.toolCalls.map(({ outcome }) => outcome)).toEqual(['ok', 'ok', 'ok', 'denied', 'denied'])
  })

  it('H8 nobody is asked to approve a call beyond the budget', async () => {
    const pay = countingTool('pay')
    const asked: string[] = []
    const approve = ({ toolCallId }: { toolCallId: string }) => {
      asked.push(toolCallId)
      return true
    }
    const script: ModeScript = [{ toolCalls: [1, 2].map((n) => call('pay', { n }, `call-${n}`)) }]
    for (const withApprover of [true, false]) {
      asked.length = 0
      await using on = await stage(mode, script, {
        tools: [{ ...pay.tool, approval: true }],
        limits: { toolCalls: withApprover ? 1 : 0 },
        ...(withApprover ? { approve } : {}),
      })
      const result = await on.run()
      expect(result).toMatchObject({ stopReason: 'budget', pending: [] })
      expect(asked).toEqual(withApprover ? ['call-1'] : [])
    }
    expect(pay.calls).toEqual([{ n: 1 }])
  })

  it('H8 the deadline aborts a model request in progress', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    await using on = await stage(
      mode,
      [
        { toolCalls: [call('look')], usage: { inputTokens: 8, outputTokens: 1 } },
        { text: 'I thi', hang: true },
      ],
      {
        tools: [countingTool('look').tool],
        limits: { deadlineMs: 60_000 },
        streamIdleTimeoutMs: Number.POSITIVE_INFINITY,
      },
    )
    const running = on.run()
    await on.provider.waitForRequest(2)
    vi.advanceTimersByTime(59_999)
    expect(on.provider.requests[1]).toMatchObject({ ended: false })
    vi.advanceTimersByTime(1)
    expect(await running).toMatchObject({ stopReason: 'deadline', usage: { totalTokens: 9 }, iterations: 2 })
    expect(await on.provider.waitForEnd(2)).toMatchObject({ aborted: true })
    expect(await timersLeft()).toBe(0)
  })

  it('H8 the deadline aborts a running tool; its result says so', async () => {
    const deaf = deafTool()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    await using on = await stage(mode, [{ toolCalls: [call('look'), call('deaf')] }], {
      tools: [deaf.tool, countingTool('look').tool],
      limits: { deadlineMs: 10_000 },
    })
    const running = on.run()
    const signal = await deaf.called
    vi.advanceTimersByTime(10_000)
    const result = await running
    expect(signal.aborted).toBe(true)
    expect(result.stopReason).toBe('deadline')
    expect(result.toolCalls.map(({ outcome }) => outcome)).toEqual(['ok', 'cancelled'])
    expect(resultTexts(result)).toEqual(['look done', expect.stringContaining('cancelled')])
    expect(await timersLeft()).toBe(0)
  })

  it("H8 the deadline aborts the extra request of onLimit 'answer'", async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    await using on = await stage(mode, [{ toolCalls: [call('look')] }, { hang: true }], {
      tools: [countingTool('look').tool],
      maxIterations: 1,
      onLimit: 'answer',
      limits: { deadlineMs: 10_000 },
    })
    const running = on.run()
    await on.provider.waitForRequest(2)
    vi.advanceTimersByTime(10_000)
    expect((await running).stopReason).toBe('deadline')
  })
})
