import type { OptionNames } from '../core/check-options.ts'
import type { JsonObject } from '../core/messages.ts'
import type { ModelPrice } from './chat-model.ts'
import type { ThinkTags } from './quirk-checks.ts'
import type { RateLimits } from './rate-limiter.ts'

/**
 * An API key, or a function that returns it. The function is called for each request, so keys and tokens may expire.
 *
 * Contract: awaited; if it throws, the request fails.
 */
export type APIKey = string | (() => string | Promise<string>)

/** The settings of `createModel`. */
export interface ModelSettings {
  /** A provider in `config/providers.yaml`, or `'custom'` with a `baseURL`. */
  provider: string
  model: string
  /**
   * The key, or a function that returns it, such as an Azure token provider. The function's result is sent like a key of OpenAI's and
   * Anthropic's SDKs: as `Authorization: Bearer`, or `x-api-key`. Default: the provider's environment variable. An empty string counts as
   * absent.
   */
  apiKey?: APIKey
  baseURL?: string
  /**
   * The API to use if the provider has several, such as `'chat-completions'` or `'responses'`. Default: the one that serves the model;
   * `steps[].api` of a result names it.
   */
  api?: string
  /** Replaces the HTTP client. */
  fetch?: typeof globalThis.fetch
  /** Headers sent with every request. */
  headers?: Record<string, string>
  /**
   * False: the model has no native calls, and writes them as JSON text. Default true.
   * @deprecated Say how the model writes its calls instead, as in `dialect: 'json'`.
   */
  functionCalling?: boolean
  /**
   * The dialect of a model without native calls, such as `'hermes'`: tools are described in its prompt, and it writes calls as text. The
   * names are those of `toolloop/dialects`. Default: none; calls are native.
   */
  dialect?: string
  /**
   * Whether to read calls that the model writes as text although native ones were offered, from responses without native calls. Default:
   * the provider's (`config/providers.yaml`), which is true if its servers are known to let such calls through.
   */
  salvageTextCalls?: boolean
  /**
   * Whether thinking that the model writes in tags (`<think>…</think>`) at the start of its text is its reasoning, not its answer.
   * `'opened'`: so is everything before the first end tag, for models whose prompt opens the thinking. Default: the provider's
   * (`config/providers.yaml`), which is on if its servers are known to let thinking through.
   */
  thinkTags?: ThinkTags
  /** The longest silence in a stream, in milliseconds. Default 60,000. */
  streamIdleTimeoutMs?: number
  /**
   * The longest time without an event in a stream, in milliseconds. Comments, blank lines and pings keep a connection alive but are not
   * events. Default 600,000.
   */
  streamStallTimeoutMs?: number
  /** How often a failed request is retried. Default 2. */
  maxRetries?: number
  /** The longest wait between two attempts, in milliseconds. Default 30,000. */
  maxRetryDelayMs?: number
  /**
   * Limits on the requests to the model with this key, shared by all runs of the process. Requests beyond the limits wait. Limits for all
   * models of a provider together are in `providers`. Default: those of the provider's preset; the bundled presets have none.
   */
  rateLimits?: RateLimits
  /** US dollars per million tokens. */
  price?: ModelPrice
  /** The size of the model's context window, in tokens. */
  contextWindow?: number
  /** Overrides individual quirks of the provider in `config/providers.yaml`. */
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
