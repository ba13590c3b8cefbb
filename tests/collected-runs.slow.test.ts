import { fork } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from 'vitest'

// V8 allocates a function that is assigned to a property (`object.name = () => …`) in the old generation. What it can see, which may be a
// whole run, then stays until a full collection.
it.each([
  ['direct', 'whole'],
  ['direct', 'streamed'],
  ['service', 'whole'],
  ['service', 'streamed'],
])('a run is freed by the next collection of the young generation: %s, %s', async (how, mode) => {
  const child = fork(new URL('./collected-runs-process.ts', import.meta.url), [how, mode], { execArgv: ['--expose-gc'] })
  const ended = once(child, 'exit')
  const [left] = await Promise.race([once(child, 'message'), ended])
  expect(left).toHaveLength(20)
  expect(Math.max(...left), left.join(' ')).toBeLessThanOrEqual(5)
  expect(await ended).toEqual([0, null])
})
