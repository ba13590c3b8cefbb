import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { emptyRunView, type RunEvent, reduceRun } from '../../src/core/runs/index.ts'

// The page has its own types: those of a browser.
const { Steps } = await import(new URL('../../src/page/run/steps.ts', import.meta.url).href)

// Timers draw what a browser draws.
beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const meta = { runId: 'r', iteration: 1, time: 0 }

/** Steps as the page makes them from a run's events. */
function stepsOf(options = {}) {
  const steps = new Steps(options)
  const view = emptyRunView('r')
  const take = (event: object) => steps.take(reduceRun(view, event as RunEvent), event)
  const shown = () =>
    steps
      .toShow()
      .steps.map(({ kind, texts }: { kind: string; texts?: { text: string }[] }) => texts?.map(({ text }) => text).join('') ?? kind)
  return { steps, take, shown }
}

it('F21 takes back the text and calls of a response that broke off', () => {
  const { steps, take, shown } = stepsOf()
  take({ type: 'MODEL_START', meta, provider: 'p', model: 'm' })
  take({ type: 'REASONING_DELTA', meta, text: 'Hm' })
  take({ type: 'TEXT_DELTA', meta, text: 'It is lo' })
  take({ type: 'TOOL_INPUT_START', meta, id: 'c1', tool: 'look' })
  expect(shown()).toEqual(['turn', 'Hm', 'It is lo', 'call'])
  take({ type: 'MODEL_RETRY', meta, provider: 'p', model: 'm', errorCode: 'stream_cut', error: 'gone', discards: true })
  expect(shown()).toEqual(['turn'])
  take({ type: 'TEXT_DELTA', meta, text: 'It is long.' })
  steps.answer('It is long.')
  expect(shown()).toEqual(['turn', 'It is long.'])
})

it('F21 keeps the text that such a response continues', () => {
  const { take, shown } = stepsOf({ hasTurns: false })
  take({ type: 'MODEL_START', meta, provider: 'p', model: 'm' })
  take({ type: 'TEXT_DELTA', meta, text: 'It ' })
  take({ type: 'MODEL_START', meta, provider: 'p', model: 'm', continues: true })
  take({ type: 'TEXT_DELTA', meta, text: 'is lo' })
  take({ type: 'MODEL_RETRY', meta, provider: 'p', model: 'm', errorCode: 'stream_cut', error: 'gone', discards: true })
  take({ type: 'TEXT_DELTA', meta, text: 'is long.' })
  expect(shown()).toEqual(['It is long.'])
})

it('replaces the run’s text by its final answer, and nothing before it', () => {
  const { steps, take, shown } = stepsOf({ hasTurns: false })
  steps.user('How long?')
  take({ type: 'MODEL_START', meta, provider: 'p', model: 'm' })
  take({ type: 'TEXT_DELTA', meta, text: 'I look.' })
  take({ type: 'TOOL_CALL_START', meta: { ...meta, toolCallId: 'c1' }, tool: 'look', args: {} })
  take({ type: 'GUARDRAIL', meta, guardrail: 'tone', place: 'output', verdict: 'replace' })
  steps.answer('It is long.')
  expect(shown()).toEqual(['user', 'I look.', 'call', 'note', 'It is long.'])
  steps.answer('It is very long.')
  expect(shown().at(-1)).toBe('It is very long.')
})

it('shows the calls of a nested agent, but not its text', () => {
  const { take, shown, steps } = stepsOf()
  const inside = { runId: 'b', parentRunId: 'r', parentToolCallId: 'c1', depth: 1, iteration: 1, time: 0 }
  take({ type: 'TOOL_CALL_START', meta: { ...meta, toolCallId: 'c1' }, tool: 'helper', args: {} })
  take({ type: 'MODEL_START', meta: inside, provider: 'p', model: 'm' })
  take({ type: 'TEXT_DELTA', meta: inside, text: 'I look.' })
  take({ type: 'TOOL_INPUT_START', meta: inside, id: 'b1', tool: 'look', index: 0 })
  expect(shown()).toEqual(['call', 'call'])
  expect(steps.toShow().steps.at(-1)).toMatchObject({ call: { within: 'helper', depth: 1, topRunId: 'r' } })
  take({ type: 'MODEL_RETRY', meta: inside, provider: 'p', model: 'm', errorCode: 'stream_cut', error: 'gone', delayMs: 1, discards: true })
  expect(shown()).toEqual(['call'])
})
