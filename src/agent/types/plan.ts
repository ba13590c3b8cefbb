import type { PreparedCall } from '../../tools/arguments.ts'
import type { CallChange, PlannedCall } from './recorded.ts'

/** A call that the entries of the plan decide on. */
export interface CallInPlan {
  readonly iteration: number
  /** The call with its current arguments. */
  readonly call: PlannedCall
  readonly prepared: PreparedCall
  /** The plan's decision. Absent if the call runs as usual. */
  readonly end?: Pick<CallChange, 'refusal' | 'stop' | 'result' | 'ask'>
}

/** Decides on a call. */
export type PlanCall = (call: CallInPlan) => Promise<CallInPlan>
