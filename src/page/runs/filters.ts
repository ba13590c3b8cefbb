import { computed, type ReadonlySignal } from '@preact/signals'
import { pageOfRuns } from '../data/live.ts'
import { changeQuery, type Query } from '../shell/address.ts'
import { listQuery } from './addresses.ts'

const hourMs = 3_600_000
const metadataPrefix = 'metadata.'

/**
 * The filters, with the words that the page shows for them. The keys are parameters of the page's address and of `GET /v1/runs`. `hours`
 * selects runs that started within this number of hours.
 */
const names: Record<string, string> = {
  q: 'Text',
  status: 'State',
  stopReason: 'Ended',
  process: 'Process',
  model: 'Model',
  tool: 'Tool',
  owner: 'User',
  session: 'Session',
  errorCode: 'Error',
  hours: 'Started within',
  after: 'Started after',
  before: 'Started before',
  endedAfter: 'Ended after',
  endedBefore: 'Ended before',
  minWorkedMs: 'Worked at least',
  minCostUsd: 'Cost at least',
  id: 'ID',
}

export function filterWords(name: string): string {
  return names[name] ?? name.replace(metadataPrefix, '')
}

function isFilter(name: string): boolean {
  return name in names || name.startsWith(metadataPrefix)
}

export const filters: ReadonlySignal<Query> = computed(() =>
  Object.fromEntries(Object.entries(listQuery.value).filter(([name]) => isFilter(name))),
)

/** Changes filters and shows the first page. The value `''` removes a filter. */
export function filterBy(change: Query): void {
  changeQuery({ ...change, page: '' })
}

export function clearFilters(): void {
  filterBy(Object.fromEntries(Object.keys(filters.value).map((name) => [name, ''])))
}

/** Returns the order of the list, such as `-cost`. */
export function sortOf({ sort = '-started' }: Query): string {
  return sort
}

/** Returns the number of the page, counted from 1. */
export function pageOf({ page = '1' }: Query): number {
  return Math.max(1, Math.trunc(Number(page)) || 1)
}

/** Returns the query parameters for the service. They are empty for the list of the newest runs. */
export function queryOf(query: Query): Record<string, string> {
  const { hours, q = '', ...given } = Object.fromEntries(Object.entries(query).filter(([name]) => isFilter(name)))
  const sort = sortOf(query)
  const skipped = (pageOf(query) - 1) * pageOfRuns
  return {
    ...given,
    ...(q.trim() === '' ? {} : { q: q.trim() }),
    ...(hours === undefined ? {} : { after: new Date(Date.now() - Number(hours) * hourMs).toISOString() }),
    ...(sort === '-started' ? {} : { sort }),
    ...(skipped === 0 ? {} : { offset: String(skipped) }),
  }
}
