import { ModelError } from '../../core/errors.ts'
import { Event, type EventMeta, type FinishReason } from '../../core/events.ts'
import { isJsonObject, type Usage } from '../../core/messages.ts'
import { TextBuffer } from '../../core/text-buffer.ts'
import { abortedError, type ChatModel, type ModelRequest, type ModelResponse, type ModelSink } from '../../models/chat-model.ts'
import { sumOfUsage, withWholeUsage } from '../../models/usage.ts'
import type { RunContext } from '../run/run-context.ts'
import type { ReadResponse } from '../text-calls/read-call.ts'
import type { AroundModel, ModelCall, TextReader, TurnPieces } from './model-call.ts'

/** Sends a request to its model. A model that ignores its signal is left behind when the run is interrupted. */
export async function sendRequest(run: RunContext, { model, request, sink, turn }: ModelCall): Promise<ReadResponse> {
  // `async` turns a model that throws at once into one that rejects.
  const ask = async () => model.generate(request, turn.complete(sink))
  const asking = ask()
  const response = await run.untilInterrupted(asking)
  if (run.signal.aborted) {
    // One that heeds its signal rejects at once, and tells what has come and what was used.
    await Promise.race([asking, nextTick()])
    throw abortedError(model.provider)
  }
  return takeResponse(response, model, request)
}

/** An empty response is nearly always a hiccup, and there is nothing in it to go on with: it is asked for once more. */
export function askOnceMore(run: RunContext): AroundModel {
  return async (call, next) => {
    const { turn, model: asked } = call
    const ask = async (): Promise<ReadResponse> => {
      try {
        return await next({ ...call, sink: turn.open() })
      } finally {
        turn.close()
      }
    }
    const first = await ask()
    if (!isEmpty(first)) return first
    turn.usedBefore = first.usage
    const { provider, model } = asked
    run.logger.warn({ runId: run.runId, provider, model, finishReason: first.finishReason }, 'empty response, asking once more')
    const again = await ask()
    const usage = sumOfUsage(first.usage, again.usage)
    const second = { ...again, ...(usage === undefined ? {} : { usage }), retries: (again.retries ?? 0) + 1 }
    if (!isEmpty(second)) return second
    turn.usedBefore = second.usage
    const reason = second.rawFinishReason ?? second.finishReason
    const message = `The model answered twice with neither text nor calls (finish reason \`${reason}\`)`
    throw new ModelError('empty_response', message, { provider, model, retryable: false })
  }
}

function nextTick(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Whether there is nothing in it to go on with. */
function isEmpty({ text, toolCalls, finishReason }: ModelResponse): boolean {
  return toolCalls.length === 0 && text.trim() === '' && finishReason !== 'refusal' && finishReason !== 'content_filter'
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
  const given: Partial<ModelResponse> = response
  const { text = '', toolCalls = [], finishReason = 'stop' } = given
  if (typeof text !== 'string') fail('a string `text`')
  if (!Array.isArray(toolCalls)) fail('an array `toolCalls`')
  for (const call of toolCalls) {
    if (typeof call?.function?.name !== 'string' || typeof call.function.arguments !== 'string' || typeof call.id !== 'string') {
      fail('`toolCalls` of the shape `{id, type, function: {name, arguments}}` with strings')
    }
  }
  if (!finishReasons.includes(finishReason)) fail(`a \`finishReason\` that is one of ${finishReasons.join(', ')}`)
  if (finishReason === 'error') {
    const warnings = Array.isArray(given.warnings) ? given.warnings : []
    const told = [text === '' ? '' : ` after: ${text}`, ...warnings].join('. ')
    throw new ModelError('provider_error', `The provider ended the response with an error${told}`, {
      provider,
      model,
      retryable: false,
      partial: { text, ...(given.usage === undefined ? {} : { usage: given.usage }) },
    })
  }
  return { ...given, text, toolCalls, finishReason }
}

/**
 * Where the pieces of one turn's responses go: to those who listen, and where nobody does, into a buffer. So what a response that breaks off
 * came to does not depend on who listens; and it can be asked for again as long as nobody has seen any of it.
 */
export class TurnSink implements TurnPieces {
  readonly #run: RunContext
  readonly #meta: Omit<EventMeta, 'runId'>
  #shownText: TextBuffer | undefined
  #unseenText: TextBuffer | undefined
  /** The request under way; a model may go on talking when it is over. */
  #request = { isOpen: false }
  #reader: TextReader | undefined
  #isHeld = false
  /** When the first piece came, by `performance.now()`. */
  firstPieceAt: number | undefined
  /** What earlier requests of the turn have used, where there was more than one. */
  usedBefore: Usage | undefined

  constructor(run: RunContext, meta: Omit<EventMeta, 'runId'>) {
    this.#run = run
    this.#meta = meta
  }

  /** Whether text is given out only when it has been checked. */
  get isHeld(): boolean {
    return this.#isHeld
  }

  hold(): void {
    this.#isHeld = true
  }

  /** The request under way is read by `reader`. */
  readBy(reader: TextReader): void {
    this.#reader = reader
  }

  /** What was said before a response broke off; not what may have become a call. `told`: what its error tells of it. */
  partialText(told = ''): string {
    if (this.#isHeld) return ''
    // An error may tell of usage alone: that it has no text does not say that there was none.
    const shown = this.#shownText?.toString() ?? ''
    if (told === '' && shown !== '') return shown
    const text = told === '' ? (this.#unseenText?.toString() ?? '') : told
    return this.#reader?.partOf(text) ?? text
  }

  close(): void {
    this.#request.isOpen = false
  }

  /** Begins a request. Gives what somebody listens to; undefined for nothing. */
  open(): ModelSink | undefined {
    this.#request = { isOpen: true }
    this.#unseenText = undefined
    this.#reader = undefined
    const run = this.#run
    const text = run.deltas(Event.TEXT_DELTA, this.#meta)
    const reasoning = run.deltas(Event.REASONING_DELTA, this.#meta)
    const inputStart = run.deltas(Event.TOOL_INPUT_START, this.#meta)
    const inputDelta = run.deltas(Event.TOOL_INPUT_DELTA, this.#meta)
    if (text === undefined && reasoning === undefined && inputStart === undefined && inputDelta === undefined) return undefined
    const sink: ModelSink = {}
    const take = this.#taker()
    if (text !== undefined) {
      sink.text = (delta) => {
        if (delta === '' || !take()) return
        this.#shownText ??= new TextBuffer()
        this.#shownText.add(delta)
        text({ text: delta })
      }
    }
    if (reasoning !== undefined) {
      sink.reasoning = (delta) => {
        if (delta !== '' && take()) reasoning({ text: delta })
      }
    }
    if (inputStart !== undefined) {
      sink.toolCallStart = (index, id, tool) => {
        if (take()) inputStart({ index, id, tool })
      }
    }
    if (inputDelta !== undefined) {
      sink.toolCallDelta = (index, json) => {
        if (take()) inputDelta({ index, json })
      }
    }
    return sink
  }

  /** What the model is given: `heard`, as `open` gave it or wrapped, and the rest for the turn itself. */
  complete(heard: ModelSink = {}): ModelSink {
    const take = this.#taker()
    let isShown = false
    const shown = <Piece extends unknown[]>(show: (...piece: Piece) => void) => {
      return (...piece: Piece) => {
        take()
        isShown = true
        show(...piece)
      }
    }
    const keepText = (delta: string) => {
      if (delta === '' || !take()) return
      this.#unseenText ??= new TextBuffer()
      this.#unseenText.add(delta)
    }
    const { text, reasoning, toolCallStart, toolCallDelta } = heard
    return {
      text: text === undefined ? keepText : shown(text),
      reasoning: reasoning === undefined ? take : shown(reasoning),
      toolCallStart: toolCallStart === undefined ? take : shown(toolCallStart),
      ...(toolCallDelta === undefined ? {} : { toolCallDelta: shown(toolCallDelta) }),
      restart: () => {
        if (isShown) return false
        this.#unseenText = undefined
        this.firstPieceAt = undefined
        return true
      },
    }
  }

  /** Notes a piece; false once the request, or the run, is over. */
  #taker(): () => boolean {
    const request = this.#request
    return () => {
      if (!request.isOpen || this.#run.interruption !== undefined) return false
      this.firstPieceAt ??= performance.now()
      return true
    }
  }
}
