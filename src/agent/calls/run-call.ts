import { Event } from '../../core/events.ts'
import { toJson } from '../../core/json.ts'
import { copyJson, isJsonObject, type JsonObject } from '../../core/messages.ts'
import type { PreparedCall } from '../../tools/arguments.ts'
import { type StepContext, tagsOf } from '../durable/journal.ts'
import type { ToolTurn } from '../hooks/hooks.ts'
import type { FinishedCall, Refusal } from '../recorded.ts'
import type { Execution } from '../run/execution.ts'
import type { RunContext } from '../run/run-context.ts'
import { withNote } from '../told.ts'
import { finishCall, finishElsewhere, metaOf, refuseCall } from './finish-call.ts'
import { prepareInTime } from './prepare-calls.ts'
import {
  type AroundTool,
  type CallOutcome,
  type CallTerms,
  type CallWork,
  type RunCall,
  type RunningCall,
  rejected,
} from './running-call.ts'

/** Carries a call out inside of its step: from what is planned to its record. */
export async function carryOutCall(
  execution: Execution,
  iteration: number,
  { call, key, answered, result, note }: CallWork,
  step: StepContext,
  terms: CallTerms,
): Promise<FinishedCall> {
  const { durable, run, layers } = execution
  const place = { iteration, call, step, tags: tagsOf(durable, key) }
  const refuse = (refusal: Refusal) => {
    const finished = refuseCall(execution, place, refusal)
    terms.ended?.()
    return finished
  }
  if (call.refusal !== undefined) return refuse(call.refusal)
  if (result !== undefined) {
    const tool = run.registry.get(call.name)
    if (tool === undefined) return refuse({ code: 'tool_not_found', text: run.toolRunner.notFound(call.name) })
    const finished = finishElsewhere(
      execution,
      { ...place, ...terms, prepared: { tool, args: call.args ?? {}, input: undefined }, answered },
      result,
    )
    terms.ended?.()
    return finished
  }
  const prepared = run.prepared.get(call.id) ?? (await prepareAgain(run, call))
  if ('code' in prepared) return refuse(prepared)
  const unfollow = step.signal === run.signal ? undefined : run.follow(step.signal)
  try {
    const finished = finishCall(execution, await layers.runCall({ ...place, ...terms, prepared, answered }))
    return note === undefined ? finished : withResultNote(finished, note)
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
  const tool = run.registry.get(name)
  if (tool === undefined) return { code: 'tool_not_found', text: run.toolRunner.notFound(name) }
  const { signal, limits } = run
  const preparation = await prepareInTime(tool, rawArguments, { timeoutMs: limits.toolTimeoutMs, signal, asText: asText === true })
  return preparation.ok ? preparation.call : { code: preparation.problem.code, text: preparation.problem.message }
}

/** Lets calls start in their order, so many at once as may run. */
export const inLane: AroundTool = async (call, next) => {
  const { lanes, prepared } = call
  if (lanes === undefined) return next(call)
  await lanes.enter(prepared.tool.parallel === false)
  try {
    return await next(call)
  } finally {
    lanes.leave()
  }
}

/** Runs the tool's function, with its time limit and its retries. */
export function runFunction(run: RunContext): RunCall {
  return async (call) => {
    const { iteration, prepared, step, answered } = call
    const { tool } = prepared
    const { runId, signal, logger, limits, settings } = run
    const { id: toolCallId } = call.call
    let startedAt: number | undefined
    const end = await run.toolRunner.execute(prepared, {
      context: settings.context,
      ...(answered === undefined ? {} : { answer: answered.answer }),
      ...(answered?.asked === undefined ? {} : { asked: answered.asked }),
      run,
      signal,
      toolCallId,
      runId,
      iteration,
      idempotencyKey: step.idempotencyKey,
      timeoutMs: limits.toolTimeoutMs,
      maxResultBytes: limits.maxResultBytes,
      logger,
      onStart: (args) => {
        startedAt = performance.now()
        run.emit(Event.TOOL_CALL_START, { tool: tool.name, args }, metaOf(call))
      },
      onProgress: (update) => run.emit(Event.TOOL_PROGRESS, { tool: tool.name, update }, { iteration, toolCallId, ...call.tags }),
    })
    return { call, end, ...(startedAt === undefined ? {} : { startedAt }) }
  }
}

/** The call as hooks and guardrails are told of it. */
export function describeCall({ runId, signal, settings }: RunContext, { iteration, call, prepared }: RunningCall): ToolTurn<never> {
  const { tool, args } = prepared
  return { runId, iteration, toolCallId: call.id, tool: tool.name, args: copyJson(args), context: settings.context as never, signal }
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
  const preparation = await prepareInTime(tool, JSON.stringify(changed), { timeoutMs: limits.toolTimeoutMs, signal })
  if (preparation.ok) return { ...running, call, prepared: preparation.call }
  return rejected({ ...running, call }, { code: preparation.problem.code, text: preparation.problem.message })
}
