import type { ErrorCode } from '../../core/errors.ts'
import { Event, type EventPayloads, type EventPlace } from '../../core/events.ts'
import { toJson } from '../../core/json.ts'
import { textOf } from '../../core/messages.ts'
import { type PreparedCall, prepareArguments } from '../../tools/arguments.ts'
import type { Lanes } from '../../tools/concurrency.ts'
import { resultText } from '../../tools/result-text.ts'
import { cancelledText, notFoundText } from '../../tools/told.ts'
import type { JsonSchema } from '../../tools/tool.ts'
import { endOf, executeCall, type RawEnd, type ToolCallEnd, type ToolCallEnvironment } from '../../tools/tool-runner.ts'
import type { StepContext } from '../durable/journal.ts'
import { withoutLongText } from '../large-results/keep-aside.ts'
import { handoffOf } from '../nested/handoff.ts'
import { shownAbout } from '../nested/shown-question.ts'
import type { FinishedCall, Refusal } from '../recorded.ts'
import type { Execution } from '../run/execution.ts'
import type { ToolCallRecord } from '../run/result.ts'
import { type RunContext, tagsOf } from '../run/run-context.ts'
import { uncertainText, withNote } from '../told.ts'
import {
  type AroundTool,
  type CallOutcome,
  type CallPlace,
  type CallTerms,
  type CallWork,
  type RunCall,
  type RunningCall,
  rejected,
} from './running-call.ts'
import { savedValueOf } from './saved-value.ts'
import { shownArguments, shownRejection, shownValue } from './shown-call.ts'

/** Carries a call out inside of its step: from what is planned to its record. */
export async function carryOutCall(
  execution: Execution,
  iteration: number,
  { call, key, answered, result, decided }: CallWork,
  step: StepContext,
  terms: CallTerms,
): Promise<FinishedCall> {
  const { durable, run, layers } = execution
  const place: CallPlace = { iteration, call, tags: tagsOf(durable, key) }
  const refuse = (refusal: Refusal) => {
    const finished = refuseCall(execution, place, refusal)
    terms.ended?.()
    return finished
  }
  if (call.refusal !== undefined) return refuse(call.refusal)
  const { idempotencyKey } = step
  const saved = durable.survivesCrashes ? savedValueOf(durable, key) : undefined
  const running = (prepared: PreparedCall): RunningCall => ({
    ...place,
    ...terms,
    idempotencyKey,
    prepared,
    answered,
    decided,
    ...(saved === undefined ? {} : { saved }),
  })
  if (result !== undefined) {
    const tool = run.agent.registry.get(call.name)
    if (tool === undefined) return refuse(notFound(run, call.name))
    const finished = await finishElsewhere(execution, running({ tool, args: call.args ?? {}, input: undefined }), result)
    terms.ended?.()
    return finished
  }
  const prepared = run.prepared.get(call.id) ?? (await prepareAgain(run, call))
  if ('code' in prepared) return refuse(prepared)
  const unfollow = step.signal === run.signal ? undefined : run.follow(step.signal)
  try {
    const finished = finishCall(execution, await layers.runCall(running(prepared)))
    return call.note === undefined ? finished : withResultNote(finished, call.note)
  } finally {
    unfollow?.()
    run.prepared.delete(call.id)
  }
}

function withResultNote({ record, ...rest }: FinishedCall, note: string): FinishedCall {
  return { ...rest, record: { ...record, content: withNote(record.content, note) } }
}

/** A resumed run makes its calls ready again. */
async function prepareAgain(run: RunContext, { name, rawArguments, asText }: CallWork['call']): Promise<PreparedCall | Refusal> {
  const tool = run.agent.registry.get(name)
  if (tool === undefined) return notFound(run, name)
  const { signal, limits } = run
  const preparation = await prepareArguments(tool, rawArguments, { timeoutMs: limits.toolTimeoutMs, signal, asText: asText === true })
  return preparation.ok ? preparation.call : { code: preparation.problem.code, text: preparation.problem.message }
}

function notFound({ agent }: RunContext, name: string): Refusal {
  return { code: 'tool_not_found', text: notFoundText(name, agent.registry.names()) }
}

/** Lets calls start in their order, so many at once as may run. */
export const inLane: AroundTool = (next) => {
  const runIn = async (lanes: Lanes, call: RunningCall): Promise<CallOutcome> => {
    await lanes.enter(call.prepared.tool.parallel === false)
    try {
      return await next(call)
    } finally {
      lanes.leave()
    }
  }
  return (call) => (call.lanes === undefined ? next(call) : runIn(call.lanes, call))
}

/** Runs the tool's function, with its time limit and its retries. */
export function runFunction(run: RunContext): RunCall {
  return async (call) => {
    const { iteration, prepared, idempotencyKey, answered, trace } = call
    const { tool } = prepared
    const { runId, signal, logger, limits, settings } = run
    const { id: toolCallId } = call.call
    let startedAt: number | undefined
    const environment: ToolCallEnvironment = {
      context: settings.context,
      run,
      signal,
      whenOver: run.whenInterrupted,
      toolCallId,
      runId,
      iteration,
      idempotencyKey,
      timeoutMs: limits.toolTimeoutMs,
      maxResultBytes: limits.takenResultBytes,
      logger,
      onStart: (args) => {
        startedAt = performance.now()
        if (run.hears(Event.TOOL_CALL_START)) run.emit(Event.TOOL_CALL_START, { tool: tool.name, args }, metaOf(call))
      },
      onProgress: (update) => run.emit(Event.TOOL_PROGRESS, { tool: tool.name, update }, { iteration, toolCallId, ...call.tags }),
    }
    if (answered !== undefined) environment.answer = answered.answer
    if (answered?.asked !== undefined) environment.asked = answered.asked
    if (trace !== undefined) environment.trace = trace
    if (run.askModel !== undefined) environment.askModel = run.askModel
    if (call.saved !== undefined) {
      environment.save = call.saved.write
      const saved = call.mayHaveRun ? await call.saved.read() : undefined
      if (saved !== undefined) environment.saved = saved
    }
    const raw: RawEnd | undefined = settings.hooks === undefined && trace === undefined ? undefined : {}
    if (raw !== undefined) environment.raw = raw
    const end = await executeCall(prepared, environment)
    // The run was over before the function could be started.
    if (end.outcome === 'cancelled' && startedAt === undefined) return rejected(call, { code: end.code, text: end.content })
    const outcome: CallOutcome = { call, end }
    if (startedAt !== undefined) outcome.startedAt = startedAt
    if (raw !== undefined) outcome.raw = raw
    return outcome
  }
}

/** Publishes how a call ended: inside its step, so that a replay doesn't repeat it, and before the next call may start. */
export function tellEnd(run: RunContext): AroundTool {
  return (next) => async (call) => {
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
function publishEnd(run: RunContext, outcome: CallOutcome): CallOutcome {
  const { call, end, startedAt } = outcome
  if (end.outcome === 'uncertain') return outcome
  if (end.outcome === 'rejected') {
    publishRejection(run, call, { code: end.code, text: end.content })
    return outcome
  }
  const durationMs = startedAt === undefined ? 0 : performance.now() - startedAt
  if (run.hears(Event.TOOL_CALL_END)) {
    const ok = end.outcome === 'ok' || end.outcome === 'question'
    const meta = { iteration: call.iteration, toolCallId: call.call.id, durationMs, ok, ...call.tags }
    run.emit(Event.TOOL_CALL_END, endShown(call, end), meta)
  }
  run.logStep(() => ({ ...logged(call), outcome: end.outcome, attempts: end.attempts, durationMs }), 'tool call ended')
  outcome.durationMs = durationMs
  return outcome
}

type RanEnd = Exclude<ToolCallEnd, { outcome: 'rejected' }>

/** The end of a call as listeners are told of it. */
function endShown({ prepared: { tool }, call }: RunningCall, end: RanEnd): EventPayloads['TOOL_CALL_END'] {
  const result = end.outcome === 'question' ? resultText(shownAbout(end.question.about)) : textOf(end.content)
  const payload: EventPayloads['TOOL_CALL_END'] = {
    tool: call.name,
    result,
    bytes: Buffer.byteLength(result),
    outcome: end.outcome,
  }
  const args = shownArguments(tool, call.args ?? {})
  if (args !== undefined) payload.args = args
  if ('code' in end) payload.errorCode = end.code
  if (end.outcome === 'ok' && end.value !== undefined) {
    const value = shownValue(tool, call.args ?? {}, end.value)
    if (value !== undefined) payload.value = value
  }
  return payload
}

export function publishRejection(run: RunContext, place: CallPlace, { code, text }: Refusal): void {
  const { name, args, rawArguments } = place.call
  const outcome = rejectionOf(code)
  if (run.hears(Event.TOOL_CALL_REJECTED)) {
    const { hidden, ...shown } = shownRejection(run.agent.registry.get(name), args ?? rawArguments, text)
    run.hide(hidden)
    run.emit(Event.TOOL_CALL_REJECTED, { tool: name, ...shown, outcome, errorCode: code }, metaOf(place))
  }
  run.logStep(() => ({ ...logged(place), outcome, errorCode: code, durationMs: 0 }), 'tool call was not run')
}

function logged({ iteration, call }: CallPlace): object {
  return { iteration, tool: call.name, toolCallId: call.id }
}

/** The meta of a call's first event. A copy for each audience: a listener may do with it what it likes. */
export function metaOf({ iteration, call, tags }: CallPlace): EventPlace {
  return { iteration, toolCallId: call.id, ...tags, ...(call.repairs === undefined ? {} : { repairs: [...call.repairs] }) }
}

/** The end of a call whose function is not run, published. */
export function refuseCall(execution: Execution, place: CallPlace, refusal: Refusal): FinishedCall {
  publishRejection(execution.run, place, refusal)
  const { code, text } = refusal
  return recordCall(execution, place, rejectionOf(code), { content: text, errorCode: code })
}

/** What came of a call, as it is recorded: what the model is told, what the app is given. */
function finishCall(execution: Execution, { call, end, durationMs = 0, returned, stop }: CallOutcome): FinishedCall {
  if (end.outcome === 'uncertain')
    return recordCall(execution, call, 'uncertain', { content: uncertainText(call.prepared.tool.name), errorCode: 'tool_uncertain' })
  if (end.outcome === 'rejected') {
    const finished = recordCall(execution, call, rejectionOf(end.code), { content: end.content, errorCode: end.code })
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
  const finished = recordCall(execution, call, end.outcome, { content: end.content, attempts, durationMs })
  if (end.outcome !== 'ok') finished.record.errorCode = end.code
  if (stop !== undefined) finished.stop = stop
  const handoff = 'handsTo' in tool && end.outcome === 'ok' ? handoffOf(returned ?? end.value) : undefined
  if (handoff !== undefined) finished.handoff = handoff
  else if (tool.final === true) finished.final = true
  return finished
}

/** The end of a call that its caller carried out, published and recorded. */
async function finishElsewhere(
  execution: Execution,
  call: RunningCall,
  { value, isError }: NonNullable<CallWork['result']>,
): Promise<FinishedCall> {
  const { run } = execution
  const { tool, args } = call.prepared
  run.emit(Event.TOOL_CALL_START, { tool: tool.name, args }, metaOf(call))
  const end = endOf(tool, value, run.limits.takenResultBytes)
  const failed: ToolCallEnd =
    isError && end.outcome === 'ok' ? { ...end, outcome: 'failed', code: 'tool_failed', content: textOf(end.content) } : end
  return finishCall(execution, publishEnd(run, await withoutLongText(run, { call, end: failed })))
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
  const record: ToolCallRecord = { id, tool: name, rawArguments, iteration, outcome, durationMs: 0, attempts: 0, ...rest }
  if (args !== undefined) record.args = args
  if (repairs !== undefined) record.repairs = repairs
  if (nested !== undefined) record.nested = nested
  return run.interruption === undefined || outcome !== 'cancelled' ? { record } : { record, interrupted: run.interruption }
}

type Rejection = EventPayloads['TOOL_CALL_REJECTED']['outcome']

/** Why a call was not run, as its record says it. */
function rejectionOf(code: ErrorCode): Rejection {
  return rejections[code] ?? 'rejected'
}

const rejections: Partial<Record<ErrorCode, Rejection>> = {
  tool_denied: 'denied',
  tool_cancelled: 'cancelled',
  tool_call_truncated: 'truncated',
  tool_uncertain: 'uncertain',
}
