import { afterEach, beforeEach, expect, it, vi } from 'vitest'

// The page has types of its own: those of a browser.
const { Steps } = await import(new URL('../../src/page/run/steps.ts', import.meta.url).href)

// What a browser draws is drawn by timers.
beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const meta = { runId: 'r', iteration: 1, time: 0 }

it('F21 what was said and written of a response that broke off is taken back', () => {
  const steps = new Steps()
  const shown = () => steps.toShow().steps.map((step: { kind: string; text?: string }) => step.text ?? step.kind)
  steps.take({ type: 'MODEL_START', meta, provider: 'p', model: 'm' })
  steps.take({ type: 'REASONING_DELTA', meta, text: 'Hm' })
  steps.take({ type: 'TEXT_DELTA', meta, text: 'It is lo' })
  steps.take({ type: 'TOOL_INPUT_START', meta, id: 'c1', tool: 'look' })
  expect(shown()).toEqual(['turn', 'Hm', 'It is lo', 'call'])
  steps.take({ type: 'MODEL_RETRY', meta, provider: 'p', model: 'm', errorCode: 'stream_cut', error: 'gone', discards: true })
  expect(shown()).toEqual(['turn'])
  steps.take({ type: 'TEXT_DELTA', meta, text: 'It is long.' })
  steps.answer('It is long.')
  expect(shown()).toEqual(['turn', 'It is long.'])
})

it('F21 the text that such a response continues stays', () => {
  const steps = new Steps({ hasTurns: false })
  steps.take({ type: 'MODEL_START', meta, provider: 'p', model: 'm' })
  steps.take({ type: 'TEXT_DELTA', meta, text: 'It ' })
  steps.take({ type: 'MODEL_START', meta, provider: 'p', model: 'm', continues: true })
  steps.take({ type: 'TEXT_DELTA', meta, text: 'is lo' })
  steps.take({ type: 'MODEL_RETRY', meta, provider: 'p', model: 'm', errorCode: 'stream_cut', error: 'gone', discards: true })
  steps.take({ type: 'TEXT_DELTA', meta, text: 'is long.' })
  expect(steps.toShow().steps).toMatchObject([{ kind: 'assistant', text: 'It is long.' }])
})
