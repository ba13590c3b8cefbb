import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Lanes } from '../../src/tools/concurrency.ts'

const settle = () => new Promise((resolve) => setImmediate(resolve))

describe('Lanes', () => {
  it('admits as many calls as allowed, and the next one when one leaves', async () => {
    const lanes = new Lanes(2)
    const entered: number[] = []
    for (let i = 0; i < 4; i++) void lanes.enter(false).then(() => entered.push(i))
    await settle()
    expect(entered).toEqual([0, 1])
    lanes.leave()
    await settle()
    expect(entered).toEqual([0, 1, 2])
    lanes.leave()
    lanes.leave()
    await settle()
    expect(entered).toEqual([0, 1, 2, 3])
  })

  it('H26 makes a call that must run alone wait for all before it, and all after it wait for that call', async () => {
    const lanes = new Lanes(3)
    const entered: string[] = []
    const enter = (name: string, alone = false) => void lanes.enter(alone).then(() => entered.push(name))
    enter('a')
    enter('b')
    enter('alone', true)
    enter('c')
    await settle()
    expect(entered).toEqual(['a', 'b'])
    lanes.leave()
    await settle()
    expect(entered).toEqual(['a', 'b'])
    lanes.leave()
    await settle()
    expect(entered).toEqual(['a', 'b', 'alone'])
    lanes.leave()
    await settle()
    expect(entered).toEqual(['a', 'b', 'alone', 'c'])
  })

  it('H26 starts any calls in order, within the limit, exclusive ones alone, and all of them', async () => {
    const call = fc.record({ alone: fc.boolean(), last: fc.nat(5) })
    await fc.assert(
      fc.asyncProperty(
        fc.array(call, { maxLength: 20 }),
        fc.integer({ min: 1, max: 5 }),
        fc.scheduler(),
        async (calls, most, scheduler) => {
          const lanes = new Lanes(most)
          const started: number[] = []
          const running = new Set<number>()
          let widest = 0
          const all = calls.map(async ({ alone }, index) => {
            await lanes.enter(alone)
            started.push(index)
            running.add(index)
            widest = Math.max(widest, running.size)
            const isAloneRunning = [...running].some((at) => calls[at]?.alone)
            if (isAloneRunning && running.size > 1) throw new Error(`${index} runs beside a call that must be alone`)
            await scheduler.schedule(Promise.resolve(), `call ${index}`)
            running.delete(index)
            lanes.leave()
          })
          await scheduler.waitFor(Promise.all(all))
          expect(started).toEqual(calls.map((_, index) => index))
          expect(widest).toBeLessThanOrEqual(most)
          // Calls that may run in parallel use all the room there is.
          if (calls.length >= most && calls.every(({ alone }) => !alone)) expect(widest).toBe(most)
        },
      ),
    )
  })
})
