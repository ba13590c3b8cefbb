import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { thinResult, wholeResult } from '../../src/agent/runner/durable-run.ts'
import type { Json } from '../../src/core/messages.ts'
import { sqliteJournal } from '../../src/journals/sqlite/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { inFolder } from './temp-folder.ts'

const logger = { debug() {}, info() {}, warn() {}, error() {} }
const turns = 100

/** Runs of 100 turns with a small call each. */
function runnerOn(file: string) {
  const look = defineTool({ name: 'look', description: 'Looks.', effect: 'read', execute: () => 'It is sunny in Oslo.' })
  const pay = defineTool({ name: 'pay', description: 'Pays.', approval: true, execute: () => 'paid' })
  const model = scriptedModel(
    ({ messages }) => {
      const turn = messages.filter(({ role }) => role === 'assistant').length % (turns + 1)
      return turn < turns - 1 ? { toolCalls: [{ name: 'look' }] } : turn < turns ? { toolCalls: [{ name: 'pay' }] } : 'done'
    },
    { record: false },
  )
  const journal = sqliteJournal({ file })
  const limits = { repeatedCalls: Number.POSITIVE_INFINITY }
  return { journal, runner: new AgentRunner({ model, tools: [look, pay], journal, limits, logger, maxIterations: turns + 1 }) }
}

/** Bytes of the values in a table. */
function bytesIn(file: string, table: string): number {
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    return Number(database.prepare(`SELECT coalesce(sum(octet_length(value)), 0) AS bytes FROM ${table}`).get()?.bytes)
  } finally {
    database.close()
  }
}

it('a run of 100 turns takes 0.9 KB a turn for its steps and, once it has ended, 0.8 KB for its result alone', () =>
  inFolder(async (folder) => {
    const file = join(folder, 'runs.sqlite')
    const { journal, runner } = runnerOn(file)
    const paused = await runner.run('Pay.', { runId: '0' })
    expect(bytesIn(file, 'steps') / turns).toBeLessThan(950)
    const decisions = paused.pending.map((item) => ({ ...item, approved: true as const }))
    const { messages, newMessages, toolCalls } = await runner.resume('0', { decisions })
    expect(bytesIn(file, 'steps')).toBe(0)
    expect(bytesIn(file, 'outputs') / turns).toBeLessThan(800)
    const stored = (await runner.runs.get('0'))?.result
    expect(stored).toMatchObject({ messages, newMessages, toolCalls: toolCalls.map(({ value: _, ...call }) => call) })
    // The room of steps that are deleted is used again.
    for (let run = 1; run <= 5; run++) {
      const { pending } = await runner.run('Pay.', { runId: `${run}` })
      await runner.resume(`${run}`, { decisions: pending.map((item) => ({ ...item, approved: true as const })) })
    }
    await journal.close()
    expect(statSync(file).size / 6 / turns).toBeLessThan(1_600)
  }))

it('a tool’s return value is in a result that is stored once', async () => {
  const long = 'x'.repeat(10_000)
  const look = defineTool({ name: 'look', description: 'Looks.', parameters: { type: 'object' }, execute: () => long })
  const model = scriptedModel([
    {
      toolCalls: [
        { name: 'look', args: { a: 1 } },
        { name: 'nothing', arguments: '{"a":' },
      ],
    },
    'done',
  ])
  const result = await new AgentRunner({ model, tools: [look], logger }).run('go', { messages: [{ role: 'user', content: 'earlier' }] })
  const whole: Json = JSON.parse(JSON.stringify({ ...result, toolCalls: result.toolCalls.map(({ value: _, ...call }) => call) }))
  const thin = JSON.parse(JSON.stringify(thinResult(whole)))
  expect(JSON.stringify(thin).split(long).length - 1).toBe(1)
  expect(wholeResult(thin)).toEqual(whole)
})

it.each<[name: string, result: Json]>([
  ['is not a result', null],
  [
    'has other new messages than its last',
    { messages: [{ role: 'user', content: 'a' }], newMessages: [{ role: 'user', content: 'b' }], toolCalls: [] },
  ],
  [
    'is of a session, whose messages are elsewhere',
    { newMessages: [{ role: 'user', content: 'b' }], toolCalls: [{ id: '1', content: 'x' }] },
  ],
  [
    'has a call without arguments',
    {
      messages: [],
      newMessages: [
        { role: 'assistant', content: '', toolCalls: [{ id: '1', type: 'function', function: { name: 'f', arguments: '{}' } }] },
      ],
      toolCalls: [{ id: '1', rawArguments: '{}', content: 'none' }],
    },
  ],
  [
    'has a call whose arguments somebody changed',
    {
      messages: [],
      newMessages: [
        { role: 'assistant', content: '', toolCalls: [{ id: '1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }] },
        { role: 'tool', toolCallId: '1', content: 'shortened' },
      ],
      toolCalls: [{ id: '1', rawArguments: '{"a":1}', args: { a: 2 }, content: 'whole' }],
    },
  ],
])('a stored result that %s is read as it was', (_, result) => {
  expect(wholeResult(JSON.parse(JSON.stringify(thinResult(result))))).toEqual(result)
})
