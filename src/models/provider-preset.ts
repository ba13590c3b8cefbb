import type { JsonObject } from '../core/messages.ts'
import type { ModelPrice } from './chat-model.ts'
import type { RateLimits } from './rate-limiter.ts'

/** What is known about a provider: its driver, address, key variable, quirks and prices. `config/providers.yaml` documents the fields. */
export interface ProviderPreset {
  driver: string
  /** The provider's only model, for providers that can be selected without a model name. */
  onlyModel?: string
  baseURL?: string
  baseURLEnv?: string
  /** The path to append if a base URL from the settings or the environment has no path. */
  baseURLPath?: string
  /** Environment variables for the API key. If several are listed, the first variable that is set is used. */
  apiKeyEnv?: string | string[]
  /** Whether requests may be sent without a key. Used for servers on the same machine. */
  apiKeyOptional?: boolean
  /** The header for the key. Default: `Authorization: Bearer`. */
  apiKeyHeader?: string
  /** Whether the provider's SDK may read other environment variables of the provider (organization, project, headers). */
  sdkEnvironment?: boolean
  /** Other APIs of the provider. The keys are the values of the setting `api`. */
  apis?: { [name: string]: OtherApi }
  /** Limits that all models of the provider share. They apply to each API key separately. */
  rateLimits?: RateLimits
  quirks?: JsonObject
  /** Facts about the models whose name matches `match`, a regular expression. Later entries override earlier ones. */
  models?: ModelPreset[]
}

/** An API that a provider offers in addition to the API of its `driver`. */
export interface OtherApi {
  /** The provider whose driver, quirks and models are used. The base URL and key remain those of the provider that offers this API. */
  as: string
  /** A regular expression that matches the models which use this API at `host` or a subdomain. Default: no models. */
  models?: string
  host?: string
}

/** Facts about all of a provider's models whose name matches the regular expression `match`. */
export interface ModelPreset {
  match: string
  /** Quirks that are merged over the quirks of the provider, key by key. */
  quirks?: JsonObject
  price?: ModelPrice
  contextWindow?: number
  /** Limits that all matching models share. They apply to each API key separately. */
  rateLimits?: RateLimits
}

/** The facts about a model in config/prices.yaml. */
export interface ListedModel {
  contextWindow: number
  /** Prices in chronological order. A price is valid through the day `until` (UTC). The last price has no `until`. */
  prices: readonly (ModelPrice & { until?: string })[]
}
