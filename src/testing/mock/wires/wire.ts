import { type ChatMessage, isJsonObject, type Json, type JsonObject } from '../../../core/messages.ts'
import type { ToolChoice } from '../../../models/chat-model.ts'
import type { ToolDefinition } from '../../../tools/tool.ts'
import type { TurnPlan, TurnStep } from '../../script.ts'

/** The names of the wire formats that the mock provider speaks. */
export type WireName = 'chat-completions' | 'responses' | 'anthropic-messages' | 'gemini-generate-content'

/** The content of a recorded request body, converted from the wire format. */
export interface WireRequest {
  /** The model that was requested. */
  model?: string
  /** The messages without provider data, so that equal conversations compare as equal. */
  messages: ChatMessage[]
  /** The tools. Undefined if the body has no such key; `[]` if the list in the body is empty. */
  tools?: ToolDefinition[]
  /** The tool choice. Undefined if the body has no tool choice, or a tool choice that is unknown in this format. */
  toolChoice?: ToolChoice
}

/** The information about a request that is needed to encode its reply. */
export interface ReplyContext {
  /** An id that is unique for each reply of a server, such as `mock_1`. */
  id: string
  /** The model that was requested. */
  model: string
  body: JsonObject
}

/** A piece of a streamed turn. */
export type TurnPiece = Exclude<TurnStep, { type: 'wait' }>

/** Converts the pieces of one streamed turn to payloads. Each reply has its own encoder, which may keep state. */
export interface StreamEncoder {
  /** Returns the payloads that precede all pieces. */
  open(): JsonObject[]
  step(step: TurnPiece): JsonObject[]
  /** Returns the payloads that complete the response. */
  finish(): JsonObject[]
}

/** The layout of payloads in a streamed body. */
export interface StreamLayout {
  contentType: string
  /** The line end: LF in most formats, CRLF for Gemini. */
  lineEnd: '\n' | '\r\n'
  /** Returns the name for the payload's `event:` line, or undefined for no name. */
  eventName(payload: JsonObject): string | undefined
  /** The data of the event that ends the stream, such as `[DONE]`. */
  endMark?: string
}

/** An error that a wire format encodes. */
export interface WireFailure {
  status: number
  message: string
  /** Set if the provider has its own wording for this error. `context_overflow`: the conversation is too long. */
  kind?: 'context_overflow'
}

/** Features that not every format has. The contract suite skips cases for features that a format does not support. */
interface WireTraits {
  /** Whether arguments are sent as text, so that broken JSON and white space arrive unchanged. */
  argumentsAsText: boolean
  /** Whether call ids are sent unchanged, whatever their characters and length. */
  anyCallId: boolean
  /** Whether consecutive messages of one role stay separate. Otherwise they are joined. */
  rowsOfOneRole: boolean
  /** Whether the format can express a refusal by the model. */
  refusals: boolean
}

/**
 * The server's side of a provider's wire format.
 *
 * Contract: stateless. Must throw only for an internal error.
 */
export interface MockWire {
  readonly name: WireName
  readonly traits: WireTraits
  readonly layout: StreamLayout
  /** Returns the purpose of a request, or undefined if the request is not in this wire format. `path` has no query. */
  route(method: string, path: string): 'generate' | 'models' | undefined
  streams(body: JsonObject, path: string): boolean
  readRequest(body: JsonObject): WireRequest
  encodeStream(plan: TurnPlan, about: ReplyContext): StreamEncoder
  encodeWhole(plan: TurnPlan, about: ReplyContext): JsonObject
  encodeError(failure: WireFailure): JsonObject
  /** Returns the payload of an error inside a stream. */
  encodeStreamError(failure: WireFailure): JsonObject
  /** Returns the body of a list of models, in the form that a request to `path` expects. */
  encodeModels(models: readonly string[], path: string): JsonObject
}

/** Counts the pieces of each call of a turn. Pieces of several calls may interleave. */
export class CallPieces {
  readonly #left = new Map<number, number>()

  constructor({ steps }: TurnPlan) {
    for (const step of steps) {
      if (step.type === 'call' || step.type === 'arguments') this.#left.set(step.index, (this.#left.get(step.index) ?? 0) + 1)
    }
  }

  send(call: number): void {
    this.#left.set(call, (this.#left.get(call) ?? 1) - 1)
  }

  isComplete(call: number): boolean {
    return this.#left.get(call) === 0
  }
}

/** The creation time of responses, in seconds since 1970. It is constant, so that the same script gives the same bytes. */
export const createdAt: number = 1_700_000_000

/** Returns a call's arguments for a format that sends them as an object. Arguments that are not a JSON object are sent as text. */
export function argumentsObject(json: string): Json {
  if (json.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(json)
    // `JSON.stringify` throws for a value that is nested too deeply.
    return isJsonObject(value) && JSON.stringify(value) !== '' ? value : json
  } catch {
    // The script contains invalid JSON on purpose, so it is sent unchanged.
    return json
  }
}

/** Returns the objects in a list. Returns an empty list if the value is not a list. */
export function objectsIn(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}

export function stringOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}
