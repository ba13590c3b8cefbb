import { type AroundTool, rejected } from '../calls/running-call.ts'
import type { RunContext } from '../run/run-context.ts'
import { refusedByText, withheldResultText } from '../told.ts'
import { checkCall, checkResult } from './ask-guardrails.ts'
import { describeCall, withArguments, withContent } from './changed-call.ts'

/** Runs a call only if the guardrails let it pass, with the arguments that they leave. */
export function checkCalls(run: RunContext): AroundTool {
  return (next) => async (call) => {
    const turn = describeCall(run, call)
    const checked = await checkCall(run, turn)
    if (!checked.passed) {
      const refused = rejected(call, { code: 'tool_denied', text: refusedByText(turn.tool, checked.reason) })
      return checked.how === 'stop' ? { ...refused, stop: checked.reason } : refused
    }
    if (checked.subject === turn.args) return next(call)
    const changed = await withArguments(run, call, checked.subject, 'a guardrail')
    return 'end' in changed ? changed : next(changed)
  }
}

/** Shows of a result only what the guardrails let pass. */
export function checkResults(run: RunContext): AroundTool {
  return (next) => async (call) => {
    const outcome = await next(call)
    const { end } = outcome
    if (end.outcome !== 'ok' && end.outcome !== 'failed' && end.outcome !== 'timeout') return outcome
    const checked = await checkResult(run, { ...describeCall(run, outcome.call), outcome: end.outcome, content: end.content })
    if (checked.passed && checked.subject === end.content) return outcome
    const shown = withContent(end, checked.passed ? checked.subject : withheldResultText(checked.reason))
    // What is not to be seen is not kept either: the value would be in the result.
    const kept = shown.outcome === 'ok' ? { ...shown, value: undefined } : shown
    const returned = checked.passed && end.outcome === 'ok' ? { returned: end.value } : {}
    return { ...outcome, end: kept, ...returned, ...(!checked.passed && checked.how === 'stop' ? { stop: checked.reason } : {}) }
  }
}
