import { prepareArguments } from '../../../tools/arguments.ts'
import { argumentsFor, jsonOf } from '../../output/output.ts'
import type { RunContext } from '../../run/run-context.ts'
import { withheldAnswerText } from '../../run-texts.ts'
import type { Plan, PlannedCall } from '../../types/recorded.ts'
import { checkOutput } from '../guardrails/ask-guardrails.ts'

/** The calls of a turn after the answers among them were checked, or the reason to end the run. */
export type CheckedAnswers = { plan: Plan; changed: boolean } | { stop: string }

/**
 * Passes answers that the model gave through the answer tool to the output guardrails, as JSON. A withheld answer is removed from the plan
 * and the history, and its call gets the reason as its result.
 */
export async function checkAnswers(run: RunContext, iteration: number, plan: Plan): Promise<CheckedAnswers> {
  const { output } = run.agent
  if (output === undefined) return { plan, changed: false }
  const checked: Plan = { calls: [...plan.calls], planned: [...plan.planned] }
  let changed = false
  const put = (at: number, call: PlannedCall) => {
    changed = true
    checked.planned[at] = call
    const written = checked.calls[at]
    if (written !== undefined) checked.calls[at] = { ...written, function: { ...written.function, arguments: call.rawArguments } }
  }
  for (const [at, call] of plan.planned.entries()) {
    if (call.name !== output.tool.name || call.action !== 'run' || call.args === undefined) continue
    const json = jsonOf(output, call.args)
    const verdict = await checkOutput(run, iteration, json)
    if (!verdict.passed && verdict.how === 'stop') return { stop: verdict.reason }
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
  return { plan: checked, changed }
}

function refused({ args: _, asText: _asText, ...call }: PlannedCall, text: string): PlannedCall {
  return { ...call, rawArguments: '{}', action: 'reject', refusal: { code: 'guardrail', text } }
}
