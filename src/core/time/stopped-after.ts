import type { Script } from 'node:vm'

let timed: { script: Script; context: { work?: () => unknown } } | undefined

/** Maximum number of attempts. An attempt is repeated if the machine was busy with other work. */
const maxTries = 4

/**
 * Returns the result of `work`, or undefined if the work took longer than `ms` milliseconds. Work can be stopped at any point, and its
 * `finally` blocks don't run.
 *
 * The limit is wall-clock time. If stopped work had got little processor time, it is repeated. `clean` is called after each stop, to repair
 * half-done changes.
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

/** Measures this thread alone if Node supports it (from 23.9), otherwise the whole process. */
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
    // The error comes from the other context, so `instanceof` doesn't work.
    if (typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return undefined
    throw error
  } finally {
    delete timed.context.work
  }
}
