import { failures } from '../../core/runs/run-states.ts'
import { runsHref } from '../runs/addresses.ts'
import type { Query } from '../shell/address.ts'
import type { Overview } from '../types.ts'

/** The stop reasons of failed runs, as a filter of the list of runs. */
export const failedRuns: string = [...failures].join()

/** Returns a link to the runs that the overview covers, narrowed by `query`. */
export function endedHref({ from }: Overview, query: Query = {}): string {
  return runsHref({ endedAfter: new Date(from).toISOString(), ...query })
}

/** Returns a link to the runs that ended in one step of the plot. */
export function stepHref({ from, stepMs }: Overview, step: number, query: Query = {}): string {
  const [begin, end] = [step, step + 1].map((at) => new Date(Date.parse(from) + at * stepMs).toISOString())
  return runsHref({ endedAfter: begin ?? '', endedBefore: end ?? '', ...query })
}
