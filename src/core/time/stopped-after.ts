import type { Script } from 'node:vm'

let timed: { script: Script; context: { work?: () => unknown } } | undefined

/** How often work is started again that was stopped while the machine was busy with something else. */
const maxTries = 4

/**
 * What `work` returns; undefined if it took longer. It is stopped wherever it is: its `finally` blocks don't run. The limit is wall-clock
 * time, so work that got little processor time is started again. `clean` is called each time it was stopped, to mend what is half done.
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

/** Of this thread alone, where Node can tell (from 23.9 on). */
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
    // It is the context's own error, and of no class there is here.
    if (typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return undefined
    throw error
  } finally {
    delete timed.context.work
  }
}
