import { setImmediate as nextTurnOfLoop } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { giveWay, inTurns, yieldNow } from '../src/core/time/give-way.ts'

/** Works for this number of milliseconds. */
function work(milliseconds: number): void {
  for (const begun = performance.now(); performance.now() - begun < milliseconds; );
}

/** The number of turns of the event loop during `during`. */
async function turnsOf(during: () => Promise<unknown>): Promise<number> {
  let isDone = false
  const done = during().then(() => {
    isDone = true
  })
  let turns = 0
  for (; !isDone; turns++) await nextTurnOfLoop()
  await done
  return turns
}

it('giveWay waits for another turn once the work of this one has taken 8 ms, whichever code did it', async () => {
  await nextTurnOfLoop()
  const order: string[] = []
  const done = [giveWay().then(() => order.push('first'))]
  await Promise.resolve()
  work(9)
  done.push(giveWay().then(() => order.push('second')))
  const others = nextTurnOfLoop().then(() => order.push('others'))
  await Promise.all([...done, others])
  expect(order).toEqual(['first', 'others', 'second'])
})

it('work that gives way takes about one turn for each 8 ms, however many callers work', async () => {
  const some = async () => {
    for (let at = 0; at < 4; at++) {
      await giveWay()
      work(2)
    }
  }
  // 80 ms of work.
  expect(await turnsOf(() => Promise.all(Array.from({ length: 10 }, some)))).toBeGreaterThan(6)
})

it('yieldNow resumes in order, after all work of the one before', async () => {
  const order: string[] = []
  await Promise.all(
    ['a', 'b', 'c'].map(async (name) => {
      await yieldNow()
      order.push(name)
      await Promise.resolve()
      order.push(`${name} later`)
    }),
  )
  expect(order).toEqual(['a', 'a later', 'b', 'b later', 'c', 'c later'])
})

it('yieldNow and giveWay reject with the reason of a signal that is aborted meanwhile', async () => {
  const aborting = new AbortController()
  const waiting = yieldNow(aborting.signal)
  aborting.abort(new Error('too late'))
  await expect(waiting).rejects.toThrow('too late')
})

it('inTurns gives way between the parts of a generator, and rejects with what it throws', async () => {
  function* parts() {
    for (let at = 0; at < 8; at++) {
      work(4)
      yield
    }
    return 'done'
  }
  let value: string | undefined
  const turns = await turnsOf(async () => {
    value = await inTurns(parts())
  })
  expect(value).toBe('done')
  expect(turns).toBeGreaterThan(2)
  const broken = function* (): Generator<undefined, void> {
    yield
    throw new Error('broken')
  }
  await expect(inTurns(broken())).rejects.toThrow('broken')
})
