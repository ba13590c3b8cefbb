import { computed, type ReadonlySignal } from '@preact/signals'
import { address, type Query, searchOf } from '../shell/address.ts'

/** The parameters of the list of runs. They are kept while other views are shown. */
let lastQuery: Query = {}
export const listQuery: ReadonlySignal<Query> = computed(() => {
  const { place, query } = address.value
  // The object stays the same if only the selected run changes.
  if (place === 'runs' && searchOf(query) !== searchOf(lastQuery)) lastQuery = query
  return lastQuery
})

export function runHref(id: string): string {
  return `#/runs/${encodeURIComponent(id)}`
}

/** Returns the address of the list of runs with these filters. */
export function runsHref(query: Query): string {
  return `#/runs${searchOf(query)}`
}

/** Returns the address for comparing two runs. If an id is empty, the user still has to choose that run. */
export function compareHref(first: string, second = ''): string {
  return `#/runs/${encodeURIComponent(first)}~${encodeURIComponent(second)}`
}

/** Returns the ids of the runs that an address compares. Returns undefined if the address is not for a comparison. */
export function comparedIn(param: string | undefined): [first: string, second: string] | undefined {
  const at = param?.indexOf('~') ?? -1
  return param === undefined || at < 0 ? undefined : [param.slice(0, at), param.slice(at + 1)]
}
