import { ModelError } from '../../core/errors.ts'
import { Event, type EventPlace, type FinishReason } from '../../core/events.ts'
import { type ChatMessage, isJsonObject, type Usage } from '../../core/messages.ts'
import { TextBuffer } from '../../core/text-buffer.ts'
import { keepShape, keepShapeOf } from '../../core/v8/keep-shape.ts'
import {
  abortedError,
  type ChatModel,
  isModelError,
  type ModelRequest,
  type ModelResponse,
  type ModelRetry,
  type ModelSink,
  type ToolChoice,
  withoutDeclinedCalls,
} from '../../models/chat-model.ts'
import { estimateUsage, havingWaited, sumOfUsage, usageOfFailure, withUsage, withWholeUsage } from '../../models/usage.ts'
import type { ToolSet } from '../../tools/registry.ts'
import { findTool } from '../calls/find-tools.ts'
import type { History } from '../conversation/history.ts'
import type { PieceTimes } from '../observe/telemetry.ts'
import type { Execution, Place } from '../run/execution.ts'
import type { RunContext } from '../run/run-context.ts'
import type { ReadResponse } from '../text-calls/read-call.ts'
import { continueText } from '../told.ts'
import type { RunSettings } from '../types.ts'
import type { AroundModel, Asked, AskModel, TextReader, TurnPieces, TurnRequest, WrittenCalls } from './model-call.ts'
import { requestOf } from './request-settings.ts'

/** What the turn asks, once hooks have changed it. */
export async function buildTurn({ run, state, layers }: Execution, { iteration, lastTurn }: Place): Promise<TurnRequest> {
  const { settings } = run
  // In a last turn nothing can be called, whoever says what.
  const forced: ToolChoice | undefined = lastTurn === undefined ? undefined : 'none'
  const chosen = settings.control?.takeModel()
  if (chosen !== undefined) run.useModel(chosen)
  const { model, offered: tools } = run.agent
  const continues = state.continuations > 0
  const messages = continues ? [...state.history.messages, continueMessage] : state.history.messages
  const before: Asked = { model: model.forTurn?.() ?? model, tools, messages, toolChoice: forced ?? settings.toolChoice }
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
    const whole = { ...again, ...(usage === undefined ? {} : { usage }), retries: (again.retries ?? 0) + 1 }
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
      if (!run.signal.aborted) return takeResponse(response, model, request)
      // One that heeds its signal rejects at once, and tells what has come and what was used.
      await Promise.race([asking, new Promise(setImmediate)])
      throw abortedError(model.provider)
    } catch (error) {
      throw run.signal.aborted ? withReceived(error, request, turn) : error
    }
  }
}

/** The error, with an estimate of what was used of a response that was left: nobody reports that, and it is paid for all the same. */
function withReceived(error: unknown, request: ModelRequest, { received }: TurnPieces): unknown {
  if (received === undefined || !isModelError(error) || usageOfFailure(error) !== undefined) return error
  const { text = '', reasoning = '' } = error.partial ?? {}
  return withUsage(error, estimateUsage(request, { text: text === '' ? received : text, reasoning }))
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
      partial: { text, ...(given.usage === undefined ? {} : { usage: given.usage }) },
    })
  }
  const checked = { ...given, text, toolCalls, finishReason }
  return finishReason === 'content_filter' || finishReason === 'refusal' ? withoutDeclinedCalls(checked) : checked
}

/**
 * Where the pieces of one turn's responses go: to those who listen, and their text into a buffer. So what a response that breaks off came to
 * does not depend on who listens; and it can be asked for again as long as nobody has seen any of it.
 */
export class TurnSink implements TurnPieces {
  readonly #run: RunContext
  readonly #model: Pick<ChatModel, 'provider' | 'model'>
  readonly #tools: ToolSet
  readonly #meta: EventPlace
  readonly #history: Pick<History, 'uniqueIds'>
  /** The request under way; a model may go on talking when it is over. */
  #request = { isOpen: false }
  #said: TextBuffer | undefined
  #reader: TextReader | undefined
  #isHeld = false
  #hasReceived = false
  #times: PieceTimes | undefined
  /** When the first piece came, by `performance.now()`. */
  firstPieceAt: number | undefined
  usedBefore: Usage | undefined

  /** `tools`: those that its calls name. `history`: gives a call the id that it has in the conversation. */
  constructor(run: RunContext, { model, tools }: TurnRequest, meta: EventPlace, history: Pick<History, 'uniqueIds'>) {
    this.#run = run
    this.#model = model
    this.#tools = tools
    this.#meta = meta
    this.#history = history
  }

  /** Whether text is given out only when it has been checked. */
  get isHeld(): boolean {
    return this.#isHeld
  }

  get received(): string | undefined {
    return this.#hasReceived ? (this.#said?.toString() ?? '') : undefined
  }

  hold(): void {
    this.#isHeld = true
  }

  timePieces(times: PieceTimes): void {
    this.#times = times
  }

  readBy(reader: TextReader): void {
    this.#reader = reader
  }

  retry(retry: ModelRetry): void {
    if (this.#run.interruption === undefined) this.#run.emit(Event.MODEL_RETRY, retry, this.#meta)
  }

  partialText(told = ''): string {
    if (this.#isHeld) return ''
    // An error may tell of usage alone: that it has no text does not say that there was none.
    const text = told === '' ? (this.#said?.toString() ?? '') : told
    return this.#reader?.partOf(text) ?? text
  }

  open(): ModelSink | undefined {
    this.close()
    this.#times?.restart()
    this.#request = { isOpen: true }
    this.#said = undefined
    this.#hasReceived = false
    this.#reader = undefined
    const run = this.#run
    const text = run.deltas(Event.TEXT_DELTA, this.#meta)
    const reasoning = run.deltas(Event.REASONING_DELTA, this.#meta)
    const inputStart = run.deltas(Event.TOOL_INPUT_START, this.#meta)
    const inputDelta = run.deltas(Event.TOOL_INPUT_DELTA, this.#meta)
    if (text === undefined && reasoning === undefined && inputStart === undefined && inputDelta === undefined) return undefined
    // Functions are named before they are put into an object: see "Allocation" in CONTRIBUTING.md.
    const hearText = (delta: string) => text?.({ text: delta })
    const hearReasoning = (delta: string) => reasoning?.({ text: delta })
    const heard: ModelSink = {}
    if (text !== undefined) heard.text = hearText
    if (reasoning !== undefined) heard.reasoning = hearReasoning
    if (inputStart !== undefined || inputDelta !== undefined) {
      const uniqueId = this.#history.uniqueIds()
      const ids: string[] = []
      const hearStart = (index: number, given: string, name: string) => {
        const id = uniqueId(given, index)
        ids[index] = id
        inputStart?.({ index, id, tool: findTool(name, this.#tools).name })
      }
      const hearDelta = (index: number, json: string) => inputDelta?.({ index, id: ids[index] ?? '', json })
      heard.toolCallStart = hearStart
      if (inputDelta !== undefined) heard.toolCallDelta = hearDelta
    }
    return heard
  }

  /** Ends the request under way: what its model says from now on is not heard. */
  close(): void {
    this.#request.isOpen = false
  }

  sink(heard: ModelSink = {}): ModelSink {
    const request = this.#request
    let isShown = false
    const isTaken = (listens: unknown): boolean => {
      if (!request.isOpen || this.#run.interruption !== undefined) return false
      if (this.#times !== undefined) {
        const now = performance.now()
        this.firstPieceAt ??= now
        this.#times.note(now)
      } else this.firstPieceAt ??= performance.now()
      this.#hasReceived = true
      isShown ||= listens !== undefined
      return true
    }
    const { toolCallDelta } = heard
    const sink: ModelSink = {
      text: (delta) => {
        if (delta === '' || !isTaken(heard.text)) return
        this.#said ??= new TextBuffer()
        this.#said.add(delta)
        heard.text?.(delta)
      },
      reasoning: (delta) => {
        if (delta !== '' && isTaken(heard.reasoning)) heard.reasoning?.(delta)
      },
      toolCallStart: (index, id, name) => {
        if (isTaken(heard.toolCallStart)) heard.toolCallStart?.(index, id, name)
      },
      queued: (ahead) => {
        const { provider, model } = this.#model
        if (request.isOpen) this.#run.emit(Event.MODEL_QUEUED, { provider, model, ahead }, this.#meta)
      },
      restart: () => {
        if (isShown) return false
        this.#said = undefined
        this.#hasReceived = false
        this.firstPieceAt = undefined
        this.#times?.restart()
        return true
      },
      retry: (retry) => {
        if (request.isOpen) this.retry(retry)
      },
      // What was shown could not be taken back.
      readRefused: async (text) => (isShown ? undefined : heard.readRefused?.(text)),
    }
    const takeDelta = (index: number, json: string) => {
      if (isTaken(toolCallDelta)) toolCallDelta?.(index, json)
    }
    if (toolCallDelta !== undefined) sink.toolCallDelta = takeDelta
    return sink
  }
}

keepShape(TurnSink, undefined, {})
keepShapeOf({ ...requestOf({}, undefined), messages: [], tools: [] })
