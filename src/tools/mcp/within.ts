import type { McpServer } from './server-config.ts'

const defaultStartTimeoutMs = 30_000
/** Longer than the default, because a person has to sign in. */
const signInTimeoutMs = 300_000

/** Returns how long a server may take to start, in milliseconds. */
export function startTimeoutOf(server: McpServer): number {
  const signsIn = 'url' in server && server.auth?.authorize !== undefined
  return server.startTimeoutMs ?? (signsIn ? signInTimeoutMs : defaultStartTimeoutMs)
}

/** The longest delay that a timer supports. A timer with a longer delay would fire at once. */
export const longestTimerMs: number = 2 ** 31 - 1

/**
 * Runs `work` with a signal that is aborted when one of `signals` is aborted, or when the time is up. Rejects with the aborted signal's
 * reason, or with `late()` when the time is up.
 */
export async function within<T>(
  milliseconds: number,
  late: () => Error,
  signals: readonly AbortSignal[],
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(late()), Math.min(milliseconds, longestTimerMs))
  const limit = AbortSignal.any([controller.signal, ...signals])
  try {
    limit.throwIfAborted()
    return await work(limit)
  } catch (error) {
    throw limit.aborted ? limit.reason : error
  } finally {
    clearTimeout(timer)
  }
}

/** Settles like `work`. If the signal is aborted first, rejects with the signal's reason. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
