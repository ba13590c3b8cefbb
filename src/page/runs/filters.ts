import { signal } from '@preact/signals'

export interface Filters {
  q: string
  /** A query parameter of the service: `status=…` or `stopReason=…`. */
  state: string
  model: string
  hours: string
  /** US dollars. */
  cost: string
}

/** How long typing must pause before the search starts, in milliseconds. */
export const typingMs = 200
const hourMs = 3_600_000
const none: Filters = { q: '', state: '', model: '', hours: '', cost: '' }

/** The filters, which stay while other views are shown. */
export const filters = signal(none)
/** The filters as applied to the list, which follow typing with a delay. */
export const listed = signal(none)

let typing: number | undefined

export function filterBy(change: Partial<Filters>, waitMs = 0): void {
  filters.value = { ...filters.value, ...change }
  clearTimeout(typing)
  typing = setTimeout(() => {
    listed.value = filters.value
  }, waitMs)
}

export function clearFilters(): void {
  filterBy(none)
}

/** Query parameters for the service, without empty ones. */
export function queryOf({ q, state, model, hours, cost }: Filters): Record<string, string> {
  const [kind = '', value = ''] = state.split('=')
  const after = hours === '' ? '' : new Date(Date.now() - Number(hours) * hourMs).toISOString()
  const given = { q: q.trim(), [kind]: value, model, after, minCostUsd: cost }
  return Object.fromEntries(Object.entries(given).filter(([name, text]) => name !== '' && text !== ''))
}
