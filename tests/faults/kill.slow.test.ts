import { expect, it } from 'vitest'
import { inFolder } from './place.ts'
import { play } from './scenario.ts'

it('a scenario with a kill holds', async () => {
  await using place = inFolder()
  const { violations, log, done } = await play({ seed: 1, faults: ['kill'] }, place)
  expect(violations, log.join('\n')).toEqual([])
  expect(done.runs).toBeGreaterThan(5)
})
