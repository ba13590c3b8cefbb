import type { JsonObject } from '../core/messages.ts'
import type { ModelPrice } from './chat-model.ts'
import type { RateLimits } from './rate-limiter.ts'

/** The facts about a provider. `config/providers.yaml` documents the fields. */
export interface ProviderPreset {
  driver: string
  /** Its only model, so that the provider's name alone is enough. */
  onlyModel?: string
  baseURL?: string
  baseURLEnv?: string
  /** Appended to a base URL from the settings or the environment that has no path. */
  baseURLPath?: string
  /** If there are several, the first one that is set is used. */
  apiKeyEnv?: string | string[]
  /** Whether requests are sent without a key: for servers on the same machine. */
  apiKeyOptional?: boolean
  /** The header for the key. Default: `Authorization: Bearer`. */
  apiKeyHeader?: string
  /** Whether the provider's SDK may read its other environment variables (organization, project, headers). */
  sdkEnvironment?: boolean
  /** Its other APIs, by the name that the setting `api` selects. */
  apis?: { [name: string]: OtherApi }
  /** Limits for all its models together, with one key. */
  rateLimits?: RateLimits
  quirks?: JsonObject
  /** Facts about the models whose name matches the regular expression. Later entries override earlier ones. */
  models?: ModelPreset[]
}

/** An API of a provider besides its driver's. */
export interface OtherApi {
  /** The provider whose driver, quirks and models apply. Address and key stay the same. */
  as: string
  /** The models that use this API at `host` and its subdomains, as a regular expression. Default: none. */
  models?: string
  host?: string
}

/** Facts about a provider's models whose name matches. */
export interface ModelPreset {
  match: string
  /** Merged over the provider's, key by key. */
  quirks?: JsonObject
  price?: ModelPrice
  contextWindow?: number
  /** Limits for all matching models together, with one key. */
  rateLimits?: RateLimits
}

/** The facts about a model in config/prices.yaml. */
export interface ListedModel {
  contextWindow: number
  /** Prices in order, each valid until the end of a day (UTC). The last one stays valid. */
  prices: readonly (ModelPrice & { until?: string })[]
}
