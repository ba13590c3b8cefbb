import { expect, it } from 'vitest'
import type { RunEvent } from '../../src/core/events.ts'
import { ShownEvents } from '../../src/service/runs/shown-events.ts'

const meta = { runId: 'r', iteration: 1, time: 0, toolCallId: 'c' }
const start = (args: object): RunEvent => ({ type: 'TOOL_CALL_START', meta, tool: 't', args: args as never })

it.each([
  ['a text', { text: 'x'.repeat(300_000) }],
  ['nested texts', { list: Array.from({ length: 300 }, () => ({ text: 'x'.repeat(1_000) })) }],
  ['values', { list: Array.from({ length: 40_000 }, () => 1) }],
])('ShownEvents keeps no events whose arguments are large: %s', async (_, args) => {
  const shown: RunEvent[] = []
  const events = new ShownEvents(async (event) => void shown.push(event), false)
  events.take(start({ small: ['x', 1, null, { y: true }] }))
  expect([events.isUnseen, shown.length, events.characters < 500]).toEqual([true, 0, true])
  events.take(start(args))
  expect([events.isUnseen, shown.length]).toEqual([false, 0])
  events.take(start({}))
  await events.reveal()
  expect([events.isUnseen, shown.length, events.characters]).toEqual([false, 3, 0])
})
