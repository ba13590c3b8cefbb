import pTimeout from 'p-timeout'
import { syncAnswer } from '../../core/callbacks/callbacks.ts'
import { digestOf } from '../../core/digest.ts'
import { ModelError, show } from '../../core/errors.ts'
import type { FinishReason } from '../../core/events.ts'
import { type ChatMessage, isJsonObject, type Usage, withoutUndefined } from '../../core/messages.ts'
import { giveWay } from '../../core/time/give-way.ts'
import {
  abortedError,
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
import { havingWaited, sumOfUsage, withReceived, withWholeUsage } from '../../models/usage.ts'
import type { ToolSet } from '../../tools/registry.ts'
import type { Execution, Place } from '../run/execution.ts'
import type { RunContext } from '../run/run-context.ts'
import type { ReadResponse } from '../text-calls/read-call.ts'
import { continueText } from '../told.ts'
import type { RunSettings } from '../types.ts'
import type { AroundModel, Asked, AskModel, TurnRequest, WrittenCalls } from './model-call.ts'

/** What the turn asks, once hooks have changed it. */
export async function buildTurn({ run, state, layers }: Execution, { iteration, lastTurn }: Place): Promise<TurnRequest> {
  const { settings } = run
  // In a last turn nothing can be called, whoever says what.
  const forced: ToolChoice | undefined = lastTurn === undefined ? undefined : 'none'
  const chosen = settings.control?.takeModel()
  if (chosen !== undefined) run.useModel(chosen)
  const { model, offered: tools } = run.agent
  await settle(tools, run)
  const continues = state.continuations > 0
  const messages = continues ? [...state.history.messages, continueMessage] : state.history.messages
  const before: Asked = { model: modelOfTurn(model), tools, messages, toolChoice: forced ?? settings.toolChoice }
  const changed = layers.changeTurn === undefined ? before : await layers.changeTurn(before, iteration)
  const asked = forced === undefined ? changed : { ...changed, toolChoice: forced }
  const request: ModelRequest = { ...layers.request, messages: asked.messages }
  if (layers.formatAnswer !== undefined) {
    const turn = layers.formatAnswer(asked, request, forced !== undefined || state.objections > 0)
    // Held to the schema, the model would have to begin again.
    if (continues) delete turn.request.responseSchema
    return turn
  }
  setTools(request, settings, asked.tools, asked.toolChoice)
  return { model: asked.model, tools: asked.tools, request }
}

/** How long a request waits for tools that are just changing. */
const longestSettleMs = 5_000

/** Waits for changes of the tools that have been announced. A set that takes too long is used as it is. */
async function settle(tools: ToolSet, run: RunContext): Promise<void> {
  const settling = tools.settled?.()
  if (settling === undefined) return
  const fallback = () => run.logger.warn({ runId: run.runId }, 'the tools are still changing; the request is sent with those there are')
  await pTimeout(run.untilInterrupted(settling), { milliseconds: longestSettleMs, fallback })
}

/** The model to ask throughout the turn. One that can't say so fails the request. */
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

/** Sent behind a text that was cut, and not kept. */
const continueMessage: ChatMessage = Object.freeze({ role: 'user', content: continueText })

/** Makes the request offer tools, where there are any. */
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
  // A tool that a hook or a handoff has taken away can't be asked for.
  const isThere = typeof choice !== 'object' || tools.get(choice.function.name) !== undefined
  if (choice !== undefined && isThere) request.toolChoice = choice
  if (parallelToolCalls !== undefined) request.parallelToolCalls = parallelToolCalls
}

/** What of a run's settings a request says. */
type RequestSettings = Sampling &
  Pick<RunSettings, 'stream' | 'streamIdleTimeoutMs' | 'streamStallTimeoutMs' | 'cacheKey' | 'providerOptions'>

/** What every request says, as the settings want it. What nobody chose is left to the driver. `session`: the id of the run's session. */
export function requestOf(settings: RequestSettings, signal: AbortSignal | undefined, session?: string): Omit<ModelRequest, 'messages'> {
  const request: Omit<ModelRequest, 'messages'> = { signal }
  for (const name of requestSettings) if (settings[name] !== undefined) Object.assign(request, { [name]: settings[name] })
  // Ids of sessions may say who somebody is: a provider is given their digest.
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

/** An empty response is nearly always a hiccup, and there is nothing in it to go on with: it is asked for once more. */
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
    // Of a text that was cut, there may be nothing more to say.
    if (!isEmpty(second) || call.continues) return second
    turn.usedBefore = second.usage
    const reason = second.rawFinishReason ?? second.finishReason
    const message = `The model answered twice with neither text nor calls (finish reason \`${reason}\`)`
    throw new ModelError('empty_response', message, { provider, model, retryable: false })
  }
}

/** Whether there is nothing in it to go on with. */
export function isEmpty({ text, toolCalls, finishReason }: ModelResponse): boolean {
  return toolCalls.length === 0 && text.trim() === '' && finishReason !== 'refusal' && finishReason !== 'content_filter'
}

/**
 * Lets a model write its calls as text; the loop sees ordinary ones. One that has native calls is read only where it made none of them: text
 * that nobody watches is not looked at before that is known.
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

/** Sends a request to its model, and checks the response. A model that ignores its signal is left behind when the run is interrupted. */
export function sendRequest(run: RunContext): AskModel {
  return async ({ model, request, sink, turn }) => {
    try {
      const asking = Promise.resolve(model.generate(request, turn.sink(sink)))
      const response = await run.untilInterrupted(asking)
      // The answers of very many runs may come at once.
      await giveWay()
      if (!run.signal.aborted) return takeResponse(response, model, request)
      // One that heeds its signal rejects at once, and tells what has come and what was used.
      await Promise.race([asking, new Promise(setImmediate)])
      throw abortedError(model.provider)
    } catch (error) {
      throw run.signal.aborted ? withReceived(error, request, turn.received) : error
    }
  }
}

const finishReasons: readonly FinishReason[] = ['stop', 'length', 'tool_calls', 'content_filter', 'refusal', 'error']

/** The response of a model as the loop relies on it: checked, and with what the request has used. Throws `bad_response` or `provider_error`. */
export function takeResponse(
  response: unknown,
  model: Pick<ChatModel, 'provider' | 'model'>,
  request: ModelRequest,
): ModelResponse & { usage: Usage } {
  return withWholeUsage(request, checkResponse(response, model))
}

/** A model written by others may return anything: what the loop reads is checked once, here. */
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
