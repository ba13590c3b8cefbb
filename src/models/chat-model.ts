import type { OptionNames } from '../core/check-options.ts'
import { ModelError, messageOf, readableError, type ToolloopError } from '../core/errors.ts'
import type { EventPayloads, FinishReason } from '../core/events.ts'
import type { ChatMessage, JsonObject, ProviderData, ToolCall, Usage } from '../core/messages.ts'
import type { JsonSchema, SearchableTools, ToolDefinition } from '../tools/tool.ts'

/** Whether the model may (`'auto'`), must not (`'none'`) or must (`'required'`) call a tool. An object names the tool that it must call. */
export type ToolChoice = 'auto' | 'none' | 'required' | { type: 'function'; function: { name: string } }

/** Sampling settings. Settings that a model does not support are left out and named in `response.warnings`. */
export interface Sampling {
  temperature?: number
  topP?: number
  /** Maximum number of tokens in the response, including reasoning. */
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
  /** The tools to offer. If absent or empty, the request has no tools and no tool choice. */
  tools?: readonly ToolDefinition[]
  /**
   * Additional tools that the model finds by searching. If the provider has its own tool search, the driver sends these tools and leaves
   * out the tools named in `searchedBy`.
   */
  searchable?: SearchableTools
  /** Default: `'auto'`. */
  toolChoice?: ToolChoice
  /** Set to `false` to allow at most one call per response. Ignored if the provider has no such setting. */
  parallelToolCalls?: boolean
  /**
   * A schema that the response's text must match, as JSON. The schema describes an object. If the model does not support response schemas,
   * the driver leaves the schema out and adds a warning.
   */
  responseSchema?: { name: string; schema: JsonSchema }
  /**
   * Whether to stream the response. The resolved response is the same in both cases. A response that is not streamed is also passed to the
   * sink, in one piece. Default: true.
   */
  stream?: boolean
  /** Aborts the request. `generate` then rejects with the code `aborted`. */
  signal?: AbortSignal
  /**
   * Maximum time without any data from the provider, in milliseconds, counted from the start of the request. Default 60,000 while
   * streaming. `Infinity` disables the limit.
   */
  streamIdleTimeoutMs?: number
  /**
   * Maximum time without an event of the stream, in milliseconds, once the response has started. Comments, blank lines and pings keep a
   * connection alive but are not events. Default 600,000. `Infinity` disables the limit.
   */
  streamStallTimeoutMs?: number
  /** Routes requests that share a prefix to the same provider cache. Left out if the server does not accept it. */
  cacheKey?: string
  /** Fields that are added to the provider's request body unchanged. */
  providerOptions?: JsonObject
}

/** A complete response of a model. */
export interface ModelResponse {
  /** The whole visible text; `''` if the response has no text. */
  text: string
  /** The final part of `text`. Set if the model marked the text before it as commentary. Default: all of `text`. */
  answer?: string
  reasoning?: string
  /**
   * All calls in the order of the response, with unparsed arguments. Ids may be missing (`''`) or repeated; the agent loop makes them
   * unique.
   */
  toolCalls: ToolCall[]
  /**
   * `'tool_calls'` if the response has complete calls, even if the provider reports another reason. `'length'` if the response was cut off.
   */
  finishReason: FinishReason
  /** The provider's own finish reason. */
  rawFinishReason?: string
  usage?: Usage
  /** Data that must be sent back with this message to the same provider. */
  providerData?: ProviderData
  /** The provider that answered. Set if it may differ from the model's `provider`. */
  provider?: string
  /** The provider's name for the model that answered. */
  model?: string
  /** The base URL of the server that answered. Set if it is known and may differ from the model's `baseURL`. */
  baseURL?: string
  /** The API that answered. Set if it may differ from the model's `api`. `''` if the API is unknown. */
  api?: string
  /** The provider's id of this response. */
  responseId?: string
  /** Settings that were left out, parts of messages that were replaced, and irregularities of the response that were corrected. */
  warnings?: string[]
  /** The number of failed requests before the request that succeeded. */
  retries?: number
  /**
   * How long the request waited for `rateLimits` and a `Budget` before it was sent, in milliseconds. Absent if the request did not wait.
   */
  waitedMs?: number
  /** The time from the request to the first piece of a streamed response, in milliseconds. */
  timeToFirstTokenMs?: number
}

/**
 * Receives a response as it arrives. `index` counts the calls of the response from 0. `toolCallStart` is called once for each call, before
 * its deltas. `generate` still resolves with the complete response.
 *
 * Contract: methods are called synchronously and in order. They must not throw, and are not awaited.
 */
export interface ModelSink {
  text?(delta: string): void
  reasoning?(delta: string): void
  toolCallStart?(index: number, id: string, name: string): void
  toolCallDelta?(index: number, json: string): void
  /** Called if the request has to wait for `rateLimits`. `ahead` is the number of requests that are ahead of it in the queue. */
  queued?(ahead: number): void
  /**
   * Called before a response is delivered again from its start. If `retries` is true, the response broke off: `retry` is called next, and
   * the request is sent again. Otherwise, the text delivered so far turned out to be thinking.
   *
   * Return true if the pieces delivered so far can be discarded: they were not shown, or `retry` will remove them. Return false if they
   * can't be taken back. Default: true until the sink receives its first piece, then false.
   */
  restart?(retries?: boolean): boolean
  /** Called before a failed request is retried, and before another model is asked instead. */
  retry?(retry: ModelRetry): void
  /**
   * Called if the provider rejected the model's output as a malformed call. `text` is that output, as the provider's error quotes it.
   *
   * Contract: the function is awaited and must not reject. Resolve with the response that the model intended. Resolve with undefined if the
   * intention is unclear; the request is then retried. Default: the request is retried.
   */
  readRefused?(text: string): Promise<Pick<ModelResponse, 'text' | 'toolCalls'> | undefined>
}

/** The failed request, and how it is retried or which model is asked instead. */
export type ModelRetry = Omit<EventPayloads['MODEL_RETRY'], 'discards'>

/** Prices in US dollars per million tokens. */
interface TokenPrice {
  /** The price of input tokens that are neither read from the provider's cache nor written to it. */
  input: number
  output: number
  /** Default: the same as `input`. */
  cacheRead?: number
  /** Default: the same as `input`. */
  cacheWrite?: number
}

/** The price of a model, in US dollars per million tokens. */
export interface ModelPrice extends TokenPrice {
  /** The price of requests with more than `above` input tokens. It applies to all tokens of such a request. Default: the normal price. */
  longContext?: TokenPrice & { above: number }
}

/** The capabilities of a model, as known before the first request. */
export interface ModelCapabilities {
  /** Whether the model accepts tools and answers with native tool calls. If false, the model has to write calls as text. */
  nativeTools: boolean
  /**
   * For models without native calls: the name of the dialect (see `toolloop/dialects`) in which the model writes calls. Default:
   * `'tool-action'`.
   */
  dialect?: string
  /** Whether the model sometimes writes calls as text although native calls are offered. If so, such calls are read from the text. */
  salvageTextCalls?: boolean
  /** The warning about a deprecated setting. Set if the model's settings contain one. */
  deprecated?: string
  /**
   * The requests in which the provider can enforce a JSON Schema for the text: only requests without tools (`'alone'`), or also requests
   * with tools (`'with-tools'`). Default: no requests.
   */
  structuredOutput?: 'alone' | 'with-tools'
  /** The size of the model's context window in tokens, if known. */
  contextWindow?: number
  /** The price of the model. Used for the cost budget and `usage.costUsd`. */
  price?: ModelPrice
  /** Whether the provider reports the cost of requests. */
  reportsCost?: boolean
}

/**
 * A model of a provider.
 *
 * Contract: `generate` sends one request, apart from retries. It resolves with the complete response or rejects with a `ModelError`; if the
 * request's `signal` is aborted, the error's code is `aborted`. It never runs tools, never parses arguments, and never returns a response
 * that was cut off as if it were complete.
 */
export interface ChatModel {
  readonly provider: string
  readonly model: string
  readonly capabilities: ModelCapabilities
  /** The base URL of the server, if it is known in advance. Used for telemetry. */
  readonly baseURL?: string | undefined
  /**
   * The API that the model uses: `'chat-completions'`, `'responses'`, `'messages'` or `'generate-content'`. Undefined for custom models.
   */
  readonly api?: string | undefined
  generate(request: ModelRequest, sink?: ModelSink): Promise<ModelResponse>
  /**
   * Prepares the model before a run starts, without sending anything to the provider. Rejects with `missing_api_key`, `missing_dependency`,
   * `unknown_provider` or `invalid_option` if the model can't be used with its settings. Omit this method if there is nothing to check.
   */
  prepare?(): Promise<void>
  /** Returns the model to use for one whole turn. Implement this method only for a model that may change between turns. */
  forTurn?(): ChatModel
}

/** Returns the answer: the part of the final text that is not commentary. `text`: the response's final text. */
export function answerIn({ answer }: Pick<ModelResponse, 'answer'>, text: string): string {
  // If a hook or a guardrail has changed the answer, the whole text is returned.
  return typeof answer === 'string' && text.endsWith(answer) ? answer : text
}

/** If a filter or a refusal ended the response, removes the response's calls and adds a warning. Such calls must not run. */
export function withoutDeclinedCalls<Response extends ModelResponse>(response: Response): Response {
  const { finishReason, toolCalls, warnings = [] } = response
  if ((finishReason !== 'content_filter' && finishReason !== 'refusal') || toolCalls.length === 0) return response
  return { ...response, toolCalls: [], warnings: [...warnings, droppedCalls(toolCalls.length, finishReason)] }
}

export function droppedCalls(count: number, finishReason: 'content_filter' | 'refusal'): string {
  return `${count} tool call(s) of a ${finishReason === 'refusal' ? 'refused' : 'filtered'} response were dropped`
}

/** Creates the error that `generate` rejects with if its signal is aborted. */
export function abortedError(provider: string, cause?: unknown): ModelError {
  return new ModelError('aborted', 'The request was aborted', { provider, retryable: false, cause })
}

/** Whether an error is a `ModelError`, from this or another installed copy of this package. */
export function isModelError(error: unknown): error is ModelError {
  return ModelError.isInstance(error) && 'retryable' in error
}

/** Wraps a thrown value in a `ModelError`. Returns errors of this package unchanged. */
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
