import { runsHref } from '../runs/addresses.ts'
import type { Query } from '../shell/address.ts'
import type { Overview } from '../types.ts'

/** How runs end that count as failures. */
export const failures = 'model_error,max_iterations,budget,deadline,repeated_calls,refused,truncated'

/** Returns a link to the runs of the window, narrowed by `query`. */
export function endedHref({ from }: Overview, query: Query = {}): string {
  return runsHref({ endedAfter: new Date(from).toISOString(), ...query })
}

/** Returns a link to the runs that ended in one step of the window. */
export function stepHref({ from, stepMs }: Overview, step: number, query: Query = {}): string {
  const [begin, end] = [step, step + 1].map((at) => new Date(Date.parse(from) + at * stepMs).toISOString())
  return runsHref({ endedAfter: begin ?? '', endedBefore: end ?? '', ...query })
}
