import { toJson } from '../../core/json.ts'
import { type Content, copyJson, isJsonObject, type JsonObject, textOf } from '../../core/messages.ts'
import { prepareArguments } from '../../tools/arguments.ts'
import type { ToolCallEnd } from '../../tools/tool-runner.ts'
import { type CallOutcome, type RunningCall, rejected } from '../calls/running-call.ts'
import type { RunContext } from '../run/run-context.ts'
import { checkFailed, withheldResultText } from '../told.ts'
import { placeOf } from './hook-place.ts'
import type { ToolTurn } from './hooks.ts'

/** The call as hooks and guardrails are told of it. */
export function describeCall(run: RunContext, { iteration, call, prepared }: RunningCall): ToolTurn<never> {
  const { tool, args } = prepared
  return { ...placeOf(run, iteration), toolCallId: call.id, tool: tool.name, args: copyJson(args) }
}

/** The call with other arguments, validated again; or its end, where they don't fit. */
export async function withArguments(
  { signal, limits }: RunContext,
  running: RunningCall,
  args: JsonObject,
  by: string,
): Promise<RunningCall | CallOutcome> {
  const changed = toJson(args)
  const repairs = [...(running.call.repairs ?? []), `arguments changed by ${by}`]
  const call = { ...running.call, args: isJsonObject(changed) ? changed : {}, repairs }
  const { tool } = running.prepared
  const preparation = await prepareArguments(tool, JSON.stringify(changed), { timeoutMs: limits.toolTimeoutMs, signal })
  if (preparation.ok) return { ...running, call, prepared: preparation.call }
  return rejected({ ...running, call }, { code: preparation.problem.code, text: preparation.problem.message })
}

/** An end that has a content to show. */
export type Ended = Extract<ToolCallEnd, { outcome: 'ok' | 'failed' | 'timeout' | 'cancelled' }>

/** The end of a call of which nothing is to be seen: not its value either, which would be in the result. */
export function withheld(end: Ended, by: string): Ended {
  const shown = withContent(end, withheldResultText(`${by}: ${checkFailed}`))
  return shown.outcome === 'ok' ? { ...shown, value: undefined } : shown
}

/** The end of a call with something else shown of it. */
export function withContent(end: Ended, content: Content): Ended {
  return end.outcome === 'ok' ? { ...end, content } : { ...end, content: textOf(content) }
}
