import { checkOptionNames, type Optional, type OptionNames } from '../core/check-options.ts'
import { InvalidOptionError, ModelError, ToolloopError } from '../core/errors.ts'
import { isJsonObject, type JsonObject, withoutUndefined } from '../core/messages.ts'
import { didYouMean } from '../core/nearest-name.ts'
import { stoppedAfter } from '../core/time/stopped-after.ts'
import { bundledPresets } from './bundled-presets.ts'
import { listedFacts } from './price-list.ts'
import type { ModelPreset, OtherApi, ProviderPreset } from './provider-preset.ts'
import { checkRateLimits, type RateLimits } from './rate-limiter.ts'
import type { APIKey, ModelSettings } from './settings.ts'

export type { ModelPreset, OtherApi, ProviderPreset }

/**
 * Additional providers, and changes to the providers in `config/providers.yaml`, by name. Quirks are merged key by key, `models` are
 * appended, and any other field replaces the existing one.
 */
export type Providers = Readonly<Record<string, Optional<ProviderPreset>>>

const presetNames: OptionNames<ProviderPreset> = {
  driver: true,
  onlyModel: true,
  baseURL: true,
  baseURLEnv: true,
  baseURLPath: true,
  apiKeyEnv: true,
  apiKeyOptional: true,
  apiKeyHeader: true,
  sdkEnvironment: true,
  apis: true,
  rateLimits: true,
  quirks: true,
  models: true,
}
const apiNames: OptionNames<OtherApi> = { as: true, models: true, host: true }
const modelNames: OptionNames<ModelPreset> = { match: true, quirks: true, price: true, contextWindow: true, rateLimits: true }

let bundledPatterns: ReadonlySet<string> | undefined

/**
 * Returns the preset of a provider. Throws `unknown_provider` with a message that lists the known names, or `invalid_option` for an invalid
 * preset in `own`.
 */
export function findPreset(provider: string, own: Providers = {}): ProviderPreset {
  const bundled = bundledPreset(provider)
  const added = Object.hasOwn(own, provider) ? own[provider] : undefined
  if (added !== undefined) return checked(`providers.${provider}`, merged(bundled, added))
  if (bundled === undefined) {
    const names = [...new Set([...providerNames(), ...Object.keys(own)])]
    throw new ToolloopError(
      'unknown_provider',
      `Expected a known provider, got \`${provider}\`${didYouMean(provider, names)}. Known: ${names.join(', ')}. For any other server with \
the Chat Completions API, use the provider \`custom\` with a \`baseURL\``,
    )
  }
  return bundled
}

function merged(bundled: ProviderPreset | undefined, added: Partial<ProviderPreset>): Partial<ProviderPreset> {
  if (typeof added !== 'object' || added === null) return added
  const models = [bundled?.models, added.models].flatMap((entries) => entries ?? [])
  const quirks = isJsonObject(added.quirks) ? { ...bundled?.quirks, ...added.quirks } : added.quirks
  return { ...bundled, ...added, ...withoutUndefined({ quirks }), ...(models.length === 0 ? {} : { models }) }
}

export function providerNames(): string[] {
  return Object.keys(bundledPresets)
}

/** Returns the preset for another API of a provider. Throws the errors of `findPreset`. */
export function presetOver({ as }: OtherApi, preset: ProviderPreset, own: Providers): ProviderPreset {
  const { driver, quirks = {}, models = [] } = findPreset(as, own)
  return { ...preset, driver, quirks, models }
}

/**
 * Returns the API that the model uses at the API's `host`. At any other base URL, the model uses the driver's own API. The caller checks
 * the base URL.
 */
export function hostedApi({ apis = {} }: ProviderPreset, model: string): OtherApi | undefined {
  return Object.values(apis).find(({ host, models }) => host !== undefined && models !== undefined && matches(models, model))
}

/** Whether the host of `baseURL` is `host` or one of its subdomains, such as a regional endpoint. */
export function isAtHost(host: string | undefined, baseURL: string | undefined): boolean {
  const hostname = baseURL === undefined ? undefined : URL.parse(baseURL)?.hostname
  return host !== undefined && hostname !== undefined && (hostname === host || hostname.endsWith(`.${host}`))
}

/** Returns the model that is used if only the provider's name is given. */
export function findOnlyModel(provider: string): string | undefined {
  return bundledPreset(provider)?.onlyModel
}

function bundledPreset(provider: string): ProviderPreset | undefined {
  return Object.hasOwn(bundledPresets, provider) ? bundledPresets[provider] : undefined
}

/** The provider's quirks, followed by the quirks of all `models` entries that match. */
export function presetQuirks(preset: ProviderPreset, model: string): (JsonObject | undefined)[] {
  return [preset.quirks, ...entriesOf(preset, model).map(({ quirks }) => quirks)]
}

/** Returns the price and context window of the model. Values in the preset take precedence over the provider's published values. */
export function presetFacts(provider: string, preset: ProviderPreset, model: string): Pick<ModelPreset, 'price' | 'contextWindow'> {
  const entries = entriesOf(preset, model)
  const listed = listedFacts(provider, model)
  const price = entries.findLast((entry) => entry.price !== undefined)?.price ?? listed.price
  const contextWindow = entries.findLast((entry) => entry.contextWindow !== undefined)?.contextWindow ?? listed.contextWindow
  return withoutUndefined({ price, contextWindow })
}

/**
 * A group of models that share limits. `part` identifies the group: a single model, or all models that match an entry of the preset. Null:
 * all models of the provider.
 */
export interface LimitedPart {
  part: string | null
  limits: RateLimits
}

/** Returns the limits that apply to a model's requests, with the smallest group of models first. */
export function rateLimitsOf({ model, rateLimits }: ModelSettings, preset: ProviderPreset): LimitedPart[] {
  const entry = entriesOf(preset, model).findLast((one) => one.rateLimits !== undefined)
  const parts: { part: string | null; limits: RateLimits | undefined }[] = [
    rateLimits === undefined
      ? { part: `models ${entry?.match}`, limits: entry?.rateLimits }
      : { part: `model ${model}`, limits: rateLimits },
    { part: null, limits: preset.rateLimits },
  ]
  return parts.flatMap(({ part, limits }) => (limits === undefined ? [] : [{ part, limits }]))
}

/** Returns an identifier for the current combination of base URL and API key. Does not validate them. */
export function accountOf({ provider, baseURL, apiKey }: ModelSettings, preset: ProviderPreset): string {
  const key = typeof apiKey === 'function' ? `function ${functionNumber(apiKey)}` : apiKey?.trim() || keyInEnvironment(preset) || null
  const { baseURLEnv } = preset
  const address = baseURL?.trim() || (baseURLEnv === undefined ? undefined : process.env[baseURLEnv]?.trim())
  return JSON.stringify([provider, address || null, key])
}

const functionNumbers = new WeakMap<object, number>()
let functions = 0

/** Returns the same number each time for the same function. */
function functionNumber(apiKey: object): number {
  const number = functionNumbers.get(apiKey) ?? ++functions
  functionNumbers.set(apiKey, number)
  return number
}

function keyInEnvironment({ apiKeyEnv }: Pick<ProviderPreset, 'apiKeyEnv'>): string | undefined {
  return [apiKeyEnv ?? []]
    .flat()
    .map((name) => process.env[name]?.trim())
    .find(Boolean)
}

function entriesOf({ models = [] }: ProviderPreset, model: string): ModelPreset[] {
  return models.filter(({ match }) => matches(match, model))
}

const mostMatchMs = 20

/**
 * Whether a model's name matches a pattern. Throws `invalid_option` if matching takes too long: patterns may come from users, who must not
 * be able to block the runs of other users.
 */
function matches(match: string, model: string): boolean {
  const pattern = new RegExp(match, 'i')
  bundledPatterns ??= new Set(
    Object.values(bundledPresets).flatMap(({ models = [], apis = {} }) => [
      ...models.map((entry) => entry.match),
      ...Object.values(apis).flatMap((api) => api.models ?? []),
    ]),
  )
  if (bundledPatterns.has(match)) return pattern.test(model)
  const tested = stoppedAfter(mostMatchMs, () => pattern.test(model))
  if (tested === undefined) throw new InvalidOptionError('providers.models[].match', 'a regular expression that matches quickly', match)
  return tested.value
}

/**
 * Finds the API key in the settings, otherwise in the provider's environment variable. An empty key counts as absent. Throws
 * `missing_api_key`. Called for each request, because the variable may be set later.
 */
export function findAPIKey({ provider, model, apiKey }: ModelSettings, { apiKeyEnv, apiKeyOptional }: ProviderPreset): APIKey {
  if (typeof apiKey === 'function') return apiKey
  const variables = [apiKeyEnv ?? []].flat()
  const key = apiKey?.trim() || keyInEnvironment({ apiKeyEnv: variables })
  if (key) return key
  // A placeholder, because client libraries require a key. Servers that need no key ignore it.
  if (apiKeyOptional) return 'none'
  const variable = variables.length === 0 ? '' : ` or the environment variable ${variables.join(' or ')}`
  throw new ModelError('missing_api_key', `Expected \`apiKey\`${variable} to hold a key for \`${provider}/${model}\`, got none`, {
    provider,
    model,
    retryable: false,
  })
}

/**
 * Describes a provider's key in the environment. `keyEnv`: the variable that contains the key. If no key is set: the first variable that
 * may contain it. `hasKey`: whether a key is set. Null if no key is set and the provider needs none.
 */
export function describeKey({ apiKeyEnv, apiKeyOptional }: ProviderPreset): { keyEnv: string | null; hasKey: boolean | null } {
  const variables = [apiKeyEnv ?? []].flat()
  const found = variables.find((name) => process.env[name]?.trim())
  if (found !== undefined) return { keyEnv: found, hasKey: true }
  const [first = null] = variables
  return { keyEnv: first, hasKey: apiKeyOptional ? null : false }
}

/**
 * Finds the base URL in the settings, the environment variable, or the preset, in this order. Throws `invalid_option` if no base URL is
 * found.
 */
export function findBaseURL(settings: ModelSettings, preset: ProviderPreset): string {
  const { provider, baseURL } = settings
  const { given, found } = lookForBaseURL(settings, preset)
  if (!found) {
    const variable = preset.baseURLEnv === undefined ? '' : `, or the environment variable ${preset.baseURLEnv}`
    throw new InvalidOptionError('baseURL', `the URL of \`${provider}\`${variable}`, baseURL)
  }
  const url = URL.parse(found)
  if (url === null || !/^https?:$/.test(url.protocol)) throw new InvalidOptionError('baseURL', 'an http or https URL', found)
  return url.pathname === '/' && preset.baseURLPath !== undefined && given ? `${url.origin}${preset.baseURLPath}` : found
}

/** Like `findBaseURL`, but returns undefined if no base URL is found. An invalid URL is reported only when a request is sent. */
export function knownBaseURL(settings: ModelSettings, preset: ProviderPreset): string | undefined {
  return lookForBaseURL(settings, preset).found || undefined
}

function lookForBaseURL({ baseURL }: ModelSettings, { baseURLEnv, baseURL: preset }: ProviderPreset) {
  const given = baseURL?.trim() || (baseURLEnv === undefined ? undefined : process.env[baseURLEnv]?.trim())
  return { given, found: given || preset }
}

function checked(where: string, preset: unknown): ProviderPreset {
  if (!isJsonObject(preset) || typeof preset.driver !== 'string') throw new InvalidOptionError(where, 'a map with a `driver`', preset)
  checkOptionNames(preset, presetNames, 'a provider', where)
  const { quirks = {}, models = [] } = preset
  if (!isJsonObject(quirks)) throw new InvalidOptionError(`${where}.quirks`, 'a map', quirks)
  if (!Array.isArray(models)) throw new InvalidOptionError(`${where}.models`, 'a list', models)
  checkApis(preset.apis, `${where}.apis`)
  checkRateLimits(preset.rateLimits, `${where}.rateLimits`)
  for (const [at, entry] of models.entries()) checkModel(`${where}.models[${at}]`, entry)
  return { ...preset, driver: preset.driver }
}

function checkApis(apis: unknown, where: string): void {
  if (apis === undefined) return
  if (!isJsonObject(apis)) throw new InvalidOptionError(where, 'a map', apis)
  for (const [name, api] of Object.entries(apis)) {
    if (!isJsonObject(api) || typeof api.as !== 'string') throw new InvalidOptionError(`${where}.${name}`, 'a map with `as`', api)
    checkOptionNames(api, apiNames, 'an API of a provider', `${where}.${name}`)
    const { models, host } = api
    if (models !== undefined && (typeof models !== 'string' || !isPattern(models)))
      throw new InvalidOptionError(`${where}.${name}.models`, 'a regular expression', models)
    if (host !== undefined && typeof host !== 'string') throw new InvalidOptionError(`${where}.${name}.host`, 'a host name', host)
  }
}

function checkModel(where: string, entry: unknown): void {
  if (!isJsonObject(entry) || typeof entry.match !== 'string' || !isPattern(entry.match)) {
    throw new InvalidOptionError(where, 'a map with a regular expression `match`', entry)
  }
  checkOptionNames(entry, modelNames, "a provider's model", where)
  checkFacts(entry, where)
}

/** Throws `invalid_option` for an invalid price, context window or rate limit. */
export function checkFacts(
  { price, contextWindow, rateLimits }: { price?: unknown; contextWindow?: unknown; rateLimits?: unknown },
  where?: string,
): void {
  const path = (name: string) => (where === undefined ? name : `${where}.${name}`)
  if (price !== undefined && !isPrice(price)) {
    throw new InvalidOptionError(path('price'), 'US dollars for a million tokens, `{input, output}` with numbers ≥ 0', price)
  }
  if (contextWindow !== undefined && !(Number.isInteger(contextWindow) && Number(contextWindow) > 0)) {
    throw new InvalidOptionError(path('contextWindow'), 'a number of tokens > 0', contextWindow)
  }
  checkRateLimits(rateLimits, path('rateLimits'))
}

function isPrice(price: unknown): boolean {
  if (!isTokenPrice(price)) return false
  const { longContext } = price
  return longContext === undefined || (isTokenPrice(longContext) && typeof longContext.above === 'number' && longContext.above > 0)
}

function isTokenPrice(price: unknown): price is JsonObject {
  if (!isJsonObject(price)) return false
  const { input, output, cacheRead = 0, cacheWrite = 0 } = price
  return [input, output, cacheRead, cacheWrite].every((dollars) => typeof dollars === 'number' && dollars >= 0)
}

function isPattern(match: string): boolean {
  try {
    new RegExp(match, 'i')
    return true
  } catch {
    return false
  }
}
