import { ModelError, ToolloopError } from '../../core/errors.ts'
import { Event } from '../../core/events.ts'
import { addUsage, type ChatMessage, copyJson, type Usage } from '../../core/messages.ts'
import { type ModelRequest, type ModelResponse, type Sampling, type ToolChoice, toModelError } from '../../models/chat-model.ts'
import { usageOfFailure, withCost } from '../../models/usage.ts'
import type { ToolSet } from '../../tools/registry.ts'
import { notFoundText } from '../../tools/told.ts'
import { type Plan, planCalls, prepareInTime } from '../calls/prepare-calls.ts'
import { needsApproval } from '../decisions/approvals.ts'
import { type StepTags, tagsOf } from '../durable/journal.ts'
import type { Turn } from '../recorded.ts'
import type { Execution, Place } from '../run/execution.ts'
import type { RunStep } from '../run/result.ts'
import type { ReadResponse } from '../text-calls/read-call.ts'
import type { RunSettings } from '../types.ts'
import type { Asked, TurnRequest } from './model-call.ts'
import { TurnSink } from './send-request.ts'

/**
 * Asks the model once, as the step `${iteration}.model`, and plans the calls it made. Never rejects for a fault of the model. `attempt`
 * counts the turns of one iteration.
 */
export function takeTurn(execution: Execution, place: Place, attempt = 1): Promise<Turn> {
  const { durable, run } = execution
  const { iteration, lastTurn } = place
  const name = `${iteration}.${lastTurn === undefined ? 'model' : 'answer'}`
  const key = attempt === 1 ? name : `${name}.${attempt}`
  return durable.step(key, async (step) => {
    const unfollow = step.signal === run.signal ? undefined : run.follow(step.signal)
    try {
      if (run.interruption !== undefined) return { kind: 'interrupted', why: run.interruption, text: '', unasked: true }
      const asked = await buildTurn(execution, place)
      return await new ModelTurn(execution, iteration, key, asked).finish()
    } finally {
      unfollow?.()
    }
  })
}

class ModelTurn {
  readonly #execution: Execution
  readonly #asked: TurnRequest
  readonly #meta: { iteration: number } & StepTags
  readonly #key: string
  readonly #startedAt = performance.now()
  readonly #sink: TurnSink

  constructor(execution: Execution, iteration: number, key: string, asked: TurnRequest) {
    this.#execution = execution
    this.#asked = asked
    this.#meta = { iteration, ...tagsOf(execution.durable, key) }
    this.#key = key
    this.#sink = new TurnSink(execution.run, this.#meta)
  }

  async finish(): Promise<Turn> {
    const { run, layers } = this.#execution
    const { provider, model } = this.#asked.model
    run.emit(Event.MODEL_START, { provider, model }, this.#meta)
    try {
      const response = await layers.askModel({ ...this.#asked, iteration: this.#meta.iteration, sink: undefined, turn: this.#sink })
      return await this.#read(response)
    } catch (thrown) {
      if (run.interruption === undefined) return this.#failed(thrown)
      const partial = ModelError.isInstance(thrown) ? partialOf(thrown) : undefined
      const text = this.#sink.partialText(partial?.text)
      return { kind: 'interrupted', why: run.interruption, text, ...this.#spent(usageOfFailure(thrown), this.#sink.usedBefore) }
    }
  }

  async #read(response: ReadResponse): Promise<Turn> {
    const { run, layers } = this.#execution
    const { provider, model } = this.#asked.model
    const { finishReason, providerData } = response
    const plan = await this.#plan(response)
    const step = this.#step(
      response,
      plan.calls.map(({ id }) => id),
    )
    const end = { provider, model, finishReason: step.finishReason, ...(step.usage === undefined ? {} : { usage: step.usage }) }
    run.emit(Event.MODEL_END, end, { ...this.#meta, durationMs: step.durationMs })
    if (plan.calls.length === 0 && (finishReason === 'refusal' || finishReason === 'content_filter')) {
      const text = this.#sink.isHeld ? '' : response.text
      const declined = `The model declined to answer${text === '' ? '' : `: ${text}`}`
      const message = finishReason === 'refusal' ? declined : 'The response was stopped by a content filter'
      return this.#refused(new ModelError(finishReason, message, { provider, model, retryable: false }), text, step)
    }
    const { text, answer, objection, calls, planned, isWithheld, stop, isUnchecked } =
      layers.review === undefined
        ? { text: response.text, ...plan }
        : await layers.review({ response, plan, step, request: this.#asked.request, meta: this.#meta, isHeld: this.#sink.isHeld })
    if (isUnchecked && run.interruption !== undefined) {
      const shown = this.#sink.isHeld ? '' : response.text
      return { kind: 'interrupted', why: run.interruption, text: shown, ...this.#spent(response.usage) }
    }
    if (stop !== undefined) return this.#refused(new ToolloopError('guardrail', `The run was stopped by ${stop}`), '', step)
    // A copy: the history freezes what it holds, and this is the model's own. What was withheld must not go out by another way.
    const opaque = providerData === undefined || isWithheld ? {} : { providerData: copyJson(providerData) }
    const message: ChatMessage =
      calls.length === 0
        ? { role: 'assistant', content: text, ...opaque }
        : { role: 'assistant', content: text, toolCalls: calls, ...opaque }
    return { kind: 'reply', message, text: answer ?? text, planned, step, ...(objection === undefined ? {} : { objection }) }
  }

  async #plan({ toolCalls, finishReason }: ReadResponse): Promise<Plan> {
    if (toolCalls.length === 0) return { calls: [], planned: [], prepared: new Map() }
    const { run, state } = this.#execution
    const { tools } = this.#asked
    const { signal } = run
    const { toolTimeoutMs: timeoutMs, maxArgumentValues: maxValues } = run.limits
    const plan = await planCalls({
      calls: toolCalls,
      finishReason,
      registry: tools,
      notFound: (name) => notFoundText(name, tools.names()),
      withUniqueIds: (calls) => state.history.withUniqueIds(calls),
      prepare: (tool, raw, { asText }) => prepareInTime(tool, raw, { timeoutMs, signal, asText, maxValues }),
      needsApproval: async (call) => (call.tool.approval === undefined ? false : needsApproval(run, state.remembered, call)),
    })
    for (const [id, call] of plan.prepared) run.prepared.set(id, call)
    return plan
  }

  #step(response: ModelResponse, toolCalls: string[]): RunStep {
    const { provider, model, capabilities } = this.#asked.model
    const { firstPieceAt } = this.#sink
    const firstPieceMs = response.timeToFirstTokenMs ?? (firstPieceAt === undefined ? undefined : firstPieceAt - this.#startedAt)
    return {
      iteration: this.#meta.iteration,
      provider: response.provider ?? provider,
      model: response.model ?? model,
      ...(response.usage === undefined ? {} : { usage: withCost(response.usage, capabilities) }),
      finishReason: toolCalls.length > 0 && response.finishReason !== 'length' ? 'tool_calls' : response.finishReason,
      durationMs: performance.now() - this.#startedAt,
      ...(firstPieceMs === undefined ? {} : { timeToFirstTokenMs: firstPieceMs }),
      retries: response.retries ?? 0,
      warnings: response.warnings ?? [],
      toolCalls,
    }
  }

  #refused(error: ModelError | ToolloopError, text: string, step: RunStep): Turn {
    this.#execution.run.errors.set(this.#key, error)
    return { kind: 'refused', text, step, error: { code: error.code, message: error.message } }
  }

  #failed(thrown: unknown): Turn {
    const { run } = this.#execution
    const { provider, model } = this.#asked.model
    const error = toModelError(thrown, provider, model)
    run.errors.set(this.#key, error)
    run.logger.error({ runId: run.runId, provider, model, iteration: this.#meta.iteration, error }, 'model request failed')
    return {
      kind: 'failed',
      text: this.#sink.partialText(partialOf(error)?.text),
      ...this.#spent(usageOfFailure(error), this.#sink.usedBefore),
      error: { code: error.code, message: error.message },
    }
  }

  /** What a turn without a response has used: requests that came to nothing are paid for all the same. */
  #spent(...parts: (Usage | undefined)[]): { usage?: Usage } {
    const known = parts.filter((usage) => usage !== undefined)
    if (known.length === 0) return {}
    return { usage: withCost(known.reduce(addUsage), this.#asked.model.capabilities) }
  }
}

function partialOf(error: ToolloopError): ModelError['partial'] {
  return error instanceof ModelError ? error.partial : undefined
}

/** What of a run's settings a request says. */
type RequestSettings = Sampling & Pick<RunSettings, 'stream' | 'streamIdleTimeoutMs' | 'providerOptions'>

/** What the turn asks, once hooks have changed it. */
async function buildTurn({ run, state, layers }: Execution, { iteration, lastTurn }: Place): Promise<TurnRequest> {
  const { settings } = run
  // In a last turn nothing can be called, whoever says what.
  const forced: ToolChoice | undefined = lastTurn === undefined ? undefined : 'none'
  const { messages } = state.history
  const before: Asked = { model: run.modelForTurn(), tools: run.offered, messages, toolChoice: forced ?? settings.toolChoice }
  const changed = layers.changeTurn === undefined ? before : await layers.changeTurn(before, iteration)
  const asked = forced === undefined ? changed : { ...changed, toolChoice: forced }
  const request = requestOf(settings, asked.messages, run.signal)
  if (layers.formatAnswer !== undefined) return layers.formatAnswer(asked, request, forced !== undefined || state.objections > 0)
  setTools(request, settings, asked.tools, asked.toolChoice)
  return { model: asked.model, tools: asked.tools, request }
}

/** Makes the request offer tools, where there are any. */
export function setTools(
  request: ModelRequest,
  { parallelToolCalls }: Pick<RunSettings, 'parallelToolCalls'>,
  tools: ToolSet,
  choice: ToolChoice | undefined,
): void {
  if (tools.size === 0) return
  request.tools = tools.getAllSpecs()
  // A tool that a hook or a handoff has taken away can't be asked for.
  const isThere = typeof choice !== 'object' || tools.get(choice.function.name) !== undefined
  if (choice !== undefined && isThere) request.toolChoice = choice
  if (parallelToolCalls !== undefined) request.parallelToolCalls = parallelToolCalls
}

/** A request without tools, as the settings say. What nobody chose is left to the driver. */
export function requestOf(settings: RequestSettings, messages: readonly ChatMessage[], signal: AbortSignal | undefined): ModelRequest {
  const { temperature, topP, maxOutputTokens, stop, seed, frequencyPenalty, presencePenalty, reasoningEffort } = settings
  const { streamIdleTimeoutMs, providerOptions } = settings
  const sampling: Sampling = { temperature, topP, maxOutputTokens, stop, seed, frequencyPenalty, presencePenalty, reasoningEffort }
  const request: ModelRequest = { messages }
  for (const [name, value] of Object.entries({ signal, ...sampling, streamIdleTimeoutMs, providerOptions }))
    if (value !== undefined) Object.assign(request, { [name]: value })
  if (settings.stream === false) request.stream = false
  return request
}
