import { expect, it } from 'vitest'
import { emptyRunView, type RunEvent, reduceRun } from '../../src/core/runs/index.ts'

// The page has its own types: those of a browser.
const load = (file: string) => import(new URL(`../../src/page/run/${file}`, import.meta.url).href)
const { timeScale, tickWords } = await load('time-scale.ts')
const { Spans } = await load('spans.ts')
const { treeOf, nameOf } = await load('bar-rows.ts')

it('ticks are round working times, whatever was waited in between', () => {
  const ticks = (end: number, pauses: { from: number; to: number | undefined }[] = []) =>
    timeScale({ start: 0, end, pauses }).ticks.map(({ ms, at }: { ms: number; at: number }) => `${tickWords(ms)} ${at.toFixed(2)}`)
  expect(ticks(1_210)).toEqual(['0 0.00', '500 ms 0.41', '1 s 0.83'])
  expect(ticks(4)).toEqual(['0 0.00', '1 ms 0.25', '2 ms 0.50', '3 ms 0.75', '4 ms 1.00'])
  expect(ticks(5 * 60_000)).toEqual(['0 0.00', '1 min 0.20', '2 min 0.40', '3 min 0.60', '4 min 0.80', '5 min 1.00'])
  expect(ticks(11 * 86_400_000)).toEqual(['0 0.00', '72 h 0.27', '144 h 0.55', '216 h 0.82'])
  // An hour of waiting after two of four seconds takes 8 % of the work.
  expect(ticks(3_604_000, [{ from: 2_000, to: 3_602_000 }])).toEqual(['0 0.00', '1 s 0.23', '2 s 0.46', '3 s 0.77', '4 s 1.00'])
})

it('several runs inside a call have bars of their own, a single one has that of the call', () => {
  const event = (type: string, runId: string, time: number, more: object = {}): RunEvent =>
    ({
      type,
      meta: { runId, iteration: 1, time, ...(runId === 'a' ? {} : { parentRunId: 'a', parentToolCallId: 'c', depth: 1 }) },
      ...more,
    }) as never
  const inside = (runId: string, stopReason: string) => [
    event('RUN_START', runId, 20),
    event('MODEL_START', runId, 20, { provider: 'p', model: 'm' }),
    event('MODEL_END', runId, 30, { provider: 'p', model: 'm', finishReason: 'stop' }),
    event('RUN_END', runId, 40, { stopReason, usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 } }),
  ]
  const namesOf = (...runs: [id: string, stopReason: string][]) => {
    const view = emptyRunView('a')
    const call = { tool: 'ask', args: {}, meta: { runId: 'a', iteration: 1, time: 15, toolCallId: 'c' } }
    const start = [event('RUN_START', 'a', 0), event('MODEL_START', 'a', 0, { provider: 'p', model: 'm' })]
    const events = [...start, { type: 'TOOL_CALL_START', ...call } as never, ...runs.flatMap(([id, stopReason]) => inside(id, stopReason))]
    const spans = new Spans()
    for (const one of events) {
      reduceRun(view, one)
      spans.take(view)
    }
    type Row = { span: { state: string; start: number; end: number }; depth: number; parts: Row[] }
    const told = (row: Row): string[] => [
      `${row.depth} ${nameOf(row)} ${row.span.state} ${row.span.start}–${row.span.end}`,
      ...row.parts.flatMap(told),
    ]
    return treeOf(spans.all, new Map()).flatMap(told)
  }
  expect(namesOf(['b', 'answered'])).toEqual(['0 Turn 1 running 0–undefined', '1 ask running 15–undefined', '2 Turn 1 ok 20–30'])
  expect(namesOf(['b', 'answered'], ['d', 'model_error'])).toEqual([
    '0 Turn 1 running 0–undefined',
    '1 ask running 15–undefined',
    '2 Run 1 ok 20–40',
    '3 Turn 1 ok 20–30',
    '2 Run 2 failed 20–40',
    '3 Turn 1 ok 20–30',
  ])
})
