import { ToolloopError } from '../../core/errors.ts'
import { Event } from '../../core/events.ts'
import { withoutUndefined } from '../../core/messages.ts'
import { answerIn } from '../../models/chat-model.ts'
import { HookFailure } from '../callbacks/callbacks.ts'
import { readAnswer } from '../output/read-answer.ts'
import { placeOf, type RunContext } from '../run/run-context.ts'
import { refusedByText, shownAlready, unfitAnswerText, withheldAnswerText, withheldText } from '../run-texts.ts'
import type { PlannedCall } from '../types/recorded.ts'
import type { Review, ReviewedReply, ReviewedTurn } from '../types/review.ts'
import { type Checked, checkOutput } from './guardrails/ask-guardrails.ts'
import { afterModel } from './hooks/model-hooks.ts'
import { checkAnswers } from './structured-output/check-answers.ts'
import { unwrapAnswers } from './structured-output/unwrap-answers.ts'

/** Applies hooks, then guardrails, then the answer's schema to a reply. */
export function reviewReply(run: RunContext): Review {
  return async (turn) => {
    const { response, isHeld } = turn
    const plan = await unwrapAnswers(run, turn.plan)
    const said = await reviewText(run, turn)
    const answers = isHeld && said.stop === undefined ? await checkAnswers(run, turn.meta.iteration, plan) : { plan, changed: false }
    const isUnchecked = isHeld || said.objection !== undefined
    if ('stop' in answers) return { ...said, ...plan, stop: stoppedBy(answers.stop), isUnchecked }
    const isWithheld = isHeld && (said.text !== response.text || answers.changed)
    return { ...said, calls: answers.plan.calls, planned: answers.plan.planned, isUnchecked, isWithheld }
  }
}

function refuseCall(call: PlannedCall, text: string): void {
  delete call.approval
  Object.assign(call, { action: 'reject', refusal: { code: 'tool_denied', text } } satisfies Partial<PlannedCall>)
}

type ReviewedText = Pick<ReviewedReply, 'text' | 'answer' | 'objection' | 'isCut' | 'stop'>

async function reviewText(run: RunContext, turn: ReviewedTurn): Promise<ReviewedText> {
  const { response, plan, step, request, meta, isHeld, earlier, mayBeCut: isCut } = turn
  const { calls, planned } = plan
  let text = response.text
  try {
    if (run.agent.callbacks.plan.replies.length > 0) text = await askHooks(run, turn)
  } catch (error) {
    if (error instanceof HookFailure) return { text: '', stop: error }
    throw error
  }
  if (isHeld) {
    const { streamed } = turn
    const checked = await (streamed === undefined ? checkWhole(run, meta.iteration, earlier, text) : streamed.finish(text))
    const isShown = streamed !== undefined && streamed.shown !== ''
    const isForGood = isShown && calls.length === 0 && !run.events.takesBack(true)
    if (!checked.passed && (checked.how === 'stop' || isForGood)) return { text, stop: stoppedBy(checked.reason) }
    if (!checked.passed && calls.length === 0) {
      if (isShown && run.interruption === undefined) takeBack(run, turn, checked.reason)
      return { text: withheldText(checked.reason), objection: { code: 'guardrail', text: withheldAnswerText(checked.reason) } }
    }
    text = checked.passed ? checked.subject : (streamed?.shown ?? '')
    if (streamed === undefined && text !== '') run.events.deltas(Event.TEXT_DELTA, meta)?.({ text })
    for (const call of planned) {
      delete call.textAfter
      // Calls that were found in a refused text are refused, too.
      if (!checked.passed && call.asText) refuseCall(call, refusedByText(call.name, checked.reason))
    }
  }
  if (run.agent.output === undefined || calls.length > 0 || (isCut && !isClosed(text))) return { text, isCut }
  const said = `${earlier}${answerIn(response, text)}`
  const answer = await readAnswer(run.agent.output, said, { timeoutMs: run.limits.toolTimeoutMs, signal: run.signal, isCut })
  if (answer.ok && answer.note !== undefined) step.warnings = [...step.warnings, answer.note]
  if (answer.ok) return { text, answer: answer.json }
  if (isCut) return { text, isCut }
  const answering = request.responseSchema === undefined ? run.agent.output.tool.name : undefined
  return { text, objection: { code: 'invalid_output', text: unfitAnswerText(answer.problem, answering) } }
}

/** The part of a refused answer that was shown is not part of the conversation, because the model answers again. */
function takeBack(run: RunContext, { step: { provider, model }, meta }: ReviewedTurn, reason: string): void {
  run.events.emit(Event.MODEL_RETRY, { provider, model, errorCode: 'guardrail', error: reason, delayMs: 0, discards: true }, meta)
}

/**
 * Checks a text together with the earlier text that it continues, and returns only the new part. Text that was shown before can't be
 * changed.
 */
async function checkWhole(run: RunContext, iteration: number, earlier: string, text: string): Promise<Checked<string>> {
  const checked = await checkOutput(run, iteration, `${earlier}${text}`)
  if (!checked.passed) return checked
  if (!checked.subject.startsWith(earlier)) return { passed: false, how: 'refuse', reason: shownAlready }
  return { passed: true, subject: checked.subject.slice(earlier.length) }
}

/**
 * Whether JSON that ends here is complete, provided that it is valid. A number at the end is never complete, because it may lack digits. A
 * model that must follow a schema may write blanks after its answer until it reaches the limit.
 */
function isClosed(json: string): boolean {
  return !/\d$/.test(json.trimEnd())
}

function stoppedBy(reason: string): ToolloopError {
  return new ToolloopError('guardrail', `The run was stopped by ${reason}`)
}

/** Rejects with a `HookFailure`. */
function askHooks(run: RunContext, { response, plan, step, meta }: ReviewedTurn): Promise<string> {
  const { finishReason, usage } = step
  const toolCalls = plan.calls.map(({ id, function: call }) => ({ id, tool: call.name, rawArguments: call.arguments }))
  const place = placeOf(run, meta.iteration)
  return afterModel(run, { ...place, text: response.text, toolCalls, finishReason, ...withoutUndefined({ usage }) })
}
