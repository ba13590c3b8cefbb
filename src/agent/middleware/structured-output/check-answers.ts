import { prepareArguments } from '../../../tools/arguments.ts'
import { stoppedBy } from '../../callbacks/callbacks.ts'
import { argumentsFor, jsonOf, type OutputFormat } from '../../output/output.ts'
import type { RunContext } from '../../run/run-context.ts'
import { withheldAnswerText } from '../../run-texts.ts'
import type { Decide, ReplyInPlan } from '../../types/plan.ts'
import type { PlannedCall } from '../../types/recorded.ts'
import { checkOutput } from '../guardrails/ask-guardrails.ts'

/**
 * Checks answers from the answer tool with the output guardrails, as JSON. A withheld answer is removed from the planned call and the
 * history, and the model is told the reason.
 */
export function checkAnswers(run: RunContext, output: OutputFormat): Decide<ReplyInPlan> {
  return async (reply) => {
    const planned = [...reply.planned]
    let { calls } = reply
    const put = (at: number, call: PlannedCall) => {
      planned[at] = call
      const written = calls[at]
      if (written !== undefined) calls = calls.with(at, { ...written, function: { ...written.function, arguments: call.rawArguments } })
    }
    for (const [at, call] of reply.planned.entries()) {
      if (call.name !== output.tool.name || call.action !== 'run' || call.args === undefined) continue
      const json = jsonOf(output, call.args)
      const verdict = await checkOutput(run, reply.meta.iteration, json)
      if (!verdict.passed && verdict.how === 'stop') return { ...reply, end: { stop: stoppedBy(verdict.reason) } }
      if (!verdict.passed) {
        put(at, refused(call, withheldAnswerText(verdict.reason)))
      } else if (verdict.subject !== json) {
        const rawArguments = argumentsFor(output, verdict.subject)
        const { toolTimeoutMs: timeoutMs } = run.limits
        const preparation = await prepareArguments(output.tool, rawArguments, { timeoutMs, signal: run.signal })
        if (preparation.ok) {
          run.prepared.set(call.id, preparation.call)
          const { asText: _, ...rest } = call
          const repairs = [...(call.repairs ?? []), 'arguments changed by a guardrail']
          put(at, { ...rest, rawArguments, args: preparation.call.args, repairs })
        } else put(at, refused(call, withheldAnswerText(preparation.problem.message)))
      }
    }
    return { ...reply, calls, planned }
  }
}

function refused({ args: _, asText: _asText, ...call }: PlannedCall, text: string): PlannedCall {
  return { ...call, rawArguments: '{}', action: 'reject', refusal: { code: 'guardrail', text } }
}
