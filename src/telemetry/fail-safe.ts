import { type Context, context } from './api.ts'

/** Does what telemetry itself is to do: where that throws, it is left undone. */
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

/** Does a run's own work with `current` current. It is begun exactly once, whatever becomes of that, and if it throws at once too. */
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
