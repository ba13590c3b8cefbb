import { signal } from '@preact/signals'

export interface Filters {
  q: string
  /** By what is asked of the service: `status=…`, `stopReason=…` or `process=…`. */
  state: string
  model: string
  hours: string
  /** US dollars. */
  cost: string
}

/** How long nothing has to be typed before it is searched, in milliseconds. */
export const typingMs = 200
const hourMs = 3_600_000
const none: Filters = { q: '', state: '', model: '', hours: '', cost: '' }

/** What runs are filtered by; it stays while other views are looked at. */
export const filters = signal(none)
/** The same as the list shows it: what is being typed comes later. */
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

/** As the service is asked; only what is filtered by. */
export function queryOf({ q, state, model, hours, cost }: Filters): Record<string, string> {
  const [kind = '', value = ''] = state.split('=')
  const after = hours === '' ? '' : new Date(Date.now() - Number(hours) * hourMs).toISOString()
  const given = { q: q.trim(), [kind]: value, model, after, minCostUsd: cost }
  return Object.fromEntries(Object.entries(given).filter(([name, text]) => name !== '' && text !== ''))
}
