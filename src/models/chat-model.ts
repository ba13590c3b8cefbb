import type { OptionNames } from '../core/check-options.ts'
import { ModelError, messageOf, readableError, type ToolloopError } from '../core/errors.ts'
import type { EventPayloads, FinishReason } from '../core/events.ts'
import type { ChatMessage, JsonObject, ProviderData, ToolCall, Usage } from '../core/messages.ts'
import type { JsonSchema, SearchableTools, ToolDefinition } from '../tools/tool.ts'

/** Whether a model may, must or must not call tools, or which tool it must call. */
export type ToolChoice = 'auto' | 'none' | 'required' | { type: 'function'; function: { name: string } }

/** Sampling settings. Settings that a model does not support are left out and named in `response.warnings`. */
export interface Sampling {
  temperature?: number
  topP?: number
  /** The most tokens that the response may have, reasoning included. */
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

/** A request to a model. */
export interface ModelRequest extends Sampling {
  /** The conversation. */
  messages: readonly ChatMessage[]
  /** If absent or empty, the request has no tools and no tool choice. */
  tools?: readonly ToolDefinition[]
  /** Further tools, for a provider with its own tool search. Its driver sends them and leaves out the tools in `searchedBy`. */
  searchable?: SearchableTools
  /** Default: `'auto'`. */
  toolChoice?: ToolChoice
  /** False: at most one call per response, if the provider has a setting for it. */
  parallelToolCalls?: boolean
  /**
   * The response's text must be JSON that matches this schema, which describes an object. A driver whose model does not support that leaves
   * it out and adds a warning.
   */
  responseSchema?: { name: string; schema: JsonSchema }
  /** False: request the response as a whole. Default: true. The response is the same. */
  stream?: boolean
  /** Aborts the request. `generate` then rejects with code `aborted`. */
  signal?: AbortSignal
  /** The longest silence between two pieces of the stream, in milliseconds. Default 60,000. `Infinity` disables the limit. */
  streamIdleTimeoutMs?: number
  /**
   * The longest time without an event of the stream, in milliseconds. Comments, blank lines and pings keep a connection alive but are not
   * events. Default 600,000. `Infinity` disables the limit.
   */
  streamStallTimeoutMs?: number
  /** Routes requests that share a prefix to the same provider cache. Left out if the server does not accept it. */
  cacheKey?: string
  /** Fields that are added to the provider's request body unchanged. */
  providerOptions?: JsonObject
}

/** A complete response of a model. */
export interface ModelResponse {
  /** The whole visible text; `''` if there is none. */
  text: string
  /** The part at the end of `text` that is the answer, if the model marked the rest as commentary. Default: all of `text`. */
  answer?: string
  reasoning?: string
  /** All calls in the order of the response, with unparsed arguments. Ids may be missing (`''`) or repeated: the loop makes them unique. */
  toolCalls: ToolCall[]
  /** `'tool_calls'` if there are complete calls, whatever the provider says; `'length'` if the response was cut off. */
  finishReason: FinishReason
  /** The provider's own finish reason. */
  rawFinishReason?: string
  usage?: Usage
  /** Data that must be sent back with this message to the same provider. */
  providerData?: ProviderData
  /** The provider that answered, if it may differ from the model's own. */
  provider?: string
  /** The model that answered, by the provider's name for it. */
  model?: string
  /** The address that answered, if it is known and may differ from the model's own. */
  baseURL?: string
  /** The API that answered, if it may differ from the model's own; `''` if it is unknown. */
  api?: string
  /** The provider's id of this response. */
  responseId?: string
  /** Settings that were not sent, parts that were replaced, and irregularities that were repaired. */
  warnings?: string[]
  /** The number of failed requests before this one. */
  retries?: number
  /** How long the request waited for `rateLimits` and a `Budget` before it was sent, in milliseconds. Absent if it did not wait. */
  waitedMs?: number
  /** The time from the request to the first piece of a streamed response, in milliseconds. */
  timeToFirstTokenMs?: number
}

/**
 * Receives a response as it arrives. `index` counts the calls of the response from 0; `toolCallStart` is called once for each, before its
 * deltas. The joined pieces are also in the response.
 *
 * Contract: methods are called synchronously and in order. They must not throw, and are not awaited.
 */
export interface ModelSink {
  text?(delta: string): void
  reasoning?(delta: string): void
  toolCallStart?(index: number, id: string, name: string): void
  toolCallDelta?(index: number, json: string): void
  /** Called if the request has to wait for `rateLimits`, with the number of requests before it. */
  queued?(ahead: number): void
  /**
   * Called before a response is delivered again from its start. With `retries`, it broke off and the request is retried; `retry` follows.
   * Otherwise its text turned out to be thinking.
   *
   * Return true to discard what was delivered: it was not shown, or it is taken back at `retry`. Return false if it can't be taken
   * back. Default: false once the sink has received a piece.
   */
  restart?(retries?: boolean): boolean
  /** Called before a failed request is retried, or another model is asked instead. */
  retry?(retry: ModelRetry): void
  /**
   * Called if the provider refused the model's output as a malformed call and quotes it in `text`.
   *
   * Contract: awaited, and must not reject. Resolve with the response that was meant, or with undefined if that is unclear; the request is
   * then retried. Default: it is retried.
   */
  readRefused?(text: string): Promise<Pick<ModelResponse, 'text' | 'toolCalls'> | undefined>
}

/** Describes the retry, or the next model, after a failed request. */
export type ModelRetry = Omit<EventPayloads['MODEL_RETRY'], 'discards'>

/** Prices in US dollars per million tokens. */
interface TokenPrice {
  /** For input tokens that are neither read from the provider's cache nor written to it. */
  input: number
  output: number
  /** Default: the same as `input`. */
  cacheRead?: number
  /** Default: the same as `input`. */
  cacheWrite?: number
}

/** The price of a model, in US dollars per million tokens. */
export interface ModelPrice extends TokenPrice {
  /** The price of a whole request with more than `above` input tokens. Default: the normal price. */
  longContext?: TokenPrice & { above: number }
}

/** What a model supports, known before it is asked. */
export interface ModelCapabilities {
  /** Whether it accepts tools and answers with native tool calls. If false, it has to write calls as text. */
  nativeTools: boolean
  /** The dialect in which it writes calls, by its name in `toolloop/dialects`. Default: `'tool-action'`. Only without native calls. */
  dialect?: string
  /** Whether it writes some calls as text even if native ones are offered. Those are read from its text. */
  salvageTextCalls?: boolean
  /** A deprecated setting, and what to write instead. */
  deprecated?: string
  /**
   * Whether the provider enforces a JSON Schema for the text: only in requests without tools, or also beside tools. If absent, it doesn't.
   */
  structuredOutput?: 'alone' | 'with-tools'
  /** The size of its context window in tokens, if known. */
  contextWindow?: number
  /** Used for the cost budget and `usage.costUsd`. */
  price?: ModelPrice
  /** Whether the provider reports what a request cost. */
  reportsCost?: boolean
}

/**
 * A model of a provider.
 *
 * Contract: `generate` sends one request, apart from retries. It resolves with the complete response or rejects with a `ModelError`; if the
 * request's `signal` is aborted, its code is `aborted`. It never runs tools, never parses arguments, and never returns a response that was
 * cut off as if it were complete.
 */
export interface ChatModel {
  readonly provider: string
  readonly model: string
  readonly capabilities: ModelCapabilities
  /** The address that is asked, if it is known in advance; used for telemetry. */
  readonly baseURL?: string | undefined
  /** The API that is used: `'chat-completions'`, `'responses'`, `'messages'` or `'generate-content'`. Undefined for custom models. */
  readonly api?: string | undefined
  generate(request: ModelRequest, sink?: ModelSink): Promise<ModelResponse>
  /**
   * Prepares the model before a run starts, without sending anything to the provider. Rejects with `missing_api_key`, `missing_dependency`,
   * `unknown_provider` or `invalid_option` if the model can't be used with its settings. Omit it if there is nothing to check.
   */
  prepare?(): Promise<void>
  /** Returns the model to ask throughout one turn, if it may change between turns. */
  forTurn?(): ChatModel
}

/** The part of `text`, the response's final text, that is the answer. */
export function answerIn({ answer }: Pick<ModelResponse, 'answer'>, text: string): string {
  // The text may have been changed by a hook or a guardrail.
  return typeof answer === 'string' && text.endsWith(answer) ? answer : text
}

/** Removes the calls of a response that a filter or the model itself stopped: they must not run. Adds a warning. */
export function withoutDeclinedCalls<Response extends ModelResponse>(response: Response): Response {
  const { finishReason, toolCalls, warnings = [] } = response
  if ((finishReason !== 'content_filter' && finishReason !== 'refusal') || toolCalls.length === 0) return response
  return { ...response, toolCalls: [], warnings: [...warnings, droppedCalls(toolCalls.length, finishReason)] }
}

/** The warning about calls that were dropped. */
export function droppedCalls(count: number, finishReason: 'content_filter' | 'refusal'): string {
  return `${count} tool call(s) of a ${finishReason === 'refusal' ? 'refused' : 'filtered'} response were dropped`
}

/** The error that `generate` rejects with if its signal is aborted. */
export function abortedError(provider: string, cause?: unknown): ModelError {
  return new ModelError('aborted', 'The request was aborted', { provider, retryable: false, cause })
}

/** Whether an error is a `ModelError`, of this or another installed copy of this package. */
export function isModelError(error: unknown): error is ModelError {
  return ModelError.isInstance(error) && 'retryable' in error
}

/** Converts anything thrown to the `ModelError` that the contract promises. Other kinds of errors were not foreseen by the driver. */
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
