import pTimeout from 'p-timeout'
import { messageOf } from '../../../core/errors.ts'
import { type Callback, HookFailure } from '../../callbacks/callbacks.ts'
import type { RunContext } from '../../run/run-context.ts'

/**
 * Calls a callback. Resolves with undefined if the callback changes nothing, or if it fails and is skipped. Rejects with a `HookFailure` if
 * it fails and is not skipped.
 */
export async function askCallback<T>(
  run: RunContext,
  callback: Callback<unknown>,
  ask: () => Promise<T | undefined>,
): Promise<T | undefined> {
  try {
    const change = await pTimeout(run.untilInterrupted(ask()), { milliseconds: run.limits.toolTimeoutMs })
    return isObject(change) ? change : undefined
  } catch (error) {
    if (failsClosed(run, callback, error)) throw new HookFailure(callback, error)
    return undefined
  }
}

/** Logs the failure of a callback. Returns true if the failure refuses the request or the call. */
export function failsClosed(run: RunContext, { name, kind, refused }: Callback<unknown>, error: unknown): boolean {
  const fields = { runId: run.runId, hook: name ?? '(unnamed)', error: messageOf(error) }
  run.logger.error(fields, `${kind.join(' ')} failed${refused === undefined ? ' and was skipped' : `: ${refused}`}`)
  return refused !== undefined
}

export function isObject<T>(value: T): value is T & object {
  return typeof value === 'object' && value !== null
}
