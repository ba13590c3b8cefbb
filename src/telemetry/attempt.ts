import { type Context, context } from '@opentelemetry/api'

/** Does what telemetry itself is to do: where that throws, it is left undone. */
export type Attempt = <T>(work: () => T) => T | undefined

export function attemptWith(onFailure: (error: unknown) => void): Attempt {
  return (work) => {
    try {
      return work()
    } catch (error) {
      onFailure(error)
      return undefined
    }
  }
}

/** Does a run's own work with `current` current. It is begun exactly once, whatever becomes of that. */
export function within<T>(attempt: Attempt, current: Context | undefined, work: () => Promise<T>): Promise<T> {
  if (current === undefined) return work()
  let begun: Promise<T> | undefined
  attempt(() =>
    context.with(current, () => {
      begun = work()
    }),
  )
  return begun ?? work()
}
