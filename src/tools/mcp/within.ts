import type { McpServer } from './server-config.ts'

const defaultStartTimeoutMs = 30_000
/** A person who signs in takes longer. */
const signInTimeoutMs = 300_000

/** How long a server may take to start, in milliseconds. */
export function startTimeoutOf(server: McpServer): number {
  const signsIn = 'url' in server && server.auth?.authorize !== undefined
  return server.startTimeoutMs ?? (signsIn ? signInTimeoutMs : defaultStartTimeoutMs)
}

/** What is longer ends at once. */
export const longestTimerMs: number = 2 ** 31 - 1

/** Runs `work`, which heeds its signal: aborted when one of `signals` is, or with `late()` when the time is up. Rejects with the reason then. */
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

/** What `work` comes to, or a rejection with the signal's reason once that is aborted. */
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
