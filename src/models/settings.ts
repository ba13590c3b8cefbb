import type { JsonObject } from '../core/messages.ts'
import type { OptionNames } from '../core/option-names.ts'
import type { ModelPrice } from './chat-model.ts'
import type { ThinkTags } from './quirk-checks.ts'
import type { RateLimits } from './rate-limiter.ts'

/** A key, or a function that returns the one to send. It is called for each request, so that a key or token may expire. */
export type APIKey = string | (() => string | Promise<string>)

/** What `createModel` takes besides `'provider/model'`. */
export interface ModelSettings {
  /** A provider of `config/providers.yaml`, or `'custom'` with a `baseURL`. */
  provider: string
  model: string
  /**
   * The key, or a function that returns it, such as a token provider of Azure or another source of tokens that expire. What a function
   * returns is sent as OpenAI's and Anthropic's SDKs send it: as `Authorization: Bearer`, or `x-api-key`. Default: the provider's environment
   * variable. An empty string counts as absent.
   */
  apiKey?: APIKey
  baseURL?: string
  /**
   * The API to ask the model over, such as `'chat-completions'` or `'responses'`, of a provider that has several. Default: the one that serves
   * the model, which `steps[].api` of a result names.
   */
  api?: string
  /** Replaces the HTTP client. */
  fetch?: typeof globalThis.fetch
  /** Sent with every request. */
  headers?: Record<string, string>
  /**
   * False: this model has no native calls and writes them as JSON text. Default true.
   * @deprecated Say how it writes its calls: `dialect: 'json'`.
   */
  functionCalling?: boolean
  /**
   * This model has no native calls: it is told of tools in its prompt, and writes calls as text in this dialect, such as `'hermes'`.
   * The names are those of `toolloop/dialects`. Default: none, calls are native.
   */
  dialect?: string
  /**
   * True: calls the model writes as text, although native ones were offered, are read out of replies that have no native call. The
   * default is that of the provider (`config/providers.yaml`): true where servers are known to let calls through as text.
   */
  salvageTextCalls?: boolean
  /**
   * True: thinking that the model writes in tags (`<think>…</think>`) at the beginning of its text is its reasoning, not its answer.
   * `'opened'`: also what comes before the first end tag, for models whose prompt opens the thinking. The default is that of the provider
   * (`config/providers.yaml`): on where servers are known to let it through.
   */
  thinkTags?: ThinkTags
  /** Longest silence in a stream, in milliseconds. Default 60 000. */
  streamIdleTimeoutMs?: number
  /**
   * Longest time without an event in a stream, in milliseconds: comments, blank lines and pings keep a connection alive, but are none. Default
   * 600 000.
   */
  streamStallTimeoutMs?: number
  /** How often a failed request is made again. Default 2. */
  maxRetries?: number
  /** Longest wait between two tries, in milliseconds. Default 30 000. */
  maxRetryDelayMs?: number
  /**
   * How much the model may be asked for at once, and in a minute, with this key: shared by all runs of the process. Requests beyond it wait.
   * Those of a provider, for all its models together, are in `providers`. Default: those of the provider's preset, which has none.
   */
  rateLimits?: RateLimits
  /** US dollars for a million tokens. */
  price?: ModelPrice
  /** Tokens of the model's context window. */
  contextWindow?: number
  /** Overrides the provider's quirks of `config/providers.yaml`, one by one. */
  quirks?: JsonObject
  /** Put into every request body as they are. */
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
