import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scriptedModel } from 'toolloop/testing'
import { createAgent } from './agent.ts'

test('a reminder is added once the date is known', async () => {
  const model = scriptedModel([
    { toolCalls: [{ name: 'days_until', args: { date: '2099-12-31' } }] },
    { toolCalls: [{ name: 'add_reminder', args: { date: '2099-12-31', text: 'Buy fireworks' } }] },
    'I will remind you.',
  ])
  const { output, toolCalls } = await createAgent(model).run('Remind me of fireworks for the end of the century.')
  assert.equal(output, 'I will remind you.')
  assert.deepEqual(
    toolCalls.map(({ tool, outcome }) => [tool, outcome]),
    [
      ['days_until', 'ok'],
      ['add_reminder', 'ok'],
    ],
  )
})

test('tells the model about a wrong argument, and adds nothing', async () => {
  const model = scriptedModel([{ toolCalls: [{ name: 'add_reminder', args: { date: '2099-12-31' } }] }, 'What shall I remind you of?'])
  const { toolCalls } = await createAgent(model).run('Remind me.')
  assert.equal(toolCalls[0]?.outcome, 'rejected')
})
