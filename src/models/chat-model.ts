import { ModelError, messageOf, readableError, type ToolloopError } from '../core/errors.ts'
import type { EventPayloads, FinishReason } from '../core/events.ts'
import type { ChatMessage, JsonObject, ProviderData, ToolCall, Usage } from '../core/messages.ts'
import type { OptionNames } from '../core/option-names.ts'
import type { JsonSchema, SearchableTools, ToolDefinition } from '../tools/tool.ts'

/** Whether a model may, must or must not call tools, or which one it must call. */
export type ToolChoice = 'auto' | 'none' | 'required' | { type: 'function'; function: { name: string } }

/** Sampling settings. One a model does not take is left out and named in `response.warnings`. */
export interface Sampling {
  temperature?: number
  topP?: number
  /** Most tokens the response may have, reasoning included. */
  maxOutputTokens?: number
  stop?: string[]
  seed?: number
  frequencyPenalty?: number
  presencePenalty?: number
  reasoningEffort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh'
}

export const samplingNames: OptionNames<Sampling> = {
  temperature: true,
  topP: true,
  maxOutputTokens: true,
  stop: true,
  seed: true,
  frequencyPenalty: true,
  presencePenalty: true,
  reasoningEffort: true,
}

/** One request to a model. */
export interface ModelRequest extends Sampling {
  /** The conversation. */
  messages: readonly ChatMessage[]
  /** Absent or empty: the request has no tools and no tool choice. */
  tools?: readonly ToolDefinition[]
  /** Further tools, for a provider that searches them itself: a driver whose model takes that sends them in place of the tools they are `searchedBy`. */
  searchable?: SearchableTools
  /** Default `'auto'`. */
  toolChoice?: ToolChoice
  /** False: at most one call a response, where the provider can be told so. */
  parallelToolCalls?: boolean
  /**
   * The response's text is to be JSON of this schema, an object schema. A driver whose model does not take it leaves it out and says so
   * in `warnings`.
   */
  responseSchema?: { name: string; schema: JsonSchema }
  /** False: ask for one whole response. Default true. The response is the same either way. */
  stream?: boolean
  /** Aborts the request; `generate` then rejects with code `aborted`. */
  signal?: AbortSignal
  /** Longest silence between two pieces of the stream, in milliseconds. Default 60 000; `Infinity` waits for ever. */
  streamIdleTimeoutMs?: number
  /**
   * Longest time without an event of the stream, in milliseconds: comments, blank lines and pings keep a connection alive, but are none. Default
   * 600 000; `Infinity` waits for ever.
   */
  streamStallTimeoutMs?: number
  /** The same for requests that begin alike, so that the provider sends them where it has cached that. Left out where it is not taken. */
  cacheKey?: string
  /** Fields put into the provider's request body as they are. */
  providerOptions?: JsonObject
}

/** One whole response of a model. */
export interface ModelResponse {
  /** The whole visible text; `''` when none. */
  text: string
  /** The end of `text` that is the answer, if the model marked what comes before as commentary. Default: all of `text`. */
  answer?: string
  reasoning?: string
  /** All calls, in the response's order, arguments unparsed. Ids may be missing (`''`) or repeat: the loop makes them unique. */
  toolCalls: ToolCall[]
  /** `'tool_calls'` whenever there are complete calls, whatever the provider's word is; `'length'` when the response was cut. */
  finishReason: FinishReason
  /** The provider's own word. */
  rawFinishReason?: string
  usage?: Usage
  /** What must be sent back with this message to the same provider. */
  providerData?: ProviderData
  /** The provider that answered, where it may be another than the model's own. */
  provider?: string
  /** The model that answered, as the provider names it. */
  model?: string
  /** Its address, where it may be another than the model's own, and is known. */
  baseURL?: string
  /** The API it was asked over, if that may be another than the model's own; `''` if it is not known. */
  api?: string
  /** The provider's id of this response. */
  responseId?: string
  /** Settings that were not passed on, parts that were replaced, oddities that were put right. */
  warnings?: string[]
  /** How many failed requests came before this one. */
  retries?: number
  /** Milliseconds for which the request waited for `rateLimits` and a `Budget` before it was sent; absent where it did not wait. */
  waitedMs?: number
  /** Milliseconds from the request to the first piece of a streamed response. */
  timeToFirstTokenMs?: number
}

/**
 * Where a response goes while it arrives. Called synchronously, in order; the same pieces, joined, are in the response.
 * A sink must not throw. `index` counts the calls of this response from 0; `toolCallStart` comes once for each, before its deltas.
 */
export interface ModelSink {
  text?(delta: string): void
  reasoning?(delta: string): void
  toolCallStart?(index: number, id: string, name: string): void
  toolCallDelta?(index: number, json: string): void
  /** The request has to wait for `rateLimits` before it is sent; so many wait before it. */
  queued?(ahead: number): void
  /**
   * Asked before a response is given again from its beginning: because it broke off (`retries`: it is requested again, and `retry` follows), or
   * because its text turned out to be thinking. True: what was given is forgotten; no piece of it was shown to anybody, or those who were shown
   * it take it back when `retry` comes. False: nothing can be taken back. Default: false once the sink was given a piece.
   */
  restart?(retries?: boolean): boolean
  /** Told before a failed request is made again, or another model is asked in its place. */
  retry?(retry: ModelRetry): void
  /**
   * Asked if the provider refused what its model wrote as a malformed call, and quotes it in `text`. Resolves with the response that was
   * meant, or with undefined if that is in doubt: then the request is made again. Must not reject. Default: it is made again.
   */
  readRefused?(text: string): Promise<Pick<ModelResponse, 'text' | 'toolCalls'> | undefined>
}

/** What a failed request is followed by. */
export type ModelRetry = Omit<EventPayloads['MODEL_RETRY'], 'discards'>

/** US dollars for a million tokens. */
interface TokenPrice {
  /** Of tokens that are neither read from the provider's cache nor written to it. */
  input: number
  output: number
  /** Default: as `input`. */
  cacheRead?: number
  /** Default: as `input`. */
  cacheWrite?: number
}

/** What a model costs, in US dollars for a million tokens. */
export interface ModelPrice extends TokenPrice {
  /** What a request with more than `above` input tokens costs, all of it. Default: no more than others. */
  longContext?: TokenPrice & { above: number }
}

/** What a model can do, known before it is asked. */
export interface ModelCapabilities {
  /** Takes tools and answers with tool calls of its own. False: calls have to be written as text. */
  nativeTools: boolean
  /** The dialect it writes calls in, by its name in `toolloop/dialects`. Default `'tool-action'`. Only without native calls. */
  dialect?: string
  /** Offered native calls, it writes some as text all the same: those are read out of its replies. */
  salvageTextCalls?: boolean
  /** What of its settings is deprecated, and what to write instead. */
  deprecated?: string
  /** Holds its text to a JSON Schema by its own means: only in requests without tools, or beside tools as well. Absent: it does not. */
  structuredOutput?: 'alone' | 'with-tools'
  /** Tokens of its context window, when known. */
  contextWindow?: number
  /** For the cost budget and `usage.costUsd`. */
  price?: ModelPrice
  /** True when the provider reports what a request cost. */
  reportsCost?: boolean
}

/**
 * A provider's model behind one interface. `generate` makes one request (retries of a failed one aside) and either resolves with
 * the whole response or rejects with a `ModelError`; for a request whose `signal` was aborted, with code `aborted`.
 * It never runs tools, never parses arguments, and never resolves with a response that was cut unseen.
 */
export interface ChatModel {
  readonly provider: string
  readonly model: string
  readonly capabilities: ModelCapabilities
  /** Where it is asked, if that is known before it is: for telemetry. */
  readonly baseURL?: string | undefined
  /** The API it is asked over: `'chat-completions'`, `'responses'`, `'messages'` or `'generate-content'`. Undefined for models of one's own. */
  readonly api?: string | undefined
  generate(request: ModelRequest, sink?: ModelSink): Promise<ModelResponse>
  /**
   * Makes it ready to be asked; sends nothing to the provider. Rejects with `missing_api_key`, `missing_dependency`, `unknown_provider` or
   * `invalid_option` for a model that can't be asked as it is set up. Called before a run begins. Absent: there is nothing to check.
   */
  prepare?(): Promise<void>
  /** The model to ask throughout one turn, where that may change from turn to turn. */
  forTurn?(): ChatModel
}

/** What of `text`, which a response has come to, is the answer. */
export function answerIn({ answer }: Pick<ModelResponse, 'answer'>, text: string): string {
  // A hook or a guardrail may have changed the text.
  return typeof answer === 'string' && text.endsWith(answer) ? answer : text
}

/** The response without calls if a filter or the model itself stopped it: those may not run. `warnings` tells of them. */
export function withoutDeclinedCalls<Response extends ModelResponse>(response: Response): Response {
  const { finishReason, toolCalls, warnings = [] } = response
  if ((finishReason !== 'content_filter' && finishReason !== 'refusal') || toolCalls.length === 0) return response
  return { ...response, toolCalls: [], warnings: [...warnings, droppedCalls(toolCalls.length, finishReason)] }
}

/** The warning that tells of calls that are not run. */
export function droppedCalls(count: number, finishReason: 'content_filter' | 'refusal'): string {
  return `${count} tool call(s) of a ${finishReason === 'refusal' ? 'refused' : 'filtered'} response were dropped`
}

/** The error `generate` rejects with when its signal is aborted. */
export function abortedError(provider: string, cause?: unknown): ModelError {
  return new ModelError('aborted', 'The request was aborted', { provider, retryable: false, cause })
}

/** Also one of another installed copy of this package. */
export function isModelError(error: unknown): error is ModelError {
  return ModelError.isInstance(error) && 'retryable' in error
}

/** Any thrown value as the `ModelError` the contract promises; one that is none was not foreseen by the driver. */
export function toModelError(given: unknown, provider: string, model: string): ModelError | ToolloopError {
  const thrown = readableError(given)
  if (ModelError.isInstance(thrown)) return thrown
  return new ModelError('provider_error', messageOf(thrown), {
    provider,
    model,
    retryable: false,
    cause: thrown,
  })
}
