import type { ChatMessage, Usage } from '../../core/messages.ts'
import type { ChatModel, ModelRequest, ModelRetry, ModelSink, ToolChoice } from '../../models/chat-model.ts'
import type { ToolSet } from '../../tools/registry.ts'
import type { PieceTimes } from '../observe/telemetry.ts'
import type { ReadResponse } from '../text-calls/read-call.ts'

/** What one turn asks, of whom, and with which tools. */
export interface TurnRequest {
  model: ChatModel
  /** The tools that are sent; no others can be called. */
  tools: ToolSet
  request: ModelRequest
}

/** A request on its way to the model. */
export interface ModelCall extends TurnRequest {
  readonly iteration: number
  /** Whether the model is asked to continue a text that was cut. */
  readonly continues: boolean
  /** Where the pieces of the response go; undefined where nobody listens. */
  sink: ModelSink | undefined
  /** All that has come of this turn's requests so far. */
  turn: TurnPieces
}

/** Sends a request. Rejects with what the model rejects with, and when the run is interrupted. */
export type AskModel = (call: ModelCall) => Promise<ReadResponse>

/** Stands around a model request: may change it, ask more than once, and change the response. */
export type AroundModel = (next: AskModel) => AskModel

/** All that comes of one turn's requests, as it comes. */
export interface TurnPieces {
  /** What earlier requests of the turn have used, where there was more than one. */
  usedBefore: Usage | undefined
  /** Begins a request, and ends the one before. Gives what somebody listens to; undefined for nothing. */
  open(): ModelSink | undefined
  /** What the model is given: tells `heard`, which is what `open` gave, or that wrapped, and notes what comes for the turn itself. */
  sink(heard: ModelSink | undefined): ModelSink
  /** A request has failed, and is followed by another. */
  retry(retry: ModelRetry): void
  /** Has it told when the pieces come. */
  timePieces(times: PieceTimes): void
  /** Text is given out only when it has been checked: by `streamed`, piece by piece, or whole. */
  hold(streamed?: CheckedText): void
  /** What was said before a response broke off; not what may have become a call. `told`: what its error tells of it. */
  partialText(told: string | undefined): string
  /** The text that has come of the request under way, as it came; undefined where no piece of it has come. */
  readonly received: string | undefined
  /** By what the text of the request under way is read, should it break off. */
  readBy(reader: TextReader): void
}

/** The text of a response that is checked while it arrives. */
export interface CheckedText {
  /** What has passed, and was shown. */
  readonly shown: string
  /** Checks what is left of the whole text. */
  finish(whole: string): Promise<{ passed: true; subject: string } | { passed: false; how: 'refuse' | 'stop'; reason: string }>
}

/** Tells what counts as said of a response that broke off after `text`. */
export interface TextReader {
  partOf(text: string): string
}

/** Finds calls that a model writes as text. */
export interface WrittenCalls {
  /** While the response arrives: what is watched shows nothing of a call. */
  readonly readLive: AroundModel
  /** In a whole response, to whose text nobody has listened. */
  readWhole(call: ModelCall, response: ReadResponse): Promise<ReadResponse>
  /** In the text that a response has come to that broke off: tells the turn how that is read. */
  readBroken(call: ModelCall, text: string): Promise<void>
  /** In a text that the provider refused as a malformed call. Undefined if there is any doubt. */
  readRefused(call: ModelCall, text: string): Promise<Pick<ReadResponse, 'text' | 'toolCalls'> | undefined>
}

/** What a turn asks, before it is a request. */
export interface Asked {
  model: ChatModel
  tools: ToolSet
  messages: readonly ChatMessage[]
  toolChoice: ToolChoice | undefined
}

/** What hooks make of it. */
export type ChangeTurn = (asked: Asked, iteration: number) => Promise<Asked>

/** Makes the request ask for an answer with a schema. `mustAnswer`: the model is to do nothing but answer. */
export type FormatAnswer = (asked: Asked, request: ModelRequest, mustAnswer: boolean) => TurnRequest
