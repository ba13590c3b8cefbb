import type { OptionNames } from '../core/check-options.ts'
import type { JsonObject } from '../core/messages.ts'
import type { ModelPrice } from './chat-model.ts'
import type { ThinkTags } from './quirk-checks.ts'
import type { RateLimits } from './rate-limiter.ts'

/**
 * An API key, or a function that returns it. The function is called for each request, so keys and tokens may expire.
 *
 * Contract: the function is awaited. If it throws, the request fails.
 */
export type APIKey = string | (() => string | Promise<string>)

/** The settings of `createModel`. */
export interface ModelSettings {
  /** A provider in `config/providers.yaml`, or `'custom'` with a `baseURL`. */
  provider: string
  /** The model's name at the provider. */
  model: string
  /**
   * The key, or a function that returns it, such as an Azure token provider. OpenAI's SDK sends the result of a function as `Authorization:
   * Bearer`, Anthropic's SDK as `x-api-key`, even if the provider uses another header for keys. Default: the provider's environment
   * variable. An empty string counts as absent.
   */
  apiKey?: APIKey
  /** The address of the API. Default: the provider's address. */
  baseURL?: string
  /**
   * The API to use if the provider has several, such as `'chat-completions'` or `'responses'`. Default: the API that serves the model.
   * `steps[].api` of a result shows which API was used.
   *
   * @see [OpenAI](docs/providers.md#openai)
   */
  api?: string
  /**
   * Replaces the HTTP client. Default: undici, or Bun's `fetch`.
   *
   * Contract: the same as that of the global `fetch`. If the function rejects, the request counts as a failed connection, and is retried.
   */
  fetch?: typeof globalThis.fetch
  /** Headers sent with every request. */
  headers?: Record<string, string>
  /**
   * Set to `false` for a model without native calls. The model then writes its calls as JSON text. Default true.
   *
   * @deprecated Say how the model writes its calls instead, as in `dialect: 'json'`.
   */
  functionCalling?: boolean
  /**
   * The dialect of a model without native calls, such as `'hermes'`. Tools are then described in the prompt, and the model writes calls as
   * text. `toolloop/dialects` lists the names. Default: none, because calls are native.
   *
   * @see [text calls](docs/text-calls.md)
   */
  dialect?: string
  /**
   * Whether to read calls from the text of responses without native calls. Some models write calls as text although native calls were
   * offered. Default: the value in `config/providers.yaml`, which is true for providers whose servers are known to leave such calls in the
   * text.
   */
  salvageTextCalls?: boolean
  /**
   * Whether text in thinking tags (`<think>…</think>`) at the start of a response counts as reasoning instead of as part of the answer.
   * With `'opened'`, all text before the first end tag also counts as reasoning. Use `'opened'` for models whose prompt already contains
   * the start tag. Default: the value in `config/providers.yaml`, which is on for providers whose servers are known to leave thinking in
   * the text.
   *
   * @see [thinking in tags](docs/text-calls.md#thinking-in-tags)
   */
  thinkTags?: ThinkTags
  /** Maximum time without any data from the provider, in milliseconds. Default 60,000 while streaming. */
  streamIdleTimeoutMs?: number
  /**
   * Maximum time without an event of a stream, in milliseconds, once the response has started. Comments, blank lines and pings keep a
   * connection alive but are not events. Default 600,000.
   */
  streamStallTimeoutMs?: number
  /** Maximum number of retries of a failed request. Default 2. */
  maxRetries?: number
  /** Maximum wait between two attempts, in milliseconds. Default 30,000. */
  maxRetryDelayMs?: number
  /**
   * Limits on requests to this model with this key. All runs of the process share these limits, and requests beyond the limits wait. To
   * limit all models of a provider together, use `providers`. Default: the limits in the provider's preset; the bundled presets have none.
   *
   * @see [rate limits](docs/rate-limits.md)
   */
  rateLimits?: RateLimits
  /** The price of the model, in US dollars per million tokens. Default: the published price. */
  price?: ModelPrice
  /** The size of the model's context window, in tokens. Default: the published size. */
  contextWindow?: number
  /** Overrides individual quirks of the provider that are set in `config/providers.yaml`. */
  quirks?: JsonObject
  /** Fields that are added to every request body unchanged. */
  providerOptions?: JsonObject
}

export const settingNames: OptionNames<ModelSettings> = {
  provider: true,
  model: true,
  apiKey: true,
  baseURL: true,
  api: true,
  fetch: true,
  headers: true,
  functionCalling: true,
  dialect: true,
  salvageTextCalls: true,
  thinkTags: true,
  streamIdleTimeoutMs: true,
  streamStallTimeoutMs: true,
  maxRetries: true,
  maxRetryDelayMs: true,
  rateLimits: true,
  price: true,
  contextWindow: true,
  quirks: true,
  providerOptions: true,
}
