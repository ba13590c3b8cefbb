import type { PreparedCall } from '../../tools/arguments.ts'
import type { CallChange, PlannedCall } from './recorded.ts'

/** A call on its way through the plan. */
export interface CallInPlan {
  readonly iteration: number
  /** The call with its current arguments. */
  readonly call: PlannedCall
  readonly prepared: PreparedCall
  /** The decision. Absent if the call just runs. */
  readonly end?: Pick<CallChange, 'refusal' | 'stop' | 'result' | 'ask'>
}

/** Decides on a call. */
export type PlanCall = (call: CallInPlan) => Promise<CallInPlan>
