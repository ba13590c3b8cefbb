import type { JsonObject } from '../messages.ts'
import type { ModelPrice } from './model.ts'

/** What `createModel` takes besides `'provider/model'`. */
export interface ModelSettings {
  /** A provider of `config/providers.yaml`, or `'custom'` with a `baseURL`. */
  provider: string
  model: string
  /** Default: the provider's environment variable. An empty string counts as absent. */
  apiKey?: string
  baseURL?: string
  /** Replaces the HTTP client. */
  fetch?: typeof globalThis.fetch
  /** Sent with every request. */
  headers?: Record<string, string>
  /** False: this model can't be sent tools. Default true. */
  functionCalling?: boolean
  /** Longest silence in a stream, in milliseconds. Default 60 000. */
  streamIdleTimeoutMs?: number
  /** How often a failed request is made again. Default 2. */
  maxRetries?: number
  /** Longest wait between two tries, in milliseconds. Default 30 000. */
  maxRetryDelayMs?: number
  /** US dollars for a million tokens. */
  price?: ModelPrice
  /** Tokens of the model's context window. */
  contextWindow?: number
  /** Overrides the provider's quirks of `config/providers.yaml`, one by one. */
  quirks?: JsonObject
  /** Put into every request body as they are. */
  providerOptions?: JsonObject
}
