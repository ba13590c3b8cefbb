import { expect, it } from 'vitest'
import { AgentRunner, defineTool, type Journal } from '../../src/index.ts'
import { memoryJournal, scriptedModel } from '../../src/testing/index.ts'

/** Calls `ended` when a run has come to its end, before the journal has written that down. */
function watched(ended: () => void): Journal {
  const journal = memoryJournal()
  const connect: Journal['connect'] = (execute) =>
    journal.connect(async (durable, input) => {
      const output = await execute(durable, input)
      ended()
      return output
    })
  return { ...journal, connect }
}

it('an abort after the end of a run that is not recorded yet has no effect', async () => {
  const controller = new AbortController()
  const journal = watched(() => controller.abort(new Error('left')))
  const runner = new AgentRunner({ model: scriptedModel(['done']), journal })
  expect(await runner.run('go', { signal: controller.signal })).toMatchObject({ stopReason: 'answered', output: 'done' })
})

it('an abort after a run has just paused has no effect either', async () => {
  const controller = new AbortController()
  const journal = watched(() => controller.abort(new Error('left')))
  const pay = defineTool({ name: 'pay', description: 'Pays.', approval: true, execute: () => 'paid' })
  const runner = new AgentRunner({ model: scriptedModel([{ toolCalls: [{ name: 'pay' }] }, 'done']), tools: [pay], journal })
  expect(await runner.run('go', { signal: controller.signal })).toMatchObject({ stopReason: 'paused' })
})
