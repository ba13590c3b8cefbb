import { expect, it } from 'vitest'
import { turnsOfSteps } from '../../src/agent/durable/replay/recorded-turns.ts'
import { afterOverflow, afterRaise, turnStep } from '../../src/agent/step-keys.ts'
import type { Json } from '../../src/core/messages.ts'

it('turnsOfSteps returns turns in the order in which they were taken, however often one was repeated', () => {
  const keys = [turnStep(1, false), turnStep(1, false, afterOverflow)]
  for (let times = 2; times <= 12; times++) keys.push(turnStep(1, false, afterRaise('', times)))
  keys.push(turnStep(2, false), turnStep(10, false), turnStep(11, true))
  const stepOf = (key: string): [string, Json] => [key, { kind: 'reply', step: key, message: { role: 'assistant', content: key } }]
  const { turns } = turnsOfSteps(keys.toSorted().map(stepOf))
  expect(turns.map(({ step }) => step)).toEqual(keys)
})
