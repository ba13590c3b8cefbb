import type { OptionNames } from '../core/option-names.ts'

/** How often and how long a service waits, in milliseconds. */
export interface ServiceTimes {
  debounceMs: number
  pollMs: number
  heartbeatMs: number
  stallMs: number
}

export const timeNames: OptionNames<ServiceTimes> = { debounceMs: true, pollMs: true, heartbeatMs: true, stallMs: true }
