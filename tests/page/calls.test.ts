import { expect, it } from 'vitest'
import type { RunEvent } from '../../src/core/runs/index.ts'

// The page has its own types: those of a browser.
const { LatestCalls, stateOfCall } = await import(new URL('../../src/page/data/calls.ts', import.meta.url).href)

const call = (type: string, id: string, meta: Partial<RunEvent['meta']> & { runId: string }, more: object = {}): RunEvent =>
  ({ type, tool: 't', args: {}, meta: { iteration: 1, time: 1, toolCallId: id, ...meta }, id, index: 0, ...more }) as RunEvent

function latestOf(events: readonly RunEvent[], most = 10) {
  const calls = new LatestCalls(most)
  for (const event of events) calls.take(event)
  return calls.latest.map((one: { key: string; topRunId: string; within: string; call: never }) => [
    one.key,
    one.topRunId,
    one.within,
    stateOfCall(one.call),
  ])
}

it('lists the calls of all runs, the latest first, including nested ones', () => {
  const inside = { runId: 'b', parentRunId: 'a', parentToolCallId: 'a1', depth: 1 }
  const end = { outcome: 'ok', result: 'r', bytes: 1 }
  const shown = latestOf([
    call('TOOL_CALL_START', 'a1', { runId: 'a' }, { tool: 'helper' }),
    call('TOOL_CALL_START', 'x1', { runId: 'x' }),
    call('TOOL_CALL_START', 'b1', inside),
    call('TOOL_CALL_END', 'b1', inside, end),
    call('RUN_END', '', inside, { stopReason: 'answered' }),
    call('TOOL_CALL_END', 'a1', { runId: 'a' }, end),
    call('RUN_END', '', { runId: 'x' }, { stopReason: 'aborted' }),
  ])
  expect(shown).toEqual([
    ['b b1', 'a', 'helper', 'ok'],
    ['x x1', 'x', '', 'rejected'],
    ['a a1', 'a', '', 'ok'],
  ])
})

it('keeps runs apart whose outermost run is not known yet', () => {
  const deep = (runId: string) => ({ runId, parentRunId: `${runId} outside`, parentToolCallId: 'c', depth: 2 })
  const shown = latestOf([
    call('TOOL_CALL_START', 'c1', deep('one')),
    call('TOOL_CALL_START', 'c2', deep('two')),
    call('TOOL_CALL_START', 'c3', { runId: 'three' }),
    call('RUN_END', '', { runId: 'three' }, { stopReason: 'answered' }),
  ])
  expect(shown.map(([key, , , state]: string[]) => `${key} ${state}`)).toEqual(['three c3 rejected', 'two c2 running', 'one c1 running'])
})

it('drops the oldest calls, and calls of a response that broke off', () => {
  const starts = ['1', '2', '3'].map((id) => call('TOOL_INPUT_START', id, { runId: 'a', toolCallId: undefined }))
  expect(latestOf(starts, 2).map(([key]: string[]) => key)).toEqual(['a 3', 'a 2'])
  const cut = call('MODEL_RETRY', '', { runId: 'a', toolCallId: undefined }, { discards: true })
  expect(latestOf([call('TOOL_CALL_START', '0', { runId: 'a' }), ...starts, cut]).map(([key]: string[]) => key)).toEqual(['a 0'])
})
