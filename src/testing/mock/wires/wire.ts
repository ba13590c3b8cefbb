import { type ChatMessage, isJsonObject, type Json, type JsonObject } from '../../../core/messages.ts'
import type { ToolChoice } from '../../../models/chat-model.ts'
import type { ToolDefinition } from '../../../tools/tool.ts'
import type { TurnPlan, TurnStep } from '../../script.ts'

/** Names of the wire formats the mock provider speaks. */
export type WireName = 'chat-completions' | 'responses' | 'anthropic-messages' | 'gemini-generate-content'

/** A recorded request body, read back into our own words. */
export interface WireRequest {
  /** The model that was asked for. */
  model?: string
  /** Without provider data, so that equal conversations are equal. */
  messages: ChatMessage[]
  /** Undefined when the body has no such key; `[]` when it has an empty list. */
  tools?: ToolDefinition[]
  /** Undefined when the body has none, or none that this wire knows. */
  toolChoice?: ToolChoice
}

/** What a reply has to know about the request it answers. */
export interface ReplyContext {
  /** Unique for each reply of a server, such as `mock_1`. */
  id: string
  /** The model the request asked for. */
  model: string
  body: JsonObject
}

/** What a streamed turn sends, pauses aside. */
export type TurnPiece = Exclude<TurnStep, { type: 'wait' }>

/** Turns the pieces of one streamed turn into payloads; may keep state, as it is made anew for each reply. */
export interface StreamEncoder {
  /** Comes before any piece. */
  open(): JsonObject[]
  step(step: TurnPiece): JsonObject[]
  /** Says that the response is complete. */
  finish(): JsonObject[]
}

/** How payloads are laid out in a streamed body. */
export interface StreamLayout {
  contentType: string
  /** The text between lines: LF for most, CRLF for Gemini. */
  lineEnd: '\n' | '\r\n'
  /** The name on the payload's `event:` line; undefined for none. */
  eventName(payload: JsonObject): string | undefined
  /** The data of a last event that ends the stream, such as `[DONE]`. */
  endMark?: string
}

/** A failure as the provider would word it. */
export interface WireFailure {
  status: number
  message: string
  /** `context_overflow`: worded as this provider words a conversation that is too long. */
  kind?: 'context_overflow'
}

/** What can't be expressed alike on every wire. The contract suite asks less where a wire can do less. */
interface WireTraits {
  /** Arguments travel as text, so that broken JSON and its white space arrive as they were sent. */
  argumentsAsText: boolean
  /** Call ids travel as they are, whatever their characters and length. */
  anyCallId: boolean
  /** Messages of one role in a row stay messages of their own; else they are sent as one. */
  rowsOfOneRole: boolean
  /** Has a word for a response in which the model itself declines. */
  refusals: boolean
}

/** One provider's wire format, from the server's side. Implementations are stateless; they may throw only for a defect of their own. */
export interface MockWire {
  readonly name: WireName
  readonly traits: WireTraits
  readonly layout: StreamLayout
  /** What a request to this path is for; undefined when it is not this wire's. `path` has no query. */
  route(method: string, path: string): 'generate' | 'models' | undefined
  /** Whether the client asked for a stream. */
  streams(body: JsonObject, path: string): boolean
  readRequest(body: JsonObject): WireRequest
  encodeStream(plan: TurnPlan, about: ReplyContext): StreamEncoder
  encodeWhole(plan: TurnPlan, about: ReplyContext): JsonObject
  /** The body of an error response. */
  encodeError(failure: WireFailure): JsonObject
  /** The payload of an error inside a stream. */
  encodeStreamError(failure: WireFailure): JsonObject
  /** The body of the answer to `models`, as it is sent from `path`. */
  encodeModels(models: readonly string[], path: string): JsonObject
}

/** Counts the pieces of each call of a turn, which may be sent in turns. */
export class CallPieces {
  readonly #left = new Map<number, number>()

  constructor({ steps }: TurnPlan) {
    for (const step of steps) {
      if (step.type === 'call' || step.type === 'arguments') this.#left.set(step.index, (this.#left.get(step.index) ?? 0) + 1)
    }
  }

  /** Takes note that one more piece of a call has been sent. */
  send(call: number): void {
    this.#left.set(call, (this.#left.get(call) ?? 1) - 1)
  }

  isComplete(call: number): boolean {
    return this.#left.get(call) === 0
  }
}

/** Fixed, so that the same script gives the same bytes; in seconds since 1970. */
export const createdAt: number = 1_700_000_000

/** A call's arguments where the format has an object: what is none is sent as its text, as a careless gateway would. */
export function argumentsObject(json: string): Json {
  if (json.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(json)
    // Written again to see that it can be: what is nested too deep can only be read.
    return isJsonObject(value) && JSON.stringify(value) !== '' ? value : json
  } catch {
    // Broken on purpose by the script.
    return json
  }
}

/** The objects of a list; none of anything else. */
export function objectsIn(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}

export function stringOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}
