import { expect, it } from 'vitest'
import { AgentRunner, type Guardrail, memorySessions, type RunnerOptions } from '../../src/index.ts'
import { MemoryRuns, memoryJournal, scriptedModel } from '../../src/testing/index.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { countingTool } from '../hazards/tools.ts'

const { logger } = recordingLogger()
const taken = { code: 'run_id_taken' }

function runnerOn(kept: MemoryRuns, more: Partial<RunnerOptions> = {}) {
  const journal = memoryJournal(kept)
  const model = scriptedModel(() => 'The balance is 12 euros.')
  return { journal, model, runner: new AgentRunner({ model, journal, logger, ...more }) }
}

it('P1.14 a tenant can’t read another’s answer by the id of its run', async () => {
  const kept = new MemoryRuns()
  const { runner } = runnerOn(kept)
  const ofAnn = { runId: 'r', metadata: { tenant: 'ann' } }
  expect((await runner.run('My balance?', ofAnn)).output).toContain('12')
  const other = runnerOn(kept)
  for (const options of [{ runId: 'r', metadata: { tenant: 'eve' } }, { runId: 'r' }])
    await expect(other.runner.run('My balance?', options)).rejects.toMatchObject(taken)
  await expect(other.runner.run('My balance, please?', ofAnn)).rejects.toMatchObject(taken)
  await expect(other.runner.run('My balance?', { ...ofAnn, messages: [{ role: 'user', content: 'Hi' }] })).rejects.toMatchObject(taken)
  expect(other.model.requests).toEqual([])
  // The order of keys makes no difference.
  const again = runnerOn(kept, { metadata: { region: 'eu' } })
  await again.runner.run('Hi.', { runId: 'm', metadata: { a: 1, b: { c: 2, d: 3 } } })
  expect((await again.runner.run('Hi.', { runId: 'm', metadata: { b: { d: 3, c: 2 }, a: 1 } })).output).toContain('12')
  expect((await other.runner.run('My balance?', ofAnn)).output).toContain('12')
  expect([other.model.requests, again.model.requests.length]).toEqual([[], 1])
})

it('P1.14 the same run in another session is refused, and changes neither', async () => {
  const sessions = memorySessions()
  const { runner, model } = runnerOn(new MemoryRuns(), { sessions })
  await runner.run('Hi.', { runId: 'r', session: 'a' })
  for (const options of [{ session: 'b' }, {}]) await expect(runner.run('Hi.', { runId: 'r', ...options })).rejects.toMatchObject(taken)
  expect((await runner.run('Hi.', { runId: 'r', session: 'a' })).output).toContain('12')
  expect((await sessions.list()).sessions.map(({ id, messageCount }) => [id, messageCount])).toEqual([['a', 2]])
  expect(model.requests).toHaveLength(1)
})

it('P1.14 the input is compared as given, before guardrails and instructions change it', async () => {
  let asked = 0
  const stamp: Guardrail = { name: 'stamp', input: ({ messages }) => ({ replace: [...messages, { role: 'user', content: `${++asked}` }] }) }
  const { runner, model } = runnerOn(new MemoryRuns(), { guardrails: [stamp], instructions: () => `It is ${++asked}.` })
  await runner.run('Hi.', { runId: 'r' })
  expect((await runner.run({ role: 'user', content: 'Hi.' }, { runId: 'r' })).output).toContain('12')
  expect(model.requests).toHaveLength(1)
})

it('P1.14 a run that waits, or whose process has died, is not continued by another’s input', async () => {
  const kept = new MemoryRuns()
  const pay = countingTool('pay')
  const script = () => scriptedModel(({ messages }) => (messages.at(-1)?.role === 'tool' ? 'Paid.' : { toolCalls: [{ name: 'pay' }] }))
  const tools = [{ ...pay.tool, approval: true }]
  const first = runnerOn(kept, { model: script(), tools })
  expect(await first.runner.run('Pay.', { runId: 'r' })).toMatchObject({ stopReason: 'paused' })
  await first.journal.close()
  const { runner } = runnerOn(kept, { model: script(), tools })
  const approve = () => true
  await expect(runner.run('Pay more.', { runId: 'r', approve })).rejects.toMatchObject(taken)
  expect(await runner.run('Pay.', { runId: 'r' })).toMatchObject({ stopReason: 'paused', pending: [{ tool: 'pay' }] })
  expect(pay.calls).toEqual([])
})

it('P1.14 of two that start at the same moment with different inputs, one is refused and executes nothing', async () => {
  const { runner, model } = runnerOn(new MemoryRuns())
  const ends = await Promise.allSettled(['a', 'b', 'a'].map((input) => runner.run(input, { runId: 'r' })))
  expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(ends[1]).toMatchObject({ reason: taken })
  expect(model.requests.map(({ messages }) => messages.at(-1)?.content)).toEqual(['a'])
})
