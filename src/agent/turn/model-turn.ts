import pTimeout from 'p-timeout'
import { syncAnswer } from '../../core/callbacks/callbacks.ts'
import { digestOf } from '../../core/digest.ts'
import { ModelError, readableError, show, type ToolloopError } from '../../core/errors.ts'
import { Event, type EventPayloads, type FinishReason } from '../../core/events.ts'
import { copyAsJson } from '../../core/json.ts'
import {
  type AssistantMessage,
  addUsage,
  type ChatMessage,
  copyJson,
  isJsonObject,
  type JsonObject,
  type Usage,
  wellFormed,
  withoutUndefined,
  withWholeArguments,
} from '../../core/messages.ts'
import { giveWay } from '../../core/time/give-way.ts'
import {
  abortedError,
  answerIn,
  type ChatModel,
  isModelError,
  type ModelRequest,
  type ModelResponse,
  type Sampling,
  samplingNames,
  type ToolChoice,
  toModelError,
  withoutDeclinedCalls,
} from '../../models/chat-model.ts'
import { havingWaited, sumOfUsage, usageOfFailure, withCost, withReceived, withWholeUsage } from '../../models/usage.ts'
import type { ToolSet } from '../../tools/registry.ts'
import { HookFailure } from '../callbacks/callbacks.ts'
import { planCalls } from '../calls/tool-call.ts'
import { needsApproval } from '../calls/waiting/verdict.ts'
import type { StepTags } from '../journal/journal.ts'
import { BudgetSpentError } from '../limits/budget.ts'
import { type RunContext, tagsOf } from '../run/run-context.ts'
import { earlierText } from '../run/run-state.ts'
import { continueText } from '../run-texts.ts'
import { turnStep } from '../step-keys.ts'
import type { ReadResponse } from '../text-calls/read-call.ts'
import type { Execution, Place } from '../types/execution.ts'
import type { AroundModel, AskModel, TurnRequest, WrittenCalls } from '../types/model-call.ts'
import type { RunSettings } from '../types/options.ts'
import type { ReplyInPlan, RequestInPlan } from '../types/plan.ts'
import type { Failed, Plan, Reply, Turn } from '../types/recorded.ts'
import type { RunStep } from '../types/result.ts'
import { TurnSink } from './turn-sink.ts'

/** Asks the model once, in one step, and plans the calls of the response. If the model fails, resolves with a failed turn. */
export function takeTurn(execution: Execution, place: Place): Promise<Turn> {
  const { durable, run } = execution
  const { iteration, lastTurn, suffix } = place
  const key = turnStep(iteration, lastTurn !== undefined, suffix)
  return durable.step(key, async (step) => {
    const unfollow = step.signal === run.signal ? undefined : run.follow(step.signal)
    try {
      if (run.interruption !== undefined) return { kind: 'interrupted', why: run.interruption, text: '', unasked: true }
      const asked = await buildTurn(execution, place)
      const turn = 'stop' in asked ? refused(run, key, asked.stop) : await new ModelTurn(execution, place, key, asked).take()
      return Object.assign(turn, run.budget.beside)
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
        return refused(run, this.#key, thrown, '', spent)
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
    const { request, tools } = this.#asked
    const plan = await planResponse(this.#execution, response, tools, request.toolChoice)
    const step = this.#step(response, plan)
    const { usage, durationMs } = step
    this.#end(usage === undefined ? { finishReason: step.finishReason } : { finishReason: step.finishReason, usage }, durationMs)
    if (plan.calls.length === 0 && (finishReason === 'refusal' || finishReason === 'content_filter')) {
      const text = this.#sink.isHeld ? '' : response.text
      const declined = `The model declined to answer${text === '' ? '' : `: ${text}`}`
      const message = finishReason === 'refusal' ? declined : 'The response was stopped by a content filter'
      const { provider, model } = this.#asked.model
      return refused(run, this.#key, new ModelError(finishReason, message, { provider, model, retryable: false }), text, { step })
    }
    const { isHeld, streamed } = this.#sink
    const earlier = earlierText(state)
    const saysNothing = earlier !== '' && response.text.trim() === ''
    const mayBeCut = plan.calls.length === 0 && (finishReason === 'length' || saysNothing)
    const said: ReplyInPlan = {
      ...plan,
      response,
      request,
      meta: this.#meta,
      streamed,
      earlier,
      step,
      text: response.text,
      isCut: mayBeCut,
    }
    const decided = layers.planReply === undefined ? said : await layers.planReply(said)
    const { text, calls, planned, answer, isCut } = decided
    const { stop, objection } = decided.end ?? {}
    // An interrupted run may have skipped a check of the text.
    if (run.interruption !== undefined && (isHeld || objection !== undefined)) {
      const text = isHeld ? (streamed?.shown ?? '') : response.text
      return { kind: 'interrupted', why: run.interruption, text, ...this.#spent(response.usage) }
    }
    if (stop !== undefined) return refused(run, this.#key, stop, streamed?.shown ?? '', { step })
    const isWithheld = isHeld && (text !== response.text || calls !== plan.calls)
    const message: AssistantMessage =
      calls.length === 0 ? { role: 'assistant', content: text } : { role: 'assistant', content: text, toolCalls: calls }
    // `providerData` is copied, because the history freezes its messages and the object belongs to the model. It may contain text, so it is
    // left out if text was withheld.
    if (providerData !== undefined && !isWithheld) message.providerData = copyJson(providerData)
    const reply: Reply = { kind: 'reply', message, planned, step: decided.step }
    if (answer !== undefined) reply.answer = answer
    // `answer` is not set for a text that is cut off or continued, because that text must stay complete.
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

  #end(end: Omit<EventPayloads['MODEL_END'], 'provider' | 'model'>, durationMs: number = performance.now() - this.#startedAt): void {
    const { run } = this.#execution
    const { provider, model } = this.#asked.model
    if (run.events.hears(Event.MODEL_END)) run.events.emit(Event.MODEL_END, { provider, model, ...end }, { ...this.#meta, durationMs })
    run.logStep(() => ({ iteration: this.#meta.iteration, provider, model, ...end, durationMs }), 'model request ended')
  }

  #step(response: ReadResponse, { calls }: Plan): RunStep {
    const { provider, model, capabilities } = this.#asked.model
    const api = response.api ?? this.#asked.model.api
    const { firstPieceAt } = this.#sink
    const { waitedMs } = response
    const sinceAsked = firstPieceAt === undefined ? undefined : firstPieceAt - this.#startedAt - (waitedMs ?? 0)
    const timeToFirstTokenMs = response.timeToFirstTokenMs ?? sinceAsked
    const step: RunStep = {
      iteration: this.#meta.iteration,
      provider: response.provider ?? provider,
      model: response.model ?? model,
      finishReason: calls.length > 0 && response.finishReason !== 'length' ? 'tool_calls' : response.finishReason,
      durationMs: performance.now() - this.#startedAt,
      retries: response.retries ?? 0,
      warnings: response.warnings ?? [],
      toolCalls: calls.map(({ id, function: { name } }) => ({ id, tool: name })),
    }
    if (api) step.api = api
    if (response.usage !== undefined) step.usage = withCost(response.usage, capabilities)
    if (waitedMs !== undefined) step.waitedMs = waitedMs
    if (timeToFirstTokenMs !== undefined) step.timeToFirstTokenMs = timeToFirstTokenMs
    return step
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

  /** The usage of a turn without a response. Failed requests count, because providers charge for them, too. */
  #spent(...parts: (Usage | undefined)[]): { usage?: Usage } {
    const known = parts.filter((usage) => usage !== undefined)
    if (known.length === 0) return {}
    return { usage: withCost(known.reduce(addUsage), this.#asked.model.capabilities) }
  }
}

/** Creates the turn of a request or response that was refused. `key`: the key of the turn's step. */
function refused(run: RunContext, key: string, error: ToolloopError, text = '', spent: { step?: RunStep; usage?: Usage } = {}): Turn {
  run.errors.set(key, error)
  return { kind: 'refused', text, ...spent, error: { code: error.code, message: error.message } }
}

/** PREPARE: plans the calls of a response. `choice`: the tool choice of the request. */
export function planResponse(
  { run, state }: Execution,
  { toolCalls: calls, finishReason }: Pick<ReadResponse, 'toolCalls' | 'finishReason'>,
  registry: ToolSet,
  choice?: ToolChoice,
): Promise<Plan> {
  if (calls.length === 0) return Promise.resolve({ calls, planned: [] })
  const { toolTimeoutMs: timeoutMs, maxArgumentValues: maxValues } = run.limits
  return planCalls({
    calls,
    finishReason,
    registry,
    choice,
    uniqueIds: () => state.history.uniqueIds(),
    terms: { timeoutMs, maxValues, signal: run.signal, asNative: true },
    isPreview: run.settings.effects === 'preview',
    needsApproval: (call) => needsApproval(run, state.remembered, call),
    prepared: run.prepared,
  })
}

/** Replaces lone surrogates before the response is recorded and its calls run. */
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

/** Builds the request of the turn, and lets the plan change it. Returns `stop` if the plan says that nothing is sent. */
export async function buildTurn(
  { run, state, layers, request: shared }: Execution,
  { iteration, lastTurn }: Place,
): Promise<TurnRequest | { stop: ToolloopError }> {
  const { settings } = run
  const isLast = lastTurn !== undefined
  const chosen = settings.control?.takeModel()
  if (chosen !== undefined) run.useModel(chosen)
  const { model, offered: tools } = run.agent
  const settling = tools.settled?.()
  if (settling !== undefined) await settle(settling, run)
  const continues = state.continuations > 0
  const messages = continues ? [...state.history.messages, continueMessage] : state.history.messages
  const toolChoice = isLast ? 'none' : settings.toolChoice
  const mustAnswer = isLast || state.objections > 0
  const given: RequestInPlan = { iteration, model: modelOfTurn(model), tools, messages, toolChoice, isLast, mustAnswer }
  const asked = layers.planRequest === undefined ? given : await layers.planRequest(given)
  if (asked.end !== undefined) return asked.end
  const request: ModelRequest = { ...shared, messages: asked.messages }
  // With a schema, the model would start a continued answer from the beginning.
  if (asked.responseSchema !== undefined && !continues) request.responseSchema = asked.responseSchema
  setTools(request, settings, asked.tools, asked.toolChoice)
  return { model: asked.model, tools: asked.tools, request }
}

/** How long a request waits for tools that are changing, in milliseconds. */
const longestSettleMs = 5_000

/** Waits for announced changes of the tools. If that takes too long, continues with the current tools. */
async function settle(settling: Promise<void>, run: RunContext): Promise<void> {
  const fallback = () => run.logger.warn({ runId: run.runId }, 'the tools are still changing; the request is sent with the current ones')
  await pTimeout(run.untilInterrupted(settling), { milliseconds: longestSettleMs, fallback })
}

/** Returns the model for the whole turn, which `forTurn` of the run's model may choose. If `forTurn` fails, the request fails. */
function modelOfTurn(model: ChatModel): ChatModel {
  if (model.forTurn === undefined) return model
  try {
    const chosen = syncAnswer('forTurn', model.forTurn())
    if (typeof chosen?.generate === 'function') return chosen
    throw new TypeError(`Expected \`forTurn\` to return a model, got \`${show(chosen)}\``)
  } catch (error) {
    const { provider, model: name, capabilities } = model
    return { provider, model: name, capabilities, generate: () => Promise.reject(toModelError(error, provider, name)) }
  }
}

/** The message that asks the model to continue a text that was cut off. It is not part of the conversation. */
const continueMessage: ChatMessage = Object.freeze({ role: 'user', content: continueText })

/** Adds the tools and their settings to the request. Adds nothing if there are no tools. */
export function setTools(
  request: ModelRequest,
  { parallelToolCalls }: Pick<RunSettings, 'parallelToolCalls'>,
  tools: ToolSet,
  choice: ToolChoice | undefined,
): void {
  const specs = tools.getAllSpecs()
  if (specs.length === 0) return
  request.tools = specs
  const searchable = tools.searchable?.()
  if (searchable !== undefined) request.searchable = searchable
  // A tool that was removed by a hook or a handoff can't be forced.
  const isThere = typeof choice !== 'object' || tools.get(choice.function.name) !== undefined
  if (choice !== undefined && isThere) request.toolChoice = choice
  if (parallelToolCalls !== undefined) request.parallelToolCalls = parallelToolCalls
}

type RequestSettings = Sampling &
  Pick<RunSettings, 'stream' | 'streamIdleTimeoutMs' | 'streamStallTimeoutMs' | 'cacheKey' | 'providerOptions'>

/**
 * Returns the fields that all requests of a run share, taken from the settings. For fields that are not set, the driver's defaults apply.
 * `session`: the id of the run's session.
 */
export function requestOf(settings: RequestSettings, signal: AbortSignal | undefined, session?: string): Omit<ModelRequest, 'messages'> {
  const request: Omit<ModelRequest, 'messages'> = { signal }
  for (const name of requestSettings) if (settings[name] !== undefined) Object.assign(request, { [name]: settings[name] })
  // Session ids may identify a person, so providers get only a digest.
  const cacheKey = settings.cacheKey ?? (session === undefined ? undefined : digestOf(session))
  if (cacheKey !== undefined && cacheKey !== false) request.cacheKey = cacheKey
  if (settings.stream === false) request.stream = false
  return request
}

const requestSettings = [
  ...(Object.keys(samplingNames) as (keyof Sampling)[]),
  'streamIdleTimeoutMs',
  'streamStallTimeoutMs',
  'providerOptions',
] as const

/** Asks once more after an empty response, which is nearly always a temporary fault. */
export function askOnceMore(run: RunContext): AroundModel {
  return (next) => async (call) => {
    const { turn, model: asked } = call
    const first = await next({ ...call, sink: turn.open() })
    if (!isEmpty(first)) return first
    const { provider, model } = asked
    turn.usedBefore = first.usage
    run.logger.warn({ runId: run.runId, provider, model, finishReason: first.finishReason }, 'empty response, asking once more')
    turn.retry({ provider, model, errorCode: 'empty_response', error: 'The response was empty', delayMs: 0 })
    const again = await next({ ...call, sink: turn.open() })
    const usage = sumOfUsage(first.usage, again.usage)
    const whole = { ...again, ...withoutUndefined({ usage }), retries: (again.retries ?? 0) + 1 }
    const second = havingWaited(whole, first)
    // If the model was asked to continue a text, an empty response may mean that the text is complete.
    if (!isEmpty(second) || call.continues) return second
    turn.usedBefore = second.usage
    const reason = second.rawFinishReason ?? second.finishReason
    const message = `The model answered twice with neither text nor calls (finish reason \`${reason}\`)`
    throw new ModelError('empty_response', message, { provider, model, retryable: false })
  }
}

/**
 * Reads the calls that a model writes as text, so that the loop sees ordinary calls. For a model with native calls, text calls count only
 * if the response has no native call. If nothing consumes the text as it arrives, it is parsed only when the response is complete, and only
 * if the response has no native call.
 */
export function readWrittenCalls(run: RunContext, written: WrittenCalls): AroundModel {
  const isAuto = (run.settings.toolCalling ?? 'auto') === 'auto'
  return (next) => {
    const readingRefused: AskModel = (call) =>
      next({ ...call, sink: { ...call.sink, readRefused: (text) => written.readRefused(call, text) } })
    const readLive = written.readLive(readingRefused)
    const askUnwatched: AskModel = async (call) => {
      let response: ReadResponse
      try {
        response = await readingRefused(call)
      } catch (error) {
        const said = call.turn.partialText(isModelError(error) ? error.partial?.text : undefined)
        if (said !== '') await written.readBroken(call, said)
        throw error
      }
      return response.toolCalls.length > 0 || call.request.tools === undefined ? response : written.readWhole(call, response)
    }
    return (call) => (isAuto && call.model.capabilities.nativeTools && call.sink?.text === undefined ? askUnwatched : readLive)(call)
  }
}

/** Sends a request to its model, and checks the response. If the run is interrupted, doesn't wait for a model that ignores its signal. */
export function sendRequest(run: RunContext): AskModel {
  return async ({ model, request, sink, turn }) => {
    try {
      const asking = Promise.resolve(model.generate(request, turn.sink(sink)))
      const response = await run.untilInterrupted(asking)
      if (!run.signal.aborted) {
        // Yields, because thousands of runs may get their responses at once.
        await giveWay()
        return takeResponse(response, model, request)
      }
      // A model that respects its signal rejects at once. Its error has the text and the usage so far.
      await Promise.race([asking, new Promise(setImmediate)])
      throw abortedError(model.provider)
    } catch (error) {
      throw run.signal.aborted ? withReceived(error, request, turn.received) : error
    }
  }
}

const finishReasons: readonly FinishReason[] = ['stop', 'length', 'tool_calls', 'content_filter', 'refusal', 'error']

/**
 * Checks a model's response and adds the usage of the request. Throws `bad_response` for an invalid response, and `provider_error` if it
 * ended with an error.
 */
export function takeResponse(
  response: unknown,
  model: Pick<ChatModel, 'provider' | 'model'>,
  request: ModelRequest,
): ModelResponse & { usage: Usage } {
  return withWholeUsage(request, checkResponse(response, model))
}

/** Checks all fields of a response that the loop reads, because a custom model may return anything. */
function checkResponse(response: unknown, { provider, model }: Pick<ChatModel, 'provider' | 'model'>): ModelResponse {
  const fail = (what: string): never => {
    throw new ModelError('bad_response', `Expected the model's response to have ${what}`, { provider, model, retryable: false })
  }
  if (!isJsonObject(response)) return fail('the fields of a ModelResponse')
  const { text = '', toolCalls = [], finishReason = 'stop', ...given }: Partial<ModelResponse> = response
  if (typeof text !== 'string') fail('a string `text`')
  if (!Array.isArray(toolCalls)) fail('an array `toolCalls`')
  for (const call of toolCalls) {
    if (typeof call?.function?.name !== 'string' || typeof call.function.arguments !== 'string' || typeof call.id !== 'string') {
      fail('`toolCalls` of the shape `{id, type, function: {name, arguments}}` with strings')
    }
  }
  if (!finishReasons.includes(finishReason)) fail(`a \`finishReason\` that is one of ${finishReasons.join(', ')}`)
  if (finishReason === 'error') {
    const told = [text === '' ? '' : ` after: ${text}`, ...(Array.isArray(given.warnings) ? given.warnings : [])].join('. ')
    throw new ModelError('provider_error', `The provider ended the response with an error${told}`, {
      provider,
      model,
      retryable: false,
      partial: { text, ...withoutUndefined({ usage: given.usage }) },
    })
  }
  const checked = { ...given, text, toolCalls, finishReason }
  return finishReason === 'content_filter' || finishReason === 'refusal' ? withoutDeclinedCalls(checked) : checked
}

/** Whether a response is empty. A response that was declined or filtered does not count as empty. */
export function isEmpty({ text, toolCalls, finishReason }: ModelResponse): boolean {
  return toolCalls.length === 0 && text.trim() === '' && finishReason !== 'refusal' && finishReason !== 'content_filter'
}
