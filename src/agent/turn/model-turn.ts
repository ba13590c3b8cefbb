import { type ErrorCode, ModelError, readableError, type ToolloopError } from '../../core/errors.ts'
import { Event, type EventPayloads, type FinishReason } from '../../core/events.ts'
import { copyAsJson } from '../../core/json.ts'
import { withWholeArguments } from '../../core/message-input.ts'
import {
  type AssistantMessage,
  addUsage,
  copyJson,
  type JsonObject,
  legalName,
  type ToolCall,
  type Usage,
  wellFormed,
  withoutUndefined,
} from '../../core/messages.ts'
import { answerIn, type ToolChoice, toModelError } from '../../models/chat-model.ts'
import { usageOfFailure, withCost } from '../../models/usage.ts'
import { type ArgumentTerms, innerArguments, type PreparedCall, prepareArguments } from '../../tools/arguments.ts'
import type { ToolSet } from '../../tools/registry.ts'
import { notFoundText } from '../../tools/told.ts'
import { HookFailure, RequestStopped } from '../callbacks/failures.ts'
import type { StepTags } from '../journal/journal.ts'
import { BudgetSpentError } from '../limits/budget.ts'
import { tagsOf } from '../run/run-context.ts'
import { earlierText } from '../run/run-state.ts'
import { turnStep } from '../step-keys.ts'
import { type OpenedCall, openCalls } from '../text-calls/find-tools.ts'
import type { ReadCall, ReadResponse } from '../text-calls/read-call.ts'
import { callNothingNowText, onlyCallableText, quotedText, truncatedText, unreadableText } from '../told.ts'
import type { Execution, Place } from '../types/execution.ts'
import type { TurnRequest } from '../types/model-call.ts'
import type { Failed, Plan, PlannedCall, Reply, Turn } from '../types/recorded.ts'
import type { RunStep } from '../types/result.ts'
import type { ReviewedReply } from '../types/review.ts'
import { needsApproval } from './needs-approval.ts'
import { buildTurn } from './request.ts'
import { TurnSink } from './turn-sink.ts'

/**
 * Asks the model once, as one step, and plans the calls it made. Never rejects for a fault of the model. `suffix`
 * tells the turns of one iteration apart.
 */
export function takeTurn(execution: Execution, place: Place, suffix = ''): Promise<Turn> {
  const { durable, run } = execution
  const { iteration, lastTurn } = place
  const key = turnStep(iteration, lastTurn !== undefined, suffix)
  return durable.step(key, async (step) => {
    const unfollow = step.signal === run.signal ? undefined : run.follow(step.signal)
    try {
      if (run.interruption !== undefined) return { kind: 'interrupted', why: run.interruption, text: '', unasked: true }
      const turn = await new ModelTurn(execution, place, key, await buildTurn(execution, place)).take()
      return { ...turn, ...run.budget.beside }
    } catch (error) {
      if (!(error instanceof HookFailure || error instanceof RequestStopped)) throw error
      run.errors.set(key, error)
      return { kind: 'refused', text: '', error: { code: error.code, message: error.message }, ...run.budget.beside }
    } finally {
      unfollow?.()
    }
  })
}

class ModelTurn {
  readonly #execution: Execution
  readonly #asked: TurnRequest
  readonly #after: Failed | undefined
  readonly #meta: { iteration: number } & StepTags
  readonly #key: string
  readonly #startedAt = performance.now()
  readonly #sink: TurnSink

  constructor(execution: Execution, { iteration, after }: Place, key: string, asked: TurnRequest) {
    this.#execution = execution
    this.#asked = asked
    this.#after = after
    this.#meta = { iteration, ...tagsOf(execution.durable, key) }
    this.#key = key
    this.#sink = new TurnSink(execution.run, asked, this.#meta, execution.state.history)
  }

  async take(): Promise<Turn> {
    const { run, layers, state } = this.#execution
    const { model, tools, request } = this.#asked
    const { iteration } = this.#meta
    const continues = state.continuations > 0
    if (this.#after !== undefined) this.#tellRetry(this.#after)
    run.events.emit(Event.MODEL_START, { provider: model.provider, model: model.model, ...(continues ? { continues } : {}) }, this.#meta)
    try {
      const response = await layers.askModel({ model, tools, request, iteration, continues, sink: undefined, turn: this.#sink })
      this.#sink.close()
      return await this.#reply(withWholeCharacters(response))
    } catch (error) {
      const thrown = readableError(error)
      this.#sink.close()
      if (thrown instanceof BudgetSpentError) {
        const spent = this.#spent(this.#sink.usedBefore)
        this.#end({ finishReason: 'error', errorCode: thrown.code, ...spent })
        const isLimit = thrown.option === 'limits' ? { isLimit: true as const } : {}
        return { kind: 'unpaid', text: '', about: aboutBudget(thrown), ...isLimit, ...spent }
      }
      if (thrown instanceof HookFailure) {
        const spent = this.#spent(thrown.usage, this.#sink.usedBefore)
        this.#end({ finishReason: 'error', errorCode: thrown.code, ...spent })
        return this.#refused(thrown, '', spent)
      }
      if (run.interruption === undefined) return this.#failed(thrown)
      const partial = ModelError.isInstance(thrown) ? partialOf(thrown) : undefined
      const text = this.#sink.partialText(partial?.text)
      const spent = this.#spent(usageOfFailure(thrown), this.#sink.usedBefore)
      this.#end({ finishReason: 'error', errorCode: run.interruption, ...spent })
      return { kind: 'interrupted', why: run.interruption, text, ...spent }
    }
  }

  async #reply(response: ReadResponse): Promise<Turn> {
    const { run, layers, state } = this.#execution
    const { finishReason, providerData } = response
    const plan = response.toolCalls.length === 0 ? { calls: [], planned: [] } : await this.#plan(response)
    const step = this.#step(response, plan)
    const { usage } = step
    this.#end({ finishReason: step.finishReason, ...withoutUndefined({ usage }) }, step.durationMs)
    if (plan.calls.length === 0 && (finishReason === 'refusal' || finishReason === 'content_filter')) {
      const text = this.#sink.isHeld ? '' : response.text
      const declined = `The model declined to answer${text === '' ? '' : `: ${text}`}`
      const message = finishReason === 'refusal' ? declined : 'The response was stopped by a content filter'
      const { provider, model } = this.#asked.model
      return this.#refused(new ModelError(finishReason, message, { provider, model, retryable: false }), text, { step })
    }
    const { isHeld, streamed } = this.#sink
    const { request } = this.#asked
    const earlier = earlierText(state)
    const saysNothing = earlier !== '' && response.text.trim() === ''
    const mayBeCut = plan.calls.length === 0 && (finishReason === 'length' || saysNothing)
    const { text, answer, objection, isCut, calls, planned, isWithheld, stop, isUnchecked }: ReviewedReply =
      layers.review === undefined
        ? { ...plan, text: response.text, isCut: mayBeCut }
        : await layers.review({ response, plan, step, request, meta: this.#meta, isHeld, streamed, earlier, mayBeCut })
    if (isUnchecked && run.interruption !== undefined) {
      const text = isHeld ? (streamed?.shown ?? '') : response.text
      return { kind: 'interrupted', why: run.interruption, text, ...this.#spent(response.usage) }
    }
    if (stop !== undefined) return this.#refused(stop, streamed?.shown ?? '', { step })
    const message: AssistantMessage =
      calls.length === 0 ? { role: 'assistant', content: text } : { role: 'assistant', content: text, toolCalls: calls }
    // A copy: the history freezes what it holds, and this is the model's own. What was withheld must not go out by another way.
    if (providerData !== undefined && !isWithheld) message.providerData = copyJson(providerData)
    const reply: Reply = { kind: 'reply', message, planned, step }
    if (answer !== undefined) reply.answer = answer
    // A text that is continued stays whole.
    else if (response.answer !== undefined && !isCut && earlier === '') reply.answer = answerIn(response, text)
    if (objection !== undefined) reply.objection = objection
    if (isCut) reply.isCut = true
    return reply
  }

  #tellRetry({ error, shown }: Failed): void {
    const { provider, model } = this.#asked.model
    const retry = { provider, model, errorCode: error.code, error: error.message, delayMs: 0 }
    this.#execution.run.events.emit(Event.MODEL_RETRY, shown === undefined ? retry : { ...retry, discards: true }, this.#meta)
  }

  /** Tells how the request ended. */
  #end(end: Omit<EventPayloads['MODEL_END'], 'provider' | 'model'>, durationMs: number = performance.now() - this.#startedAt): void {
    const { run } = this.#execution
    const { provider, model } = this.#asked.model
    if (run.events.hears(Event.MODEL_END)) run.events.emit(Event.MODEL_END, { provider, model, ...end }, { ...this.#meta, durationMs })
    run.logStep(() => ({ iteration: this.#meta.iteration, provider, model, ...end, durationMs }), 'model request ended')
  }

  #plan({ toolCalls: calls, finishReason }: ReadResponse): Promise<Plan> {
    const { run, state } = this.#execution
    const { toolTimeoutMs: timeoutMs, maxArgumentValues: maxValues } = run.limits
    return planCalls({
      calls,
      finishReason,
      registry: this.#asked.tools,
      choice: this.#asked.request.toolChoice,
      uniqueIds: () => state.history.uniqueIds(),
      terms: { timeoutMs, maxValues, signal: run.signal, asNative: true },
      needsApproval: (call) => needsApproval(run, state.remembered, call),
      prepared: run.prepared,
    })
  }

  #step(response: ReadResponse, { calls }: Plan): RunStep {
    const { provider, model, capabilities } = this.#asked.model
    const api = response.api ?? this.#asked.model.api
    const { firstPieceAt } = this.#sink
    const { waitedMs } = response
    const sinceAsked = firstPieceAt === undefined ? undefined : firstPieceAt - this.#startedAt - (waitedMs ?? 0)
    return {
      iteration: this.#meta.iteration,
      provider: response.provider ?? provider,
      model: response.model ?? model,
      ...(api ? { api } : {}),
      ...withoutUndefined({ usage: response.usage && withCost(response.usage, capabilities) }),
      finishReason: calls.length > 0 && response.finishReason !== 'length' ? 'tool_calls' : response.finishReason,
      durationMs: performance.now() - this.#startedAt,
      retries: response.retries ?? 0,
      warnings: response.warnings ?? [],
      toolCalls: calls.map(({ id, function: { name } }) => ({ id, tool: name })),
      ...withoutUndefined({ waitedMs, timeToFirstTokenMs: response.timeToFirstTokenMs ?? sinceAsked }),
    }
  }

  #refused(error: ToolloopError, text: string, spent: { step?: RunStep; usage?: Usage }): Turn {
    this.#execution.run.errors.set(this.#key, error)
    return { kind: 'refused', text, ...spent, error: { code: error.code, message: error.message } }
  }

  #failed(thrown: unknown): Turn {
    const { run } = this.#execution
    const { provider, model } = this.#asked.model
    const error = toModelError(thrown, provider, model)
    run.errors.set(this.#key, error)
    run.logger.error({ runId: run.runId, provider, model, iteration: this.#meta.iteration, error }, 'model request failed')
    const spent = this.#spent(usageOfFailure(error), this.#sink.usedBefore)
    this.#end({ finishReason: 'error', errorCode: error.code, ...spent })
    const { shown } = this.#sink
    return {
      kind: 'failed',
      text: this.#sink.partialText(partialOf(error)?.text),
      ...spent,
      error: { code: error.code, message: error.message },
      ...withoutUndefined({ shown }),
    }
  }

  /** What a turn without a response has used: requests that came to nothing are paid for all the same. */
  #spent(...parts: (Usage | undefined)[]): { usage?: Usage } {
    const known = parts.filter((usage) => usage !== undefined)
    if (known.length === 0) return {}
    return { usage: withCost(known.reduce(addUsage), this.#asked.model.capabilities) }
  }
}

/** Before it is recorded, and before its calls run. */
function withWholeCharacters(response: ReadResponse): ReadResponse {
  const whole = wellFormed(response)
  return whole.toolCalls.length === 0 ? whole : { ...whole, toolCalls: whole.toolCalls.map(withWholeArguments) }
}

function aboutBudget({ spent, limits }: BudgetSpentError): JsonObject {
  return copyAsJson({ spent, limits }) as never
}

function partialOf(error: ToolloopError): ModelError['partial'] {
  return error instanceof ModelError ? error.partial : undefined
}

export interface PlanInput {
  calls: readonly ReadCall[]
  finishReason: FinishReason
  registry: ToolSet
  /** What the request said may be called; not every provider holds a model to it. */
  choice: ToolChoice | undefined
  uniqueIds(): (given: string, index: number) => string
  /** How arguments are read. */
  terms: ArgumentTerms
  /** Asked only for a tool that may need one. */
  needsApproval(call: PreparedCall): Promise<boolean>
  /** Takes what is needed to run the calls, by id. Not recorded: made again from the plan after a crash. */
  prepared: Map<string, PreparedCall>
}

/**
 * PREPARE: finds each call's tool, parses and validates its arguments, and decides whether it runs, needs an approval, is the caller's, or is
 * refused. Never throws.
 */
export async function planCalls(input: PlanInput): Promise<Plan> {
  const uniqueId = input.uniqueIds()
  const calls: ToolCall[] = []
  const plans = findTools(input.calls, input.registry).map((one, index) => {
    const { name, arguments: json } = one.call.function
    const id = uniqueId(one.call.id, index)
    // Sent back as arguments that were encoded twice, they would be none to most servers.
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
  return mayNeedOne && (await input.needsApproval(prepared)) ? { ...planned, approval: true } : planned
}

function refuse({ args: _, ...call }: PlannedCall, code: ErrorCode, text: string, args?: JsonObject): PlannedCall {
  return { ...call, ...withoutUndefined({ args }), refusal: { code, text } }
}

/** The calls with their tools. Most name one as it is called; the others are looked at more closely. */
function findTools(calls: readonly ReadCall[], registry: ToolSet): OpenedCall[] {
  const found: OpenedCall[] = []
  for (const call of calls) {
    const tool = registry.get(call.function.name)
    if (tool === undefined || registry.opened !== undefined) return openCalls(calls, registry)
    found.push({ call, tool, repairs: call.repairs ?? [] })
  }
  return found
}
