import type { JsonObject } from '../core/messages.ts'
import type { ModelPrice } from './chat-model.ts'
import type { RateLimits } from './rate-limiter.ts'

/** What is known of a provider; `config/providers.yaml` says what the fields mean. */
export interface ProviderPreset {
  driver: string
  /** The one model it has, so that the provider's name is enough. */
  onlyModel?: string
  baseURL?: string
  baseURLEnv?: string
  /** Appended to a base URL from the settings or the environment that has no path of its own. */
  baseURLPath?: string
  /** Of several the first that is set. */
  apiKeyEnv?: string | string[]
  /** Sent without a key as well: the servers of one's own machine. */
  apiKeyOptional?: boolean
  /** The header for the key; default `Authorization: Bearer`. */
  apiKeyHeader?: string
  /** The provider's SDK may read its own further environment variables (organisation, project, headers). */
  sdkEnvironment?: boolean
  /** Its other APIs, by the name that the setting `api` chooses one by. */
  apis?: { [name: string]: OtherApi }
  /** For all its models together, with one key. */
  rateLimits?: RateLimits
  quirks?: JsonObject
  /** What is true of the models whose name matches the regular expression; later entries go over earlier ones. */
  models?: ModelPreset[]
}

/** An API of a provider besides the one of its driver. */
export interface OtherApi {
  /** The provider whose driver, quirks and models apply. Address and key stay the same. */
  as: string
  /** The models that are asked over this API at `host` and its subdomains, as a regular expression. Default: none. */
  models?: string
  host?: string
}

/** What is known of a provider's models whose name matches. */
export interface ModelPreset {
  match: string
  /** Over the provider's, key by key. */
  quirks?: JsonObject
  price?: ModelPrice
  contextWindow?: number
  /** For all models that match together, with one key. */
  rateLimits?: RateLimits
}

/** What config/prices.yaml says of a model. */
export interface ListedModel {
  contextWindow: number
  /** One after the other, each until the end of a day (UTC); the last for ever. */
  prices: readonly (ModelPrice & { until?: string })[]
}
