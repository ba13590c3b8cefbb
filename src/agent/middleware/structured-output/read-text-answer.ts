import { answerIn } from '../../../models/chat-model.ts'
import type { OutputFormat } from '../../output/output.ts'
import { readAnswer } from '../../output/read-answer.ts'
import type { RunContext } from '../../run/run-context.ts'
import { unfitAnswerText } from '../../run-texts.ts'
import type { Decide, ReplyInPlan } from '../../types/plan.ts'

/** Reads the answer in a text without calls. The model answers again if the text does not fit the schema. */
export function readTextAnswer(run: RunContext, output: OutputFormat): Decide<ReplyInPlan> {
  return async (reply) => {
    const { response, request, step, earlier, text, calls, isCut } = reply
    if (calls.length > 0 || (isCut && !isClosed(text))) return reply
    const said = `${earlier}${answerIn(response, text)}`
    const answer = await readAnswer(output, said, { timeoutMs: run.limits.toolTimeoutMs, signal: run.signal, isCut })
    if (answer.ok) {
      const warnings = answer.note === undefined ? step.warnings : [...step.warnings, answer.note]
      return { ...reply, step: { ...step, warnings }, answer: answer.json, isCut: false }
    }
    if (isCut) return reply
    const answering = request.responseSchema === undefined ? output.tool.name : undefined
    return { ...reply, end: { objection: { code: 'invalid_output', text: unfitAnswerText(answer.problem, answering) } } }
  }
}

/**
 * Whether valid `json` is also complete. JSON that ends in a number is not complete, because more digits could follow. Whitespace at the
 * end is ignored, because a model that must follow a schema may write whitespace until it reaches the token limit.
 */
function isClosed(json: string): boolean {
  return !/\d$/.test(json.trimEnd())
}
