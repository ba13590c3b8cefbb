import pTimeout from 'p-timeout'
import { messageOf } from '../../core/errors.ts'
import type { RunContext } from '../run/run-context.ts'
import type { Hooks } from './hooks.ts'

/** What a hook changes; undefined where it changes nothing, or fails: that is logged. */
export async function askHook<T extends object>(
  run: RunContext,
  { name }: Hooks<never>,
  what: string,
  hook: () => Promise<T | undefined>,
): Promise<T | undefined> {
  try {
    const change = await pTimeout(run.untilInterrupted(hook()), { milliseconds: run.limits.toolTimeoutMs })
    return isObject(change) ? change : undefined
  } catch (error) {
    logHook(run, name, error, `${what} hook failed and was passed over`)
    return undefined
  }
}

export function logHook(run: RunContext, name: string | undefined, error: unknown, message: string): void {
  run.logger.error({ runId: run.runId, hook: name ?? '(unnamed)', error: messageOf(error) }, message)
}

export function isObject<T>(value: T): value is T & object {
  return typeof value === 'object' && value !== null
}
