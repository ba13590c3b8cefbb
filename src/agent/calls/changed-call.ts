import { toJson } from '../../core/json.ts'
import { type Content, copyJson, isJsonObject, type JsonObject, textOf } from '../../core/messages.ts'
import { prepareArguments } from '../../tools/arguments.ts'
import type { ToolCallEnd } from '../../tools/tool-runner.ts'
import type { ToolTurn } from '../callbacks/hooks.ts'
import { placeOf, type RunContext } from '../run/run-context.ts'
import { checkFailed, withheldResultText } from '../run-texts.ts'
import type { CallInPlan } from '../types/plan.ts'

/** The call as hooks and guardrails see it. */
export function describeCall(
  run: RunContext,
  { iteration, call, prepared }: Pick<CallInPlan, 'iteration' | 'call' | 'prepared'>,
): ToolTurn<never> {
  const { tool, args } = prepared
  return { ...placeOf(run, iteration), toolCallId: call.id, tool: tool.name, args: copyJson(args) }
}

/** Returns the call with other arguments, which are validated again. If they don't fit the tool, the call is refused. */
export async function withArguments(
  { signal, limits }: RunContext,
  planned: CallInPlan,
  args: JsonObject,
  by: string,
): Promise<CallInPlan> {
  const given = toJson(args)
  const repairs = [...(planned.call.repairs ?? []), `arguments changed by ${by}`]
  const call = { ...planned.call, args: isJsonObject(given) ? given : {}, repairs }
  const { tool } = planned.prepared
  const preparation = await prepareArguments(tool, JSON.stringify(given), { timeoutMs: limits.toolTimeoutMs, signal })
  if (preparation.ok) return { ...planned, call, prepared: preparation.call }
  return { ...planned, call, end: { refusal: { code: preparation.problem.code, text: preparation.problem.message } } }
}

/** The end of a call whose tool returned or failed, with the content for the model. */
export type Ended = Extract<ToolCallEnd, { outcome: 'ok' | 'failed' | 'timeout' | 'cancelled' }>

/** Returns the end of a call whose result is withheld. The value is left out, too, because the run's result would contain it. */
export function withheld(end: Ended, by: string): Ended {
  const shown = withContent(end, withheldResultText(`${by}: ${checkFailed}`))
  return shown.outcome === 'ok' ? { ...shown, value: undefined } : shown
}

export function withContent(end: Ended, content: Content): Ended {
  return end.outcome === 'ok' ? { ...end, content } : { ...end, content: textOf(content) }
}
