import type { LargeResultOptions, LimitSettings, RunLimits } from '../options/limit-settings.ts'

/** Settings that have a default. */
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
  /** The size limit of text taken from a tool, in bytes. It is higher if long results are kept. */
  takenResultBytes: number
  largeResults: Required<LargeResultOptions> | undefined
}
