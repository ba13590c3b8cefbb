import { describe, expect, it } from 'vitest'
import { stoppedAfter } from '../src/core/time/stopped-after.ts'

describe('stoppedAfter', () => {
  it('returns what the work returns, and throws what it throws', () => {
    expect(stoppedAfter(1_000, () => 'done')).toEqual({ value: 'done' })
    expect(stoppedAfter(1_000, () => undefined)).toEqual({ value: undefined })
    expect(() =>
      stoppedAfter(1_000, () => {
        throw new RangeError('no')
      }),
    ).toThrow(RangeError)
  })

  it('stops endless work', () => {
    const endless = /^(a+)+$/
    expect(stoppedAfter(20, () => endless.test(`${'a'.repeat(60)}!`))).toBeUndefined()
    expect(
      stoppedAfter(20, () => {
        for (;;);
      }),
    ).toBeUndefined()
  })

  it('retries work that got no processor time, but not forever', () => {
    const nothing = new Int32Array(new SharedArrayBuffer(4))
    let begun = 0
    const busyElsewhere = (times: number) => () => {
      if (++begun <= times) Atomics.wait(nothing, 0, 0, 10_000)
      return begun
    }
    expect(stoppedAfter(200, busyElsewhere(2))).toEqual({ value: 3 })
    begun = 0
    expect(stoppedAfter(50, busyElsewhere(100))).toBeUndefined()
    expect(begun).toBeLessThanOrEqual(4)
  })
})
