import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { pause, settlesBeforeAbort, waitForAbort } from '../../src/testing/wait.ts'

describe('settlesBeforeAbort', () => {
  it('reports which came first, and leaves no listener', async () => {
    const { signal } = new AbortController()
    expect(await settlesBeforeAbort(Promise.resolve(), signal)).toBe(true)
    expect(await settlesBeforeAbort(Promise.resolve(), undefined)).toBe(true)
    await expect(settlesBeforeAbort(Promise.reject(new Error('why')), signal)).rejects.toThrow('why')
    expect(getEventListeners(signal, 'abort')).toEqual([])
    expect(await settlesBeforeAbort(new Promise(() => {}), AbortSignal.abort())).toBe(false)
  })

  it('handles a rejection after the abort', async () => {
    const controller = new AbortController()
    const late = Promise.withResolvers<void>()
    const waiting = settlesBeforeAbort(late.promise, controller.signal)
    controller.abort()
    expect(await waiting).toBe(false)
    // An unhandled rejection would fail the test run.
    late.reject(new Error('too late'))
    await new Promise((resolve) => setImmediate(resolve))
  })
})

describe('pause and waitForAbort', () => {
  it('end with the abort, and leave neither a timer nor a listener', async () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const controller = new AbortController()
    const before = timers()
    const waiting = Promise.all([pause(3_600_000, controller.signal), waitForAbort(controller.signal)])
    expect(timers()).toBe(before + 1)
    controller.abort()
    await waiting
    expect(timers()).toBe(before)
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })

  it('pause ends by itself', async () => {
    await pause(1, new AbortController().signal)
  })
})
