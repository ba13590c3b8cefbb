import { computed, type ReadonlySignal } from '@preact/signals'
import { address, type Query, searchOf } from '../shell/address.ts'

/** The parameters of the list of runs. They stay while other views are shown. */
let lastQuery: Query = {}
export const listQuery: ReadonlySignal<Query> = computed(() => {
  const { place, query } = address.value
  // The object is the same if only the selected run changes.
  if (place === 'runs' && searchOf(query) !== searchOf(lastQuery)) lastQuery = query
  return lastQuery
})

export function runHref(id: string): string {
  return `#/runs/${encodeURIComponent(id)}`
}

/** The list of runs, with these filters. */
export function runsHref(query: Query): string {
  return `#/runs${searchOf(query)}`
}

/** The address for comparing two runs. An empty id means that the run is still to be chosen. */
export function compareHref(first: string, second = ''): string {
  return `#/runs/${encodeURIComponent(first)}~${encodeURIComponent(second)}`
}

/** The runs in such an address; undefined for another address. */
export function comparedIn(param: string | undefined): [first: string, second: string] | undefined {
  const at = param?.indexOf('~') ?? -1
  return param === undefined || at < 0 ? undefined : [param.slice(0, at), param.slice(at + 1)]
}
