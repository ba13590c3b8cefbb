import type { ErrorCode } from '../../core/errors.ts'
import { Event, type EventPayloads, type EventPlace, type FinishReason } from '../../core/events.ts'
import { toJson } from '../../core/json.ts'
import {
  copyJson,
  isJsonObject,
  type Json,
  type JsonObject,
  legalName,
  type ToolCall,
  textOf,
  withoutUndefined,
} from '../../core/messages.ts'
import type { ToolChoice } from '../../models/chat-model.ts'
import { type ArgumentTerms, innerArguments, type PreparedCall, prepareArguments } from '../../tools/arguments.ts'
import { cancelledText, notFoundText } from '../../tools/call-texts.ts'
import type { Lanes } from '../../tools/concurrency.ts'
import type { ToolSet } from '../../tools/registry.ts'
import type { JsonSchema } from '../../tools/tool.ts'
import { endOf, executeCall, type RawEnd, type ToolCallEnd, type ToolCallEnvironment } from '../../tools/tool-runner.ts'
import type { StepContext } from '../journal/journal.ts'
import { savedValueOf } from '../journal/kept-values.ts'
import { runsAgent } from '../nested/nested-items.ts'
import { type GivenKey, keyLeftBy } from '../run/call-keys.ts'
import { type RunContext, tagsOf } from '../run/run-context.ts'
import { callNothingNowText, onlyCallableText, quotedText, truncatedText, uncertainText, unreadableText, withNote } from '../run-texts.ts'
import { callName, callStep } from '../step-keys.ts'
import { type OpenedCall, openCalls } from '../text-calls/find-tools.ts'
import type { ReadCall } from '../text-calls/read-call.ts'
import type { Execution } from '../types/execution.ts'
import type { FinishedCall, Handoff, Plan, PlannedCall, Refusal } from '../types/recorded.ts'
import type { ToolCallRecord } from '../types/result.ts'
import type { AroundTool, CallOutcome, CallPlace, CallTerms, CallWork, RunCall, RunningCall } from '../types/running-call.ts'
import { withoutLongText } from './keep-aside.ts'
import { shownEnd, shownInput, shownRejection, shownUpdate } from './shown-call.ts'

export interface PlanInput {
  calls: readonly ReadCall[]
  finishReason: FinishReason
  registry: ToolSet
  /** The tool choice of the request. It is checked here, because not every provider enforces it. */
  choice: ToolChoice | undefined
  uniqueIds(): (given: string, index: number) => string
  terms: ArgumentTerms
  /** Whether calls with effects are only planned, as in a preview. */
  isPreview: boolean
  /** Called only for a tool that may need an approval. */
  needsApproval(call: PreparedCall): Promise<PlannedCall['approval']>
  /** The prepared calls, by call id. `planCalls` adds to this map. */
  prepared: Map<string, PreparedCall>
}

/** PREPARE: finds each call's tool, validates the arguments, and decides what happens to the call. Never throws. */
export async function planCalls(input: PlanInput): Promise<Plan> {
  const uniqueId = input.uniqueIds()
  const calls: ToolCall[] = []
  const plans = findTools(input.calls, input.registry).map((one, index) => {
    const { name, arguments: json } = one.call.function
    const id = uniqueId(one.call.id, index)
    // Some models encode arguments twice. They are decoded for the history, because most servers can't parse them otherwise.
    const args = innerArguments(json, input.terms.maxValues) ?? json
    calls.push({ id, type: 'function', function: { name: one.tool?.name ?? legalName(name), arguments: args } })
    return planCall(input, id, one)
  })
  return { calls, planned: await Promise.all(plans) }
}

async function planCall(input: PlanInput, id: string, { call, tool, repairs }: OpenedCall): Promise<PlannedCall> {
  const { asText, textAfter, unreadable, isQuoted } = call
  const { name: written, arguments: rawArguments } = call.function
  const name = tool?.name ?? written
  const planned: PlannedCall = { id, name, rawArguments, args: undefined, effect: tool?.effect ?? 'unsafe', action: 'reject' }
  if (repairs.length > 0) planned.repairs = repairs
  if (asText) planned.asText = true
  if (textAfter !== undefined) planned.textAfter = textAfter
  if (input.finishReason === 'length') return refuse(planned, 'tool_call_truncated', truncatedText(name))
  if (unreadable !== undefined) return refuse(planned, 'unreadable_call', unreadableText(unreadable))
  if (tool === undefined) return refuse(planned, 'tool_not_found', notFoundText(name, input.registry.names()))
  if (isQuoted) return refuse(planned, 'tool_denied', quotedText(name))
  const { choice } = input
  if (choice === 'none') return refuse(planned, 'tool_denied', callNothingNowText)
  if (typeof choice === 'object' && choice.function.name !== tool.name)
    return refuse(planned, 'tool_denied', onlyCallableText(choice.function.name))
  const preparation = await prepareArguments(tool, rawArguments, asText ? { ...input.terms, asText } : input.terms)
  if (!preparation.ok) return refuse(planned, preparation.problem.code, preparation.problem.message, preparation.problem.args)
  const { call: prepared } = preparation
  input.prepared.set(id, prepared)
  planned.args = prepared.args
  planned.action = tool.execute === undefined ? 'client' : 'run'
  if (preparation.repairs !== undefined) planned.repairs = [...repairs, ...preparation.repairs]
  const mayNeedOne = tool.approval !== undefined && tool.approval !== false
  const approval = mayNeedOne ? await input.needsApproval(prepared) : undefined
  if (input.isPreview && planned.action === 'run' && planned.effect !== 'read' && !runsAgent(tool))
    return { ...planned, intent: approval ?? true }
  return approval === undefined ? planned : { ...planned, approval }
}

function refuse({ args: _, ...call }: PlannedCall, code: ErrorCode, text: string, args?: JsonObject): PlannedCall {
  return { ...call, ...withoutUndefined({ args }), refusal: { code, text } }
}

/** Finds the tools of the calls. Similar names are searched only if a call doesn't name a tool exactly. */
function findTools(calls: readonly ReadCall[], registry: ToolSet): OpenedCall[] {
  const found: OpenedCall[] = []
  for (const call of calls) {
    const tool = registry.get(call.function.name)
    if (tool === undefined || registry.opened !== undefined) return openCalls(calls, registry)
    found.push({ call, tool, repairs: call.repairs ?? [] })
  }
  return found
}

/** EXECUTE: runs a planned call inside its step, and returns its record. */
export async function carryOutCall(
  execution: Execution,
  iteration: number,
  work: CallWork,
  step: StepContext,
  terms: CallTerms,
): Promise<FinishedCall> {
  const { durable, run, layers } = execution
  const { call, index, key, result } = work
  const { lanes, mayHaveRun, ended } = terms
  const tags = tagsOf(durable, key)
  // All steps of one call use the same idempotency key.
  const own = { idempotencyKey: callName(run.runId, iteration, index), isCarried: false }
  const given = (call.refusal === undefined ? terms.keyOf?.(index, call) : undefined) ?? own
  const prepared =
    call.refusal ?? (result === undefined ? run.prepared.get(call.id) : doneElsewhere(run, call)) ?? (await prepareAgain(run, call))
  if ('code' in prepared) {
    const finished = refuseCall(execution, { iteration, call, tags }, prepared)
    ended?.()
    return finished
  }
  const running: RunningCall = {
    iteration,
    call,
    tags,
    key,
    lanes,
    mayHaveRun,
    ended,
    idempotencyKey: given.idempotencyKey,
    prepared,
    answered: work.answered,
    saved: durable.survivesCrashes ? savedValueOf(durable, callStep(iteration, index)) : undefined,
    trace: undefined,
  }
  if (result !== undefined) {
    const finished = await finishElsewhere(execution, running, result)
    ended?.()
    return finished
  }
  const unfollow = step.signal === run.signal ? undefined : run.follow(step.signal)
  try {
    const outcome = await layers.runCall(running)
    const finished = finishCall(execution, outcome)
    if (finished.noted !== true && call.intent === undefined && (outcome.end.outcome !== 'ok' || given.isCarried))
      leaveKey(finished, call, given, 'effect' in outcome.end ? outcome.end.effect : undefined)
    return call.note === undefined ? finished : withResultNote(finished, call.note)
  } finally {
    unfollow?.()
    run.prepared.delete(call.id)
  }
}

/** Records whether a later call may use the call's idempotency key again. */
function leaveKey(
  { record, question }: FinishedCall,
  call: CallWork['call'],
  given: GivenKey,
  effect: 'possible' | 'known' | undefined,
): void {
  if (question !== undefined) return
  const { outcome, attempts } = record
  const callKey = keyLeftBy(call, { ...given, outcome, hasStarted: attempts > 0, effect })
  if (callKey !== undefined) record.callKey = callKey
}

function withResultNote({ record, ...rest }: FinishedCall, note: string): FinishedCall {
  return { ...rest, record: { ...record, content: withNote(record.content, note) } }
}

/**
 * Passes calls that were planned in a preview to `note`. They need a decision even if the run is no longer a preview. A call whose result
 * the plan supplies needs none, because it has no effect.
 */
export function onlyNoted(run: RunContext, note: (run: RunContext, call: RunningCall) => Promise<CallOutcome>): AroundTool {
  return (next) => (call) => (call.call.intent !== undefined && call.call.plan?.result === undefined ? note(run, call) : next(call))
}

/** Starts calls in order, and limits how many run at once. */
export const inLane: AroundTool = (next) => (call) => (call.lanes === undefined ? next(call) : runIn(call.lanes, call, next))

async function runIn(lanes: Lanes, call: RunningCall, next: RunCall): Promise<CallOutcome> {
  await lanes.enter(call.prepared.tool.parallel === false)
  try {
    return await next(call)
  } finally {
    lanes.leave()
  }
}

/** Answers a call with the result that the plan has supplied, instead of running the function. */
export function answerByPlan(run: RunContext): AroundTool {
  return (next) => async (call) => (call.call.plan?.result === undefined ? next(call) : answered(run, call, call.call.plan.result.value))
}

/** The outcome of a call whose result was supplied without running its function. */
export function answered(run: RunContext, call: RunningCall, value: unknown): CallOutcome {
  const { tool, args } = call.prepared
  const startedAt = performance.now()
  tellStart(run, call, copyJson(args))
  return { call, end: endOf(tool, value, run.limits.takenResultBytes), startedAt, raw: { value } }
}

/** Runs the tool's function, with its time limit and its retries. */
export function runFunction(run: RunContext): RunCall {
  return async (call) => {
    const environment = new CallEnvironment(run, call)
    if (call.saved !== undefined && call.mayHaveRun) environment.saved = await environment.readSaved()
    run.nested?.restart(call.idempotencyKey)
    const end = await executeCall(call.prepared, environment)
    const { startedAt, raw } = environment
    // The run ended before the function could start.
    if (end.outcome === 'cancelled' && startedAt === undefined) return rejected(call, { code: end.code, text: end.content })
    return { call, end, startedAt, durationMs: 0, raw }
  }
}

/** The parts of the run that the tool of a call can use. */
export class CallEnvironment implements ToolCallEnvironment {
  readonly run: RunContext
  readonly context: unknown
  readonly metadata: ToolCallEnvironment['metadata']
  readonly signal: AbortSignal
  readonly whenOver: ToolCallEnvironment['whenOver']
  readonly toolCallId: string
  readonly runId: string
  readonly iteration: number
  readonly idempotencyKey: string
  readonly timeoutMs: number
  readonly maxResultBytes: number
  readonly logger: ToolCallEnvironment['logger']
  readonly trace: RunningCall['trace']
  readonly askModel: ToolCallEnvironment['askModel']
  readonly answer: ToolCallEnvironment['answer']
  readonly asked: ToolCallEnvironment['asked']
  readonly decision: ToolCallEnvironment['decision']
  readonly save: ToolCallEnvironment['save']
  saved: ToolCallEnvironment['saved']
  readonly raw: RawEnd | undefined
  /** When the function started for the first time. */
  startedAt: number | undefined
  readonly #call: RunningCall

  constructor(run: RunContext, call: RunningCall) {
    const { limits, settings } = run
    this.run = run
    this.context = settings.context
    this.metadata = run.metadata
    this.signal = run.signal
    this.whenOver = run.whenInterrupted
    this.toolCallId = call.call.id
    this.runId = run.runId
    this.iteration = call.iteration
    this.idempotencyKey = call.idempotencyKey
    this.timeoutMs = limits.toolTimeoutMs
    this.maxResultBytes = limits.takenResultBytes
    this.logger = run.logger
    this.trace = call.trace
    this.askModel = run.askModel
    this.answer = call.answered?.answer
    this.asked = call.answered?.asked
    this.decision = call.call.decision
    this.save = call.saved?.write
    this.raw = run.agent.callbacks.around.calls.length === 0 && call.trace === undefined ? undefined : {}
    this.#call = call
  }

  async readSaved(): Promise<Json | undefined> {
    return this.#call.saved?.read()
  }

  onStart(args: JsonObject): void {
    this.startedAt = performance.now()
    tellStart(this.run, this.#call, args)
  }

  onProgress(update: Json): void {
    const { iteration, prepared, tags } = this.#call
    this.run.events.emit(
      Event.TOOL_PROGRESS,
      { tool: prepared.tool.name, update: shownUpdate(prepared.tool, prepared.args, update) },
      { iteration, toolCallId: this.toolCallId, ...tags },
    )
  }
}

/** Emits the end of a call before the next call starts. The event is emitted inside the call's step, so that a replay doesn't repeat it. */
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

function publishEnd(run: RunContext, outcome: CallOutcome): CallOutcome {
  const { call, end, startedAt } = outcome
  if (end.outcome === 'uncertain') return outcome
  if (end.outcome === 'rejected') {
    publishRejection(run, call, { code: end.code, text: end.content })
    return outcome
  }
  const durationMs = startedAt === undefined ? 0 : performance.now() - startedAt
  if (run.events.hears(Event.TOOL_CALL_END)) {
    const ok = end.outcome === 'ok' || end.outcome === 'question'
    const meta = { iteration: call.iteration, toolCallId: call.call.id, durationMs, ok, ...call.tags }
    run.events.emit(Event.TOOL_CALL_END, shownEnd(call, end), meta)
  }
  run.logStep(() => ({ ...logged(call), outcome: end.outcome, attempts: end.attempts, durationMs }), 'tool call ended')
  outcome.durationMs = durationMs
  return outcome
}

export function publishRejection(run: RunContext, place: CallPlace, { code, text }: Refusal): void {
  const { name, args, rawArguments } = place.call
  const outcome = rejectionOf(code)
  if (run.events.hears(Event.TOOL_CALL_REJECTED)) {
    const { hidden, ...shown } = shownRejection(run.agent.registry.get(name), args ?? rawArguments, text)
    run.events.hide(hidden)
    run.events.emit(Event.TOOL_CALL_REJECTED, { tool: name, ...shown, outcome, errorCode: code }, metaOf(place))
  }
  run.logStep(() => ({ ...logged(place), outcome, errorCode: code, durationMs: 0 }), 'tool call was not run')
}

function logged({ iteration, call }: CallPlace): object {
  return { iteration, tool: call.name, toolCallId: call.id }
}

/** Emits the start of a tool's function, without the secrets of its arguments. */
export function tellStart(run: RunContext, call: RunningCall, args: JsonObject): void {
  const { tool } = call.prepared
  const isHeard = run.events.hears(Event.TOOL_CALL_START)
  // Secret texts have to be collected even without listeners, because the log hides them, too.
  if (!isHeard && tool.secrets === undefined) return
  const shown = shownInput(tool, args)
  run.events.hide(shown.hidden)
  if (isHeard) run.events.emit(Event.TOOL_CALL_START, { tool: tool.name, args: shown.args }, metaOf(call))
}

/** Each event gets its own copy, because listeners may modify it. */
function metaOf({ iteration, call, tags }: CallPlace): EventPlace {
  return { iteration, toolCallId: call.id, ...tags, ...withoutUndefined({ repairs: call.repairs && [...call.repairs] }) }
}

/** Emits the end of a call that was refused, and records it. */
export function refuseCall(execution: Execution, place: CallPlace, refusal: Refusal): FinishedCall {
  publishRejection(execution.run, place, refusal)
  const { code, text } = refusal
  const finished = recordCall(execution, place, rejectionOf(code), { content: text, errorCode: code })
  const stop = place.call.plan?.stop
  return stop === undefined ? finished : { ...finished, stop }
}

/** FINISH: turns the outcome of a call into its record, including the text for the model and the value for the app. */
function finishCall(execution: Execution, { call, end, durationMs = 0, returned, stop, noted }: CallOutcome): FinishedCall {
  if (end.outcome === 'uncertain')
    return recordCall(execution, call, 'uncertain', { content: uncertainText(call.prepared.tool.name), errorCode: 'tool_uncertain' })
  if (end.outcome === 'rejected') {
    return recordCall(execution, call, rejectionOf(end.code), { content: end.content, errorCode: end.code })
  }
  const { attempts } = end
  if (end.outcome === 'question') {
    const { about, schema } = end.question
    const question = { about: toJson(about), ...withoutUndefined({ schema: schema && (toJson(schema) as JsonSchema) }) }
    if (noted !== undefined) return { ...recordCall(execution, call, 'ok', { content: noted, durationMs }), question, noted: true }
    // A temporary record: when the question has been answered, the call gets another. Only the id, the decision and the usage are used.
    return { ...recordCall(execution, call, 'cancelled', { content: '', attempts, durationMs }), question }
  }
  const { tool } = call.prepared
  if (end.outcome === 'ok' && end.value !== undefined) execution.run.values.set(call.call.id, end.value)
  const finished = recordCall(execution, call, end.outcome, { content: end.content, attempts, durationMs })
  if (end.outcome !== 'ok') finished.record.errorCode = end.code
  const reason = stop ?? execution.run.stops.get(call.call.id)
  if (reason !== undefined) finished.stop = reason
  if (noted !== undefined) finished.noted = true
  const handoff = 'handsTo' in tool && end.outcome === 'ok' ? handoffOf(returned ?? end.value) : undefined
  if (handoff !== undefined) finished.handoff = handoff
  else if (tool.final === true) finished.final = true
  return finished
}

/** Prepares a call of a client tool, which the app has run, without parsing its arguments again. */
function doneElsewhere({ agent }: RunContext, { name, args = {} }: PlannedCall): PreparedCall | undefined {
  const tool = agent.registry.get(name)
  return tool && { tool, args, input: undefined }
}

/** Emits and records the end of a client tool's call. */
async function finishElsewhere(
  execution: Execution,
  call: RunningCall,
  { value, isError }: NonNullable<CallWork['result']>,
): Promise<FinishedCall> {
  const { run } = execution
  const { tool, args } = call.prepared
  tellStart(run, call, args)
  const end = endOf(tool, value, run.limits.takenResultBytes)
  const failed: ToolCallEnd =
    isError && end.outcome === 'ok' ? { ...end, outcome: 'failed', code: 'tool_failed', content: textOf(end.content) } : end
  const take = execution.layers.takeResult(async () => ({ call, end: failed }))
  return finishCall(execution, publishEnd(run, await withoutLongText(run, await take(call))))
}

export function recordCall(
  { run, state }: Execution,
  { call, iteration }: Pick<CallPlace, 'call' | 'iteration'>,
  outcome: ToolCallRecord['outcome'],
  rest: Pick<ToolCallRecord, 'content'> & Partial<Pick<ToolCallRecord, 'durationMs' | 'attempts' | 'errorCode'>>,
): FinishedCall {
  const { id, name, args, rawArguments, repairs, decision } = call
  const nested = state.budget.spentIn(id)
  const { content, durationMs = 0, attempts = 0 } = rest
  const record: ToolCallRecord =
    args === undefined
      ? { id, tool: name, rawArguments, iteration, outcome, content, durationMs, attempts }
      : { id, tool: name, args, rawArguments, iteration, outcome, content, durationMs, attempts }
  if (rest.errorCode !== undefined) record.errorCode = rest.errorCode
  if (repairs !== undefined) record.repairs = repairs
  if (decision !== undefined) record.decision = decision
  if (nested !== undefined) record.nested = nested
  return run.interruption === undefined || outcome !== 'cancelled' ? { record } : { record, interrupted: run.interruption }
}

type Rejection = EventPayloads['TOOL_CALL_REJECTED']['outcome']

/** The outcome of a call that did not run because of an error with this code. */
function rejectionOf(code: ErrorCode): Rejection {
  return rejections[code] ?? 'rejected'
}

const rejections: Partial<Record<ErrorCode, Rejection>> = {
  tool_denied: 'denied',
  tool_cancelled: 'cancelled',
  tool_call_truncated: 'truncated',
  tool_uncertain: 'uncertain',
}

/** The handoff that a tool has returned. Undefined if a hook replaced the return value. */
function handoffOf(value: unknown): Handoff | undefined {
  const isOne = isJsonObject(value) && typeof value.tool === 'string' && typeof value.agent === 'string'
  return isOne ? (value as { tool: string; agent: string }) : undefined
}

/** The outcome of a call whose function does not run. */
export function rejected(call: RunningCall, { code, text }: Refusal): CallOutcome {
  return { call, end: { outcome: 'rejected', content: text, code } }
}

/** Prepares the calls of a resumed run again, because prepared calls are not recorded. */
export async function prepareAgain(
  run: RunContext,
  { name, rawArguments, asText, args, plan }: PlannedCall,
): Promise<PreparedCall | Refusal> {
  const tool = run.agent.registry.get(name)
  if (tool === undefined) return { code: 'tool_not_found', text: notFoundText(name, run.agent.registry.names()) }
  const { signal, limits } = run
  const terms = { timeoutMs: limits.toolTimeoutMs, signal }
  // If the plan or an approver chose the arguments, they are not decoded, because the model did not write them.
  const preparation = await (plan?.args === undefined
    ? prepareArguments(tool, rawArguments, { ...terms, asText: asText === true, asNative: true })
    : prepareArguments(tool, JSON.stringify(args), terms))
  return preparation.ok ? preparation.call : { code: preparation.problem.code, text: preparation.problem.message }
}
