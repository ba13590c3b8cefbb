import type { PreparedCall } from '../../tools/arguments.ts'
import type { CallChange, PlannedCall } from './recorded.ts'

/** A call on its way through the plan. */
export interface CallInPlan {
  readonly iteration: number
  /** With the arguments that it has by now. */
  readonly call: PlannedCall
  readonly prepared: PreparedCall
  /** What was decided, if it does not simply run. */
  readonly end?: Pick<CallChange, 'refusal' | 'stop' | 'result' | 'ask'>
}

/** Decides on a call. */
export type PlanCall = (call: CallInPlan) => Promise<CallInPlan>
