import type { Script } from 'node:vm'

let timed: { script: Script; context: { work?: () => unknown } } | undefined

/** Maximum number of attempts. Work is repeated if the machine was busy with other work. */
const maxTries = 4

/**
 * Returns the result of `work`, or undefined if the work took longer than `ms` milliseconds. Work can be stopped at any point, and its
 * `finally` blocks don't run.
 *
 * The limit is wall-clock time. If the work got little processor time before it was stopped, it is repeated. `clean` is called after each
 * stop, to repair half-done changes.
 */
export function stoppedAfter<T>(ms: number, work: () => T, clean?: () => void): { value: T } | undefined {
  for (let tried = 1; ; tried++) {
    const before = cpuUsage()
    const done = stoppedByClock(ms, work)
    if (done !== undefined) return done
    clean?.()
    const { user, system } = cpuUsage(before)
    if (tried === maxTries || (user + system) / 1_000 >= ms / 2) return undefined
  }
}

/** Measures only this thread, or the whole process before Node.js 23.9. */
function cpuUsage(before?: NodeJS.CpuUsage): NodeJS.CpuUsage {
  return process.threadCpuUsage === undefined ? process.cpuUsage(before) : process.threadCpuUsage(before)
}

function stoppedByClock<T>(ms: number, work: () => T): { value: T } | undefined {
  const { createContext, Script } = process.getBuiltinModule('node:vm')
  timed ??= { script: new Script('work()'), context: createContext({}) }
  try {
    timed.context.work = work
    return { value: timed.script.runInContext(timed.context, { timeout: ms }) as T }
  } catch (error) {
    // `instanceof` doesn't work for an error of another `node:vm` context.
    if (typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return undefined
    throw error
  } finally {
    delete timed.context.work
  }
}
