import { describeCall, withArguments, withContent } from '../../calls/changed-call.ts'
import type { RunContext } from '../../run/run-context.ts'
import { refusedByText, withheldResultText } from '../../run-texts.ts'
import type { CallInPlan, Decide } from '../../types/plan.ts'
import type { AroundTool } from '../../types/running-call.ts'
import { checkCall, checkResult } from './ask-guardrails.ts'

/** Asks the guardrails about a call after hooks have changed its arguments. */
export function checkCalls(run: RunContext): Decide<CallInPlan> {
  return async (planned) => {
    const turn = describeCall(run, planned)
    const checked = await checkCall(run, turn)
    if (checked.passed) return checked.subject === turn.args ? planned : withArguments(run, planned, checked.subject, 'a guardrail')
    const { how, reason } = checked
    const refusal = { code: 'tool_denied' as const, text: refusedByText(turn.tool, reason) }
    return { ...planned, end: how === 'stop' ? { refusal, stop: reason } : { refusal } }
  }
}

/** Passes a result through the guardrails. */
export function checkResults(run: RunContext): AroundTool {
  return (next) => async (call) => {
    const outcome = await next(call)
    const { end } = outcome
    if (end.outcome !== 'ok' && end.outcome !== 'failed' && end.outcome !== 'timeout') return outcome
    const checked = await checkResult(run, { ...describeCall(run, outcome.call), outcome: end.outcome, content: end.content })
    if (checked.passed && checked.subject === end.content) return outcome
    const shown = withContent(end, checked.passed ? checked.subject : withheldResultText(checked.reason))
    // The value is removed, because the run's result would contain it.
    const kept = shown.outcome === 'ok' ? { ...shown, value: undefined } : shown
    const returned = checked.passed && end.outcome === 'ok' ? { returned: end.value } : {}
    return { ...outcome, end: kept, ...returned, ...(!checked.passed && checked.how === 'stop' ? { stop: checked.reason } : {}) }
  }
}
