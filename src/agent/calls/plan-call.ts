import { cancelledText } from '../../tools/call-texts.ts'
import { changedTooOften, refusedText } from '../run-texts.ts'
import { planStep } from '../step-keys.ts'
import type { Execution } from '../types/execution.ts'
import type { CallInPlan, Decide } from '../types/plan.ts'
import type { CallChange, PlannedCall, Refusal } from '../types/recorded.ts'
import type { CallWork } from '../types/running-call.ts'
import { prepareAgain } from './tool-call.ts'

/**
 * How often approvals may change a call before the plan is no longer asked about it. Without a limit, the plan and the approver could
 * change it in turn forever.
 */
const mostEdits = 2

/**
 * Asks the plan about each call, in a step of its own, and returns the calls with the plan's decisions. Calls that wait, were refused, or
 * were planned before with the same arguments are returned unchanged. `times`: how often these calls have been planned, including this
 * time.
 */
export function putToPlan<Work extends Pick<CallWork, 'call' | 'key' | 'result'>>(
  execution: Execution,
  iteration: number,
  works: readonly Work[],
  times: number = 1,
): Promise<Work[]> {
  const { durable, layers } = execution
  const { planCall } = layers
  if (planCall === undefined) return Promise.resolve([...works])
  const planned = works.map(async (work): Promise<Work> => {
    const { call } = work
    const isOpen = call.action !== 'reject' && call.approval === undefined && work.result === undefined
    if (!isOpen || (call.plan !== undefined && call.plan.ask === undefined)) return work
    const change = await durable.step(planStep(work.key, times), () => decide(execution, { iteration, call }, planCall))
    execution.state.budget.keepPlanned(call.id, change.nested)
    return { ...work, call: changed(call, change) }
  })
  return durable.all(planned)
}

async function decide(
  { run }: Execution,
  { iteration, call }: Omit<CallInPlan, 'prepared'>,
  planCall: Decide<CallInPlan>,
): Promise<CallChange> {
  const prepared = run.prepared.get(call.id) ?? (await prepareAgain(run, call))
  if ('code' in prepared) return { refusal: prepared }
  const planned = await planCall({ iteration, call, prepared })
  // A call that has no decision by then must not run when the run continues in another process.
  if (run.interruption !== undefined) return { refusal: { code: 'tool_cancelled', text: cancelledText(call.name) } }
  const change: CallChange = { ...planned.end }
  if (planned.call !== call) {
    run.prepared.set(call.id, planned.prepared)
    change.args = planned.call.args
    change.repairs = planned.call.repairs
  }
  const nested = run.budget.spentIn(call.id)
  if (nested !== undefined) change.nested = nested
  return change
}

/** The call with the change that the plan made. */
function changed(call: PlannedCall, change: CallChange): PlannedCall {
  const { ask: _, ...before } = call.plan ?? {}
  const planned: PlannedCall = { ...call, plan: { ...before, ...change } }
  if (change.args !== undefined) planned.args = change.args
  if (change.repairs !== undefined) planned.repairs = change.repairs
  const isAskedTooOften = change.ask !== undefined && (call.edits ?? 0) >= mostEdits
  const refusal: Refusal | undefined = isAskedTooOften
    ? { code: 'tool_denied', text: refusedText(call.name, changedTooOften) }
    : change.refusal
  if (refusal !== undefined) Object.assign(planned, { action: 'reject', refusal } satisfies Partial<PlannedCall>)
  else if (change.ask !== undefined && call.intent === undefined) planned.approval = true
  // A call with a result need not be carried out by its caller any more.
  if (change.result !== undefined) planned.action = 'run'
  return planned
}
