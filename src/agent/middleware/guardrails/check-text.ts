import { Event } from '../../../core/events.ts'
import { stoppedBy } from '../../callbacks/callbacks.ts'
import type { RunContext } from '../../run/run-context.ts'
import { refusedByText, shownAlready, withheldAnswerText, withheldText } from '../../run-texts.ts'
import type { Decide, ReplyInPlan } from '../../types/plan.ts'
import type { PlannedCall } from '../../types/recorded.ts'
import { type Checked, checkOutput } from './ask-guardrails.ts'

/**
 * Passes the text of a reply through the output guardrails, and shows the text that was held back. If the text is refused and has no calls,
 * the model answers again.
 */
export function checkText(run: RunContext): Decide<ReplyInPlan> {
  return async (reply) => {
    const { streamed, calls, meta } = reply
    const checked = await (streamed === undefined ? checkWhole(run, reply) : streamed.finish(reply.text))
    const shown = streamed?.shown ?? ''
    const isForGood = shown !== '' && calls.length === 0 && !run.events.takesBack(true)
    if (!checked.passed && (checked.how === 'stop' || isForGood)) return { ...reply, end: { stop: stoppedBy(checked.reason) } }
    if (!checked.passed && calls.length === 0) {
      const { reason } = checked
      if (shown !== '' && run.interruption === undefined) takeBack(run, reply, reason)
      const objection = { code: 'guardrail' as const, text: withheldAnswerText(reason) }
      return { ...reply, text: withheldText(reason), isCut: false, end: { objection } }
    }
    const text = checked.passed ? checked.subject : shown
    if (streamed === undefined && text !== '') run.events.deltas(Event.TEXT_DELTA, meta)?.({ text })
    return { ...reply, text, planned: reply.planned.map((call) => afterCheck(call, checked)) }
  }
}

/**
 * Checks a text together with the earlier text that it continues. Returns only the new part. A guardrail can't change the earlier text,
 * because it has been shown.
 */
async function checkWhole(run: RunContext, { meta, earlier, text }: ReplyInPlan): Promise<Checked<string>> {
  const checked = await checkOutput(run, meta.iteration, `${earlier}${text}`)
  if (!checked.passed) return checked
  if (!checked.subject.startsWith(earlier)) return { passed: false, how: 'refuse', reason: shownAlready }
  return { passed: true, subject: checked.subject.slice(earlier.length) }
}

/** Tells listeners to discard the part of a refused answer that was shown, because the model answers again. */
function takeBack(run: RunContext, { step: { provider, model }, meta }: ReplyInPlan, reason: string): void {
  run.events.emit(Event.MODEL_RETRY, { provider, model, errorCode: 'guardrail', error: reason, delayMs: 0, discards: true }, meta)
}

/** Removes `textAfter`, which is not shown again. Refuses a call that was found in a refused text. */
function afterCheck({ textAfter: _, ...call }: PlannedCall, checked: Checked<string>): PlannedCall {
  if (checked.passed || !call.asText) return call
  const { approval: _approval, ...refused } = call
  return { ...refused, action: 'reject', refusal: { code: 'tool_denied', text: refusedByText(call.name, checked.reason) } }
}
