import { cancelledText } from '../../tools/call-texts.ts'
import { changedTooOften, refusedText } from '../run-texts.ts'
import { planStep } from '../step-keys.ts'
import type { Execution } from '../types/execution.ts'
import type { CallInPlan, Decide } from '../types/plan.ts'
import type { CallChange, PlannedCall, Refusal } from '../types/recorded.ts'
import type { CallWork } from '../types/running-call.ts'
import { prepareAgain } from './tool-call.ts'

/**
 * How often an approver may change the arguments of a call, if the plan then asks for approval again. After that, the call is refused, so
 * that approver and plan can't alternate forever.
 */
const mostEdits = 2

/**
 * Asks the plan about each call, and returns the calls with the plan's decisions. Skips calls that wait, are refused, or were planned
 * before with the same arguments. `times`: how often these calls have been planned, including this time.
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
  // The run was interrupted before the plan decided. The call must not run, even if another process resumes the run.
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
  // If the plan supplies the result, the app need not run a client tool.
  if (change.result !== undefined) planned.action = 'run'
  return planned
}
