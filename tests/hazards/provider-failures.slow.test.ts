import { describe, expect, it } from 'vitest'
import type { RunResult } from '../../src/agent/types/options.ts'
import { Event } from '../../src/core/events.ts'
import type { BodyMark } from '../../src/testing/mock/fault.ts'
import type { MockReply } from '../../src/testing/mock/reply.ts'
import { nativeModes } from './modes.ts'
import { stage } from './stage.ts'
import { call, countingTool } from './tools.ts'
import { failOnUnhandledRejections } from './unhandled.ts'

failOnUnhandledRejections()

const retries = (maxRetries: number) => ({ settings: { maxRetries, maxRetryDelayMs: 1 } })
const answer = 'The answer is long enough — 🙂 — to be cut somewhere.'

/** The text as the user sees it while it arrives. */
describe.each(nativeModes)('provider failures: $name', (mode) => {
  const breaks = ['cutAfterBytes', 'resetAfterBytes', 'garbageAfterBytes'] as const
  /** From the first byte to past the end of a streamed answer; a whole one ends earlier. */
  const places: BodyMark[] = ['content', ...Array.from({ length: 10 }, (_, n) => 1 + n * (mode.streaming ? 419 : 59))]

  /** The answer is complete, or the run says that it is not. Returns whether it was complete. */
  function expectHonest(result: RunResult, where: string): boolean {
    if (result.stopReason === 'answered') {
      expect(result.output, where).toBe(answer)
      return true
    }
    expect(result.stopReason, where).toBe('model_error')
    expect(['stream_cut', 'bad_response', 'connection_failed'], where).toContain(result.error?.code)
    expect(answer.startsWith(result.output), `${where}: ${result.output}`).toBe(true)
    expect(result.messages.slice(1), where).toEqual(result.output === '' ? [] : [{ role: 'assistant', content: result.output }])
    return false
  }

  it.each(breaks)('H40 %s, anywhere, with `onText`: never a complete answer, partial text kept, nothing shown twice', async (how) => {
    let whole = 0
    let partial = 0
    for (const at of places) {
      await using on = await stage(mode, [{ text: answer }, { text: answer }], { ...retries(1), faults: [{ [how]: at }] })
      let shown = ''
      const onText = (delta: string) => {
        shown += delta
      }
      const result = await on.runner.run('go', { onText })
      if (expectHonest(result, `${how} ${at}`)) whole++
      else {
        if (result.output !== '') partial++
        // Shown text can't be taken back, so the request is not repeated.
        expect(on.provider.requests).toHaveLength(1)
      }
      expect(shown, `${how} ${at}`).toBe(result.output)
    }
    expect(whole).toBeGreaterThan(0)
    if (mode.streaming) expect(partial).toBeGreaterThan(places.length / 3)
  })

  it.each(breaks)('H40 F21 %s, anywhere, with listeners that can take back text or without: requested again, and answered', async (how) => {
    let again = 0
    for (const [index, at] of places.entries()) {
      await using on = await stage(mode, [{ text: answer }, { text: answer }], { ...retries(1), faults: [{ [how]: at }] })
      let shown = ''
      if (index % 2 === 0) {
        on.runner.on(Event.TEXT_DELTA, ({ text }) => {
          shown += text
        })
        on.runner.on(Event.MODEL_RETRY, ({ discards }) => {
          if (discards) shown = ''
        })
      }
      const result = await on.runner.run('go')
      if (index % 2 === 0) expect(shown, `${how} ${at}`).toBe(answer)
      expect(result, `${how} ${at}`).toMatchObject({ stopReason: 'answered', output: answer })
      if (on.provider.requests.length === 2) again++
      expect(result.steps[0]?.retries).toBe(on.provider.requests.length - 1)
    }
    expect(again).toBeGreaterThan(places.length / 3)
  })

  it.each(breaks)('H40 %s, anywhere in a response with calls: they run once, completely, or not at all', async (how) => {
    const turn: MockReply = { text: 'I will.', toolCalls: [call('look', { a: 1 }), call('look', { b: [1, 2, 3] })] }
    for (const at of places) {
      const look = countingTool('look')
      await using on = await stage(mode, [turn, 'done'], { tools: [look.tool], faults: [{ [how]: at }] })
      const result = await on.runner.run('go')
      const expected = result.stopReason === 'answered' ? [{ a: 1 }, { b: [1, 2, 3] }] : []
      expect(look.calls, `${how} ${at}`).toEqual(expected)
      expect(result.toolCalls).toHaveLength(expected.length)
    }
  })
})
