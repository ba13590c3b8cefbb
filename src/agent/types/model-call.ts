import type { Usage } from '../../core/messages.ts'
import type { ChatModel, ModelRequest, ModelRetry, ModelSink } from '../../models/chat-model.ts'
import type { ToolSet } from '../../tools/registry.ts'
import type { ReadResponse } from '../text-calls/read-call.ts'

/** The request of one turn, with the model and the tools. @internal */
export interface TurnRequest {
  model: ChatModel
  /** The tools that are sent. The model can't call other tools. */
  tools: ToolSet
  request: ModelRequest
}

/** A request that is being sent. */
export interface ModelCall extends TurnRequest {
  readonly iteration: number
  /** Whether the model is asked to continue a text that was cut off. */
  readonly continues: boolean
  /** Receives the pieces of the response. Undefined if nobody listens. */
  sink: ModelSink | undefined
  /** The pieces of this turn's requests that have arrived. */
  turn: TurnPieces
}

/** Sends a request. Rejects with the model's error, or when the run is interrupted. */
export type AskModel = (call: ModelCall) => Promise<ReadResponse>

/** Wraps a model request. The wrapper may change the request, send it more than once, and change the response. */
export type AroundModel = (next: AskModel) => AskModel

/** Collects the pieces of one turn's requests as they arrive. */
export interface TurnPieces {
  /** The usage of the turn's earlier requests. Undefined if there were no earlier requests. */
  usedBefore: Usage | undefined
  /** Begins a request and ends the previous request. Returns the sink to pass pieces to, or undefined if nobody listens. */
  open(): ModelSink | undefined
  /**
   * Returns the sink for the model. It collects the turn's text, and forwards all pieces to `heard`, which is the sink from `open` or a
   * wrapper of it.
   */
  sink(heard: ModelSink | undefined): ModelSink
  /** Reports that a request failed and is sent again. */
  retry(retry: ModelRetry): void
  /** Records in `times` when pieces arrive. */
  timePieces(times: PieceTimes): void
  /** Holds text back until it is checked. `streamed` checks each piece; without it, the whole text is checked. */
  hold(streamed?: CheckedText): void
  /** The text that arrived before a response broke off, without the beginning of a possible call. `ofError`: the text from the error. */
  partialText(ofError: string | undefined): string
  /** The raw text of the current response. Undefined if no piece of the response has arrived. */
  readonly received: string | undefined
  /** Sets the reader that determines which text to keep if the current response breaks off. */
  readBy(reader: TextReader): void
}

/**
 * Receives the times of the pieces of a response.
 *
 * Contract: called synchronously. The methods must not throw.
 */
export interface PieceTimes {
  /** A piece has arrived at the time `at`, by `performance.now()`. */
  note(at: number): void
  /** Discards the pieces so far. */
  restart(): void
}

/** The text of a response that is checked as it arrives. */
export interface CheckedText {
  /** The text that has passed the check and was shown. */
  readonly shown: string
  /** Checks the part of the whole text that is not checked yet. */
  finish(whole: string): Promise<{ passed: true; subject: string } | { passed: false; how: 'refuse' | 'stop'; reason: string }>
}

/** Determines which part of `text` to keep if a response breaks off after `text`. */
export interface TextReader {
  partOf(text: string): string
}

/** Finds calls that a model writes as text. */
export interface WrittenCalls {
  /** Reads a response as it arrives. Listeners don't get the text of the calls. */
  readonly readLive: AroundModel
  /** Reads a complete response. Used if nobody listens to its text. */
  readWhole(call: ModelCall, response: ReadResponse): Promise<ReadResponse>
  /** Reads the text of a response that broke off. Passes a `TextReader` for this text to `readBy` of the turn. */
  readBroken(call: ModelCall, text: string): Promise<void>
  /** Reads a text that the provider refused as a malformed call. Undefined if the meaning of the text is in doubt. */
  readRefused(call: ModelCall, text: string): Promise<Pick<ReadResponse, 'text' | 'toolCalls'> | undefined>
}
