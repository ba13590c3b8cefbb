import { afterAll, vi } from 'vitest'

// The files of a process share its clock. A timer that outlives its file would fire during another one, and timers that it starts there might be
// on a stopped clock. So each file's timers end with it.
const { setTimeout, clearTimeout } = globalThis
const installed = Symbol.for('toolloop.tests.own-timers')

interface OwnTimers {
  pending: Set<unknown>
  clear: typeof clearTimeout
}

function install(): OwnTimers {
  const pending = new Set<unknown>()
  const set = (callback: (...values: unknown[]) => void, milliseconds?: number, ...values: unknown[]): NodeJS.Timeout => {
    const timer = setTimeout(
      (...given: unknown[]) => {
        pending.delete(timer)
        callback(...given)
      },
      milliseconds,
      ...values,
    )
    pending.add(timer)
    return timer
  }
  const clear = (timer: NodeJS.Timeout | undefined): void => {
    pending.delete(timer)
    clearTimeout(timer)
  }
  // `promisify` reads a property of the function.
  Object.defineProperties(set, Object.getOwnPropertyDescriptors(setTimeout))
  Object.assign(globalThis, { setTimeout: set, clearTimeout: clear })
  return { pending, clear: clearTimeout }
}

if (!Reflect.has(globalThis, installed)) Reflect.set(globalThis, installed, install())

afterAll(() => {
  const { pending, clear }: OwnTimers = Reflect.get(globalThis, installed)
  for (const timer of pending) clear(timer as NodeJS.Timeout)
  pending.clear()
  if (!vi.isFakeTimers()) return
  vi.useRealTimers()
  throw new Error('Expected the file to restart the clock that it stopped: vi.useRealTimers()')
})
