import type { ErrorCode } from '../../core/errors.ts'
import { Event } from '../../core/events.ts'
import { toJson } from '../../core/json.ts'
import { copyJson, isJsonObject, type Json, type JsonObject, textOf } from '../../core/messages.ts'
import type { PreparedCall } from '../../tools/arguments.ts'
import type { Lanes } from '../../tools/concurrency.ts'
import { resultText } from '../../tools/result-text.ts'
import type { AnyTool, JsonSchema, Reconciled, ToolContext } from '../../tools/tool.ts'
import { cancelledText, endOf, loggedFailure, type ToolCallEnd, type ToolCallEnvironment } from '../../tools/tool-runner.ts'
import { type Durable, type StepContext, type StepTags, tagsOf } from '../durable/journal.ts'
import { checkCall, checkResult, hasGuardrail } from '../hooks/guardrails.ts'
import { askAfterTool, askBeforeTool, type ToolTurn } from '../hooks/hooks.ts'
import { type Handover, handsOver, isHandover } from '../nested/handoff.ts'
import type { LiveRun } from '../run/run-context.ts'
import type { PendingItem, ToolCallRecord } from '../types.ts'
import { type PlannedCall, prepareInTime } from './prepare-calls.ts'

/** One call's end as it is recorded. */
export interface CallEnd {
  record: ToolCallRecord
  /** A guardrail ends the run: its name and why. */
  stop?: string
  /** Its tool hands the conversation to another agent. */
  handover?: Handover
  /** Its tool's result is the run's output. */
  final?: boolean
  question?: Pick<PendingItem, 'about' | 'schema'>
  interrupted?: 'aborted' | 'deadline'
}

/** How a round's calls are carried out. */
export interface CallTerms {
  lanes: Lanes
  /** An earlier execution got as far as starting this batch of calls and did not record this one's end. */
  mayHaveRun: boolean
  /** Called when the call has ended, before the next one may start. */
  ended(): void
}

/** One call on its way from the plan to its record. Its events are emitted here, inside the step, so a replay doesn't repeat them. */
export class CallInFlight {
  readonly #run: LiveRun
  #call: PlannedCall
  readonly #iteration: number
  readonly #step: StepContext
  readonly #tags: StepTags
  #startedAt: number | undefined
  #asked: Json | undefined

  constructor(run: LiveRun, call: PlannedCall, iteration: number, durable: Durable, key: string, step: StepContext) {
    this.#run = run
    this.#call = call
    this.#iteration = iteration
    this.#step = step
    this.#tags = tagsOf(durable, key)
  }

  /** `answer`: what was answered to the tool's question, and what that was. */
  async finish({ lanes, mayHaveRun, ended }: CallTerms, answer?: Json, asked?: Json): Promise<CallEnd> {
    this.#asked = asked
    const { refusal } = this.#call
    if (refusal !== undefined) return this.#refuse(refusal, ended)
    const call = this.#run.prepared.get(this.#call.id) ?? (await this.#prepareAgain())
    if ('code' in call) return this.#refuse(call, ended)
    await lanes.enter(call.tool.parallel === false)
    const unfollow = this.#step.signal === this.#run.signal ? undefined : this.#run.follow(this.#step.signal)
    try {
      if (this.#run.interruption !== undefined) return this.#reject('tool_cancelled', cancelledText(call.tool.name))
      if (mayHaveRun && this.#call.effect === 'unsafe') {
        const found = await this.#reconcile(call)
        if (found === undefined) return this.#record('uncertain', { content: uncertainText(call.tool.name), errorCode: 'tool_uncertain' })
        if (found.ran) return this.#end(call.tool, endOf(call.tool, found.value, this.#run.limits.maxResultBytes))
      }
      return await this.#execute(call, answer)
    } finally {
      unfollow?.()
      ended()
      lanes.leave()
      this.#run.prepared.delete(this.#call.id)
    }
  }

  async #execute(call: PreparedCall, answer: Json | undefined): Promise<CallEnd> {
    if (this.#run.settings.hooks === undefined) return this.#executeChecked(call, answer)
    const change = await askBeforeTool(this.#run, this.#turn(call))
    if (change !== undefined && 'refuse' in change) {
      return this.#reject('tool_denied', `The call to \`${call.tool.name}\` was refused: ${String(change.refuse)}`)
    }
    const ready = change !== undefined && 'args' in change ? await this.#prepareChanged(call, change.args, 'a hook') : call
    if ('code' in ready) return this.#reject(ready.code, ready.text)
    if (change === undefined || !('result' in change)) return this.#executeChecked(ready, answer)
    return this.#endChecked(ready, await this.#afterHooks(ready, this.#answered(ready, change.result)))
  }

  /** Runs the function, unless a guardrail is against it. */
  async #executeChecked(call: PreparedCall, answer: Json | undefined): Promise<CallEnd> {
    const { toolRunner, settings } = this.#run
    let ready = call
    if (hasGuardrail(this.#run, 'call')) {
      const turn = this.#turn(call)
      const checked = await checkCall(this.#run, turn)
      if (!checked.passed) {
        const end = this.#reject('tool_denied', `The call to \`${call.tool.name}\` was refused by ${checked.reason}`)
        return checked.how === 'stop' ? { ...end, stop: checked.reason } : end
      }
      if (checked.subject !== turn.args) {
        const changed = await this.#prepareChanged(call, checked.subject, 'a guardrail')
        if ('code' in changed) return this.#reject(changed.code, changed.text)
        ready = changed
      }
    }
    const end = await toolRunner.execute(ready, this.#environment(ready, answer))
    return this.#endChecked(ready, settings.hooks === undefined ? end : await this.#afterHooks(ready, end))
  }

  /** The call's end, with what guardrails let through of its result. */
  async #endChecked(call: PreparedCall, end: ToolCallEnd): Promise<CallEnd> {
    const isResult = end.outcome === 'ok' || end.outcome === 'failed' || end.outcome === 'timeout'
    if (!isResult || !hasGuardrail(this.#run, 'result')) return this.#end(call.tool, end)
    const checked = await checkResult(this.#run, { ...this.#turn(call), outcome: end.outcome, content: end.content })
    if (checked.passed && checked.subject === end.content) return this.#end(call.tool, end)
    const content = checked.passed ? checked.subject : `The result was withheld by ${checked.reason}`
    // What is not to be seen is not kept either: the value would be in the result.
    const shown = end.outcome === 'ok' ? { ...end, content, value: undefined } : { ...end, content: textOf(content) }
    const ended = this.#end(call.tool, shown, checked.passed ? end : shown)
    return !checked.passed && checked.how === 'stop' ? { ...ended, stop: checked.reason } : ended
  }

  async #prepareChanged({ tool }: PreparedCall, args: JsonObject, by: string): Promise<PreparedCall | { code: ErrorCode; text: string }> {
    const { signal, limits } = this.#run
    const repairs = [...(this.#call.repairs ?? []), `arguments changed by ${by}`]
    const changed = toJson(args)
    this.#call = { ...this.#call, args: isJsonObject(changed) ? changed : {}, repairs }
    const preparation = await prepareInTime(tool, JSON.stringify(changed), { timeoutMs: limits.toolTimeoutMs, signal })
    return preparation.ok ? preparation.call : { code: preparation.problem.code, text: preparation.problem.message }
  }

  /** The end of a call that a hook answered in place of the function. */
  #answered({ tool, args }: PreparedCall, value: unknown): ToolCallEnd {
    const meta = { iteration: this.#iteration, toolCallId: this.#call.id, ...this.#tags, ...this.#repairs() }
    this.#startedAt = performance.now()
    this.#run.emit(Event.TOOL_CALL_START, { tool: tool.name, args: copyJson(args) }, meta)
    return endOf(tool, value, this.#run.limits.maxResultBytes)
  }

  async #afterHooks(call: PreparedCall, end: ToolCallEnd): Promise<ToolCallEnd> {
    if (end.outcome === 'rejected' || end.outcome === 'question' || end.outcome === 'cancelled') return end
    const content = await askAfterTool(this.#run, { ...this.#turn(call), outcome: end.outcome, content: end.content })
    if (content === end.content) return end
    return end.outcome === 'ok' ? { ...end, content } : { ...end, content: textOf(content) }
  }

  #turn({ tool, args }: PreparedCall): ToolTurn<never> {
    const { runId, signal, settings } = this.#run
    const { id: toolCallId } = this.#call
    return {
      runId,
      iteration: this.#iteration,
      toolCallId,
      tool: tool.name,
      args: copyJson(args),
      context: settings.context as never,
      signal,
    }
  }

  #refuse({ code, text }: { code: ErrorCode; text: string }, ended: () => void): CallEnd {
    const end = this.#reject(code, text)
    ended()
    return end
  }

  /** The end of a call that the caller carried out, with what came of it. */
  settle(result: Json, isError: boolean, { ended }: CallTerms): CallEnd {
    const tool = this.#run.registry.get(this.#call.name)
    if (tool === undefined) return this.#refuse({ code: 'tool_not_found', text: this.#run.toolRunner.notFound(this.#call.name) }, ended)
    const meta = { iteration: this.#iteration, toolCallId: this.#call.id, ...this.#tags, ...this.#repairs() }
    this.#run.emit(Event.TOOL_CALL_START, { tool: tool.name, args: this.#call.args ?? {} }, meta)
    const end = endOf(tool, result, this.#run.limits.maxResultBytes)
    const failed =
      isError && end.outcome === 'ok'
        ? { ...end, outcome: 'failed' as const, code: 'tool_failed' as const, content: textOf(end.content) }
        : end
    const settled = this.#end(tool, failed)
    ended()
    return settled
  }

  /** The end of a call that waits for someone when the run has to end; `asked`: its tool has run as far as its question. */
  cancel(asked: boolean): CallEnd {
    const content = cancelledText(this.#call.name)
    if (!asked) return this.#reject('tool_cancelled', content)
    return this.#record('cancelled', { content, errorCode: 'tool_cancelled' })
  }

  /** The end of a call nobody could decide on: told as refused, its record says that the outcome is not known. */
  leaveUncertain(): null {
    this.#emitRejected(uncertainText(this.#call.name))
    return null
  }

  async #prepareAgain(): Promise<PreparedCall | { code: ErrorCode; text: string }> {
    const tool = this.#run.registry.get(this.#call.name)
    if (tool === undefined) return { code: 'tool_not_found', text: this.#run.toolRunner.notFound(this.#call.name) }
    const { signal, limits } = this.#run
    const preparation = await prepareInTime(tool, this.#call.rawArguments, {
      timeoutMs: limits.toolTimeoutMs,
      signal,
      asText: this.#call.asText === true,
    })
    return preparation.ok ? preparation.call : { code: preparation.problem.code, text: preparation.problem.message }
  }

  async #reconcile({ tool, args, input }: PreparedCall): Promise<Reconciled | undefined> {
    if (tool.reconcile === undefined) return undefined
    const { context } = this.#run.settings
    const { idempotencyKey } = this.#step
    const { runId, signal, logger } = this.#run
    const ids = { toolCallId: this.#call.id, runId, iteration: this.#iteration, idempotencyKey, attempt: 1 }
    const ctx: ToolContext<never> = { context: context as never, signal, ...ids, logger, progress() {} }
    try {
      const work = async () => tool.reconcile?.(input as never, ctx)
      return await this.#run.untilInterrupted(work())
    } catch (error) {
      const failure = loggedFailure({ tool, args }, error)
      logger.error({ ...ids, tool: tool.name, ...failure }, 'reconcile threw; whether the call took effect is not known')
      return undefined
    }
  }

  #environment({ tool: { name } }: PreparedCall, answer: Json | undefined): ToolCallEnvironment {
    const { runId, signal, logger, limits, settings } = this.#run
    const meta = { iteration: this.#iteration, toolCallId: this.#call.id, ...this.#tags }
    return {
      context: settings.context,
      ...(answer === undefined ? {} : { answer }),
      ...(this.#asked === undefined ? {} : { asked: this.#asked }),
      run: this.#run,
      signal,
      toolCallId: this.#call.id,
      runId,
      iteration: this.#iteration,
      idempotencyKey: this.#step.idempotencyKey,
      timeoutMs: limits.toolTimeoutMs,
      maxResultBytes: limits.maxResultBytes,
      logger,
      onStart: (args) => {
        this.#startedAt = performance.now()
        this.#run.emit(Event.TOOL_CALL_START, { tool: name, args }, { ...meta, ...this.#repairs() })
      },
      onProgress: (update) => this.#run.emit(Event.TOOL_PROGRESS, { tool: name, update }, meta),
    }
  }

  /** `before`: the end before guardrails changed what is shown of it. */
  #end(tool: AnyTool, end: ToolCallEnd, before: ToolCallEnd = end): CallEnd {
    if (end.outcome === 'rejected') return this.#reject(end.code, end.content)
    const durationMs = this.#startedAt === undefined ? 0 : performance.now() - this.#startedAt
    const content = end.outcome === 'question' ? resultText(end.question.about) : end.content
    const ok = end.outcome === 'ok' || end.outcome === 'question'
    const meta = { iteration: this.#iteration, toolCallId: this.#call.id, durationMs, ok, ...this.#tags }
    this.#run.emit(Event.TOOL_CALL_END, { tool: this.#call.name, result: textOf(content) }, meta)
    const { attempts } = end
    if (end.outcome === 'question') {
      const { about, schema } = end.question
      const question = { about: toJson(about), ...(schema === undefined ? {} : { schema: toJson(schema) as JsonSchema }) }
      return { ...this.#record('cancelled', { content, attempts, durationMs }), question }
    }
    if (end.outcome === 'ok' && end.value !== undefined) this.#run.values.set(this.#call.id, end.value)
    const code = end.outcome === 'ok' ? {} : { errorCode: end.code }
    const recorded = this.#record(end.outcome, { content, attempts, durationMs, ...code })
    if (handsOver(tool) && before.outcome === 'ok' && isHandover(before.value)) return { ...recorded, handover: before.value }
    return tool.final === true ? { ...recorded, final: true } : recorded
  }

  #reject(code: ErrorCode, error: string): CallEnd {
    this.#emitRejected(error)
    return this.#record(outcomes[code] ?? 'rejected', { content: error, errorCode: code })
  }

  #emitRejected(error: string): void {
    const { id: toolCallId, name: tool, args, rawArguments } = this.#call
    this.#run.emit(
      Event.TOOL_CALL_REJECTED,
      { tool, args: args ?? rawArguments, error },
      { iteration: this.#iteration, toolCallId, ...this.#tags, ...this.#repairs() },
    )
  }

  /** A copy for each audience: a listener may do with it what it likes. */
  #repairs(): { repairs?: string[] } {
    const { repairs } = this.#call
    return repairs === undefined ? {} : { repairs: [...repairs] }
  }

  #record(outcome: ToolCallRecord['outcome'], rest: Pick<ToolCallRecord, 'content'> & Partial<ToolCallRecord>): CallEnd {
    const { id, name, args, rawArguments, repairs } = this.#call
    const nested = this.#run.budget.spentIn(id)
    const record: ToolCallRecord = {
      id,
      tool: name,
      ...(args === undefined ? {} : { args }),
      rawArguments,
      iteration: this.#iteration,
      outcome,
      durationMs: 0,
      attempts: 0,
      ...rest,
      ...(repairs === undefined ? {} : { repairs }),
      ...(nested === undefined ? {} : { nested }),
    }
    const { interruption } = this.#run
    return interruption === undefined || outcome !== 'cancelled' ? { record } : { record, interrupted: interruption }
  }
}

/** Why a call was not run, as its record says it. */
const outcomes: Partial<Record<ErrorCode, ToolCallRecord['outcome']>> = {
  tool_denied: 'denied',
  tool_cancelled: 'cancelled',
  tool_call_truncated: 'truncated',
}

function uncertainText(tool: string): string {
  return `The run was interrupted while \`${tool}\` was running. Whether it took effect is not known.`
}
