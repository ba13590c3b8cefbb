import { setTimeout as pause } from 'node:timers/promises'
import { vi } from 'vitest'
import { yieldNow } from '../../src/core/time/give-way.ts'

/**
 * Lets the event loop turn a few times, so that everything that needs no timer has happened. Independent of the clock: work that yields is
 * resumed in order, so everything that waited before has been resumed after each turn, however busy the process is.
 */
export async function turnEventLoop(turns = 5): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    await new Promise((resolve) => setImmediate(resolve))
    await yieldNow()
  }
}

/** Resolves once `holds()` is true. If it never is, the test times out. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await turnEventLoop(1)
}

/**
 * What the work resolves with. Rejects if that takes longer than 100 ms. Counts timers one after another, so that a process on a busy
 * machine is not mistaken for one that waits.
 */
export async function within100Ms<T>(work: Promise<T>): Promise<T> {
  const settled = new AbortController()
  const tooLate = async (): Promise<never> => {
    for (let step = 0; step < 20; step++) await pause(5, undefined, { signal: settled.signal })
    throw new Error('Expected it to settle within 100 ms, and it has not')
  }
  try {
    return await Promise.race([work, tooLate()])
  } finally {
    settled.abort()
  }
}

/**
 * The number of fake timers left, once there are no more than `expected`. A run may end before the provider's SDK has cleared its own
 * timers; real turns of the event loop let it.
 */
export async function timersLeft(expected = 0): Promise<number> {
  for (let turn = 0; turn < 10_000 && vi.getTimerCount() > expected; turn++) await new Promise(setImmediate)
  return vi.getTimerCount()
}
