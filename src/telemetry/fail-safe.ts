import { type Context, context } from './api.ts'

/** Runs telemetry code. Returns undefined if the code throws. */
export type FailSafe = <T>(work: () => T) => T | undefined

export function failSafe(onFailure: (error: unknown) => void): FailSafe {
  return (work) => {
    try {
      return work()
    } catch (error) {
      onFailure(error)
      return undefined
    }
  }
}

/** Runs `work` with `current` as the active context. The work is started exactly once, even if telemetry fails or the work throws. */
export function within<T>(attempt: FailSafe, current: Context | undefined, work: () => Promise<T>): Promise<T> {
  if (current === undefined) return work()
  let begun: Promise<T> | undefined
  const begin = () => {
    begun ??= started(work)
  }
  attempt(() => context.with(current, begin))
  if (begun === undefined) begin()
  return begun as Promise<T>
}

function started<T>(work: () => Promise<T>): Promise<T> {
  try {
    return work()
  } catch (error) {
    return Promise.reject(error)
  }
}
