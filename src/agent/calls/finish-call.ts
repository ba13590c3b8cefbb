import type { ErrorCode } from '../../core/errors.ts'
import { Event, type EventMeta } from '../../core/events.ts'
import { toJson } from '../../core/json.ts'
import { textOf } from '../../core/messages.ts'
import { resultText } from '../../tools/result-text.ts'
import { cancelledText } from '../../tools/told.ts'
import type { JsonSchema } from '../../tools/tool.ts'
import { endOf, type ToolCallEnd } from '../../tools/tool-runner.ts'
import { handoffOf } from '../nested/handoff.ts'
import type { FinishedCall, Refusal } from '../recorded.ts'
import type { Execution } from '../run/execution.ts'
import type { ToolCallRecord } from '../run/result.ts'
import type { RunContext } from '../run/run-context.ts'
import { uncertainText } from '../told.ts'
import { type AroundTool, type CallOutcome, type CallPlace, type CallWork, type RunningCall, rejected } from './running-call.ts'

/** Publishes how a call ended: inside its step, so that a replay doesn't repeat it, and before the next call may start. */
export function tellEnd(run: RunContext): AroundTool {
  return async (call, next) => {
    try {
      const isOver = run.interruption !== undefined
      const outcome = isOver ? rejected(call, { code: 'tool_cancelled', text: cancelledText(call.prepared.tool.name) }) : await next(call)
      return publishEnd(run, outcome)
    } finally {
      call.ended?.()
    }
  }
}

/** The outcome, published, with the time it took. */
export function publishEnd(run: RunContext, outcome: CallOutcome): CallOutcome {
  const { call, end, startedAt } = outcome
  if (end.outcome === 'uncertain') return outcome
  if (end.outcome === 'rejected') {
    publishRejection(run, call, end.content)
    return outcome
  }
  const durationMs = startedAt === undefined ? 0 : performance.now() - startedAt
  const ok = end.outcome === 'ok' || end.outcome === 'question'
  if (run.hears(Event.TOOL_CALL_END)) {
    const result = end.outcome === 'question' ? resultText(end.question.about) : textOf(end.content)
    const meta = { iteration: call.iteration, toolCallId: call.call.id, durationMs, ok, ...call.tags }
    run.emit(Event.TOOL_CALL_END, { tool: call.call.name, result }, meta)
  }
  return { ...outcome, durationMs }
}

export function publishRejection(run: RunContext, place: CallPlace, error: string): void {
  const { name: tool, args, rawArguments } = place.call
  run.emit(Event.TOOL_CALL_REJECTED, { tool, args: args ?? rawArguments, error }, metaOf(place))
}

/** The meta of a call's first event. A copy for each audience: a listener may do with it what it likes. */
export function metaOf({ iteration, call, tags }: CallPlace): Omit<EventMeta, 'runId'> {
  return { iteration, toolCallId: call.id, ...tags, ...(call.repairs === undefined ? {} : { repairs: [...call.repairs] }) }
}

/** The end of a call whose function is not run, published. */
export function refuseCall(execution: Execution, place: CallPlace, { code, text }: Refusal): FinishedCall {
  publishRejection(execution.run, place, text)
  return recordCall(execution, place, outcomes[code] ?? 'rejected', { content: text, errorCode: code })
}

/** What came of a call, as it is recorded: what the model is told, what the app is given. */
export function finishCall(execution: Execution, { call, end, durationMs = 0, returned, stop }: CallOutcome): FinishedCall {
  if (end.outcome === 'uncertain')
    return recordCall(execution, call, 'uncertain', { content: uncertainText(call.prepared.tool.name), errorCode: 'tool_uncertain' })
  if (end.outcome === 'rejected') {
    const finished = recordCall(execution, call, outcomes[end.code] ?? 'rejected', { content: end.content, errorCode: end.code })
    return stop === undefined ? finished : { ...finished, stop }
  }
  const { attempts } = end
  if (end.outcome === 'question') {
    const { about, schema } = end.question
    const question = { about: toJson(about), ...(schema === undefined ? {} : { schema: toJson(schema) as JsonSchema }) }
    return { ...recordCall(execution, call, 'cancelled', { content: resultText(about), attempts, durationMs }), question }
  }
  const { tool } = call.prepared
  if (end.outcome === 'ok' && end.value !== undefined) execution.run.values.set(call.call.id, end.value)
  const code = end.outcome === 'ok' ? {} : { errorCode: end.code }
  const finished = recordCall(execution, call, end.outcome, { content: end.content, attempts, durationMs, ...code })
  if (stop !== undefined) finished.stop = stop
  const handover = 'handsTo' in tool && end.outcome === 'ok' ? handoffOf(returned ?? end.value) : undefined
  if (handover !== undefined) finished.handover = handover
  else if (tool.final === true) finished.final = true
  return finished
}

/** The end of a call that its caller carried out, published and recorded. */
export function finishElsewhere(
  execution: Execution,
  call: RunningCall,
  { value, isError }: NonNullable<CallWork['result']>,
): FinishedCall {
  const { run } = execution
  const { tool, args } = call.prepared
  run.emit(Event.TOOL_CALL_START, { tool: tool.name, args }, metaOf(call))
  const end = endOf(tool, value, run.limits.maxResultBytes)
  const failed: ToolCallEnd =
    isError && end.outcome === 'ok' ? { ...end, outcome: 'failed', code: 'tool_failed', content: textOf(end.content) } : end
  return finishCall(execution, publishEnd(run, { call, end: failed }))
}

/** A call's record. */
export function recordCall(
  { run, state }: Execution,
  { call, iteration }: Pick<CallPlace, 'call' | 'iteration'>,
  outcome: ToolCallRecord['outcome'],
  rest: Pick<ToolCallRecord, 'content'> & Partial<ToolCallRecord>,
): FinishedCall {
  const { id, name, args, rawArguments, repairs } = call
  const nested = state.budget.spentIn(id)
  const record: ToolCallRecord = {
    id,
    tool: name,
    ...(args === undefined ? {} : { args }),
    rawArguments,
    iteration,
    outcome,
    durationMs: 0,
    attempts: 0,
    ...rest,
    ...(repairs === undefined ? {} : { repairs }),
    ...(nested === undefined ? {} : { nested }),
  }
  return run.interruption === undefined || outcome !== 'cancelled' ? { record } : { record, interrupted: run.interruption }
}

/** Why a call was not run, as its record says it. */
const outcomes: Partial<Record<ErrorCode, ToolCallRecord['outcome']>> = {
  tool_denied: 'denied',
  tool_cancelled: 'cancelled',
  tool_call_truncated: 'truncated',
}
