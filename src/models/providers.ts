import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { InvalidOptionError, ModelError, ToolloopError } from '../errors.ts'
import { isJsonObject, type JsonObject } from '../messages.ts'
import type { ModelSettings } from './settings.ts'

/** What is known of a provider; `config/providers.yaml` says what the fields mean. */
export interface ProviderPreset {
  driver: string
  /** The one model it has, so that the provider's name is enough. */
  onlyModel?: string
  baseURL?: string
  baseURLEnv?: string
  /** Appended to a base URL from the settings or the environment that has no path of its own. */
  baseURLPath?: string
  apiKeyEnv?: string
  /** Sent without a key as well: the servers of one's own machine. */
  apiKeyOptional?: boolean
  /** The header for the key; default `Authorization: Bearer`. */
  apiKeyHeader?: string
  /** The provider's SDK may read its own further environment variables (organisation, project, headers). */
  sdkEnvironment?: boolean
  quirks?: JsonObject
  /** Quirks of models whose name matches the regular expression, over the provider's. */
  models?: { match: string; quirks: JsonObject }[]
}

const file = new URL('../../config/providers.yaml', import.meta.url)
let presets: ReadonlyMap<string, ProviderPreset> | undefined

/** The preset of a provider. Throws `unknown_provider`, with the names there are. */
export function findPreset(provider: string): ProviderPreset {
  const preset = allPresets().get(provider)
  if (preset === undefined) {
    const names = providerNames().join(', ')
    throw new ToolloopError(
      'unknown_provider',
      `Expected a known provider, got \`${provider}\`. There are: ${names}. Any other server that speaks \
the Chat Completions API is provider \`custom\` with a \`baseURL\``,
    )
  }
  return preset
}

export function providerNames(): string[] {
  return [...allPresets().keys()]
}

/** The model a provider's name alone stands for. */
export function findOnlyModel(provider: string): string | undefined {
  return allPresets().get(provider)?.onlyModel
}

/** The provider's quirks, then those of its models that `model` is one of. */
export function presetQuirks({ quirks, models = [] }: ProviderPreset, model: string): (JsonObject | undefined)[] {
  return [quirks, ...models.filter(({ match }) => new RegExp(match, 'i').test(model)).map((entry) => entry.quirks)]
}

/**
 * The key of the settings, else of the provider's environment variable; empty ones count as absent. Throws `missing_api_key`
 * when a request is made, not before: the environment may be filled later.
 */
export function findAPIKey({ provider, model, apiKey }: ModelSettings, { apiKeyEnv, apiKeyOptional }: ProviderPreset): string {
  const key = apiKey?.trim() || (apiKeyEnv === undefined ? undefined : process.env[apiKeyEnv]?.trim())
  if (key) return key
  // Client libraries insist on a key; such servers ignore it.
  if (apiKeyOptional) return 'none'
  const variable = apiKeyEnv === undefined ? '' : ` or the environment variable ${apiKeyEnv}`
  throw new ModelError('missing_api_key', `Expected \`apiKey\`${variable} to hold a key for \`${provider}/${model}\`, got none`, {
    provider,
    model,
    retryable: false,
  })
}

/** The base URL of the settings, else of the environment variable, else of the preset. Throws `invalid_option` when there is none. */
export function findBaseURL({ provider, baseURL }: ModelSettings, preset: ProviderPreset): string {
  const given = baseURL?.trim() || (preset.baseURLEnv === undefined ? undefined : process.env[preset.baseURLEnv]?.trim())
  const found = given || preset.baseURL
  if (!found) {
    const variable = preset.baseURLEnv === undefined ? '' : `, or the environment variable ${preset.baseURLEnv}`
    throw new InvalidOptionError('baseURL', `the address of \`${provider}\`${variable}`, baseURL)
  }
  const url = URL.parse(found)
  if (url === null || !/^https?:$/.test(url.protocol)) throw new InvalidOptionError('baseURL', 'an http or https URL', found)
  return url.pathname === '/' && preset.baseURLPath !== undefined && given ? `${url.origin}${preset.baseURLPath}` : found
}

function allPresets(): ReadonlyMap<string, ProviderPreset> {
  if (presets === undefined) {
    // Loaded on first use: whoever brings a model of their own needs neither the file nor a parser for it.
    const { parse } = createRequire(import.meta.url)('yaml') as typeof import('yaml')
    const parsed: unknown = parse(readFileSync(file, 'utf8'))
    if (!isJsonObject(parsed)) throw new InvalidOptionError('config/providers.yaml', 'a map of providers', parsed)
    presets = new Map(Object.entries(parsed).map(([name, preset]) => [name, checked(name, preset)]))
  }
  return presets
}

function checked(name: string, preset: unknown): ProviderPreset {
  if (!isJsonObject(preset) || typeof preset.driver !== 'string') {
    throw new InvalidOptionError(`config/providers.yaml: ${name}`, 'a map with a `driver`', preset)
  }
  return { ...preset, driver: preset.driver }
}
