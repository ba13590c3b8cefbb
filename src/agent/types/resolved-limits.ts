import type { LargeResultOptions, LimitSettings, RunLimits } from '../options/limit-settings.ts'

/** The names of the settings that have a default. */
export type LimitName =
  | 'maxIterations'
  | 'toolTimeoutMs'
  | 'toolConcurrency'
  | 'maxResultBytes'
  | 'maxArgumentValues'
  | 'streamIdleTimeoutMs'
  | 'streamStallTimeoutMs'

/** A run's limits with all defaults filled in. */
export interface ResolvedLimits extends Required<Pick<LimitSettings, LimitName>>, Required<RunLimits> {
  /** The size limit, in bytes, of the text that a tool may return. Equals `maxResultBytes`, or is infinite if large results are stored. */
  takenResultBytes: number
  largeResults: Required<LargeResultOptions> | undefined
}
