import type { ChatModel, ModelRequest, ModelSink } from '../../models/chat-model.ts'
import type { ToolSet } from '../../tools/registry.ts'
import type { ReadResponse } from '../text-calls/read-call.ts'
import type { TurnSink } from './turn-sink.ts'

/** What one turn asks, of whom, and with which tools. */
export interface TurnRequest {
  model: ChatModel
  /** The tools that are sent; no others can be called. */
  tools: ToolSet
  request: ModelRequest
}

/** A request on its way to the model. */
export interface ModelCall extends TurnRequest {
  iteration: number
  /** Where the pieces of the response go; undefined where nobody listens. */
  sink: ModelSink | undefined
  /** All that has come of this turn's requests so far. */
  turn: TurnSink
}

/** Sends a request. Rejects with what the model rejects with, and when the run is interrupted. */
export type AskModel = (call: ModelCall) => Promise<ReadResponse>

/** Stands around a model request: may change it, ask more than once, and change the response. */
export type AroundModel = (call: ModelCall, next: AskModel) => Promise<ReadResponse>
