import { isDeepStrictEqual } from 'node:util'
import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import { findPreset, type ProviderPreset } from '../../models/presets.ts'
import { type Problem, pointerTo } from '../http/problem.ts'

/** The fields of a provider that determine where its key is sent, and in which header. */
const addressFields = ['driver', 'baseURL', 'baseURLEnv', 'baseURLPath', 'apiKeyHeader', 'apis']

/**
 * Finds the environment variables that a change over the API must not use. Without this check, an admin could send any variable to any
 * server. A variable that the file already uses may stay if its destination is unchanged.
 */
export function unlistedVariables(wanted: JsonObject, known: JsonObject, listed: readonly string[]): Problem[] {
  const problems: Problem[] = []
  const check = (path: string, variables: Iterable<string>) => {
    for (const name of new Set(variables)) {
      if (listed.includes(name)) continue
      problems.push({ path, message: `must not use the variable ${name}: \`service.variables\` in the file does not list it` })
    }
  }
  // MCP servers are skipped, because they can be changed only in the file.
  const { providers: _, model, models = {}, mcp: __, ...others } = wanted
  const [providers, knownProviders] = [objectAt(wanted, 'providers'), objectAt(known, 'providers')]
  const knownModels = [known.model, ...Object.values(objectAt(known, 'models'))]
  /** Whether the same model is already configured at the same address. */
  const isKnown = (settings: Json) => {
    const provider = isJsonObject(settings) ? String(settings.provider) : ''
    return knownModels.some((one) => isDeepStrictEqual(one, settings)) && isDeepStrictEqual(providers[provider], knownProviders[provider])
  }
  for (const [name, section] of entriesOf(providers)) {
    if (!isDeepStrictEqual(section, knownProviders[name])) check(pointerTo('/providers', name), ofProvider(name, section))
  }
  for (const [path, settings] of [
    ['/model', model] as const,
    ...entriesOf(models).map(([name, one]) => [pointerTo('/models', name), one] as const),
  ]) {
    if (settings === undefined || isKnown(settings)) continue
    check(path, ofModel(settings, providers))
    // A variable in the provider's name would hide which key is sent.
    if (isJsonObject(settings) && named(settings.provider ?? '').length > 0)
      problems.push({ path: `${path}/provider`, message: 'must name a provider without variables' })
  }
  for (const [name, section] of Object.entries(others)) {
    const before = named(known[name] ?? {})
    const added = named(section).filter((variable) => !before.includes(variable))
    check(pointerTo('', name), added)
  }
  return problems
}

/**
 * Returns the model and the providers to use for a request. If `model` is a name in the configuration's `models`, returns that entry's
 * settings. The request's providers override the configuration's providers.
 */
export function overlaid({ model, providers }: { model: Json; providers: JsonObject }, known: JsonObject): JsonObject {
  const models = objectAt(known, 'models')
  const meant = typeof model === 'string' && Object.hasOwn(models, model) ? models[model] : undefined
  return { model: meant ?? model, providers: { ...objectAt(known, 'providers'), ...providers } }
}

function ofProvider(name: string, section: Json): string[] {
  const ownKeys = [presetOf(name, {})?.apiKeyEnv ?? []].flat()
  const isElsewhere = isJsonObject(section) && addressFields.some((field) => Object.hasOwn(section, field))
  // The provider's own key may be sent to the provider's usual address.
  if (!isElsewhere) return named(section).filter((one) => !ownKeys.includes(one))
  const keys = Object.hasOwn(section, 'apiKeyEnv') ? [] : ownKeys
  return [...named(section), ...keys, ...ofSdk(presetOf(name, { [name]: section }))]
}

function ofModel(settings: Json, providers: JsonObject): string[] {
  if (!isJsonObject(settings) || typeof settings.provider !== 'string') return named(settings)
  if (!Object.hasOwn(settings, 'baseURL')) return named(settings)
  const preset = presetOf(settings.provider, providers)
  return [...named(settings), ...(settings.apiKey ? [] : [preset?.apiKeyEnv ?? []].flat()), ...ofSdk(preset)]
}

/** The variables that SDKs send in addition to the API key, for each driver. */
const sdkVariables: Readonly<Record<string, readonly string[]>> = {
  openai: ['OPENAI_CUSTOM_HEADERS', 'OPENAI_ORG_ID', 'OPENAI_PROJECT_ID'],
  'openai-responses': ['OPENAI_CUSTOM_HEADERS', 'OPENAI_ORG_ID', 'OPENAI_PROJECT_ID'],
  anthropic: ['ANTHROPIC_CUSTOM_HEADERS'],
}

/** Returns the environment variables that the SDK would read by itself and send. */
function ofSdk(preset: ProviderPreset | undefined): string[] {
  if (preset?.sdkEnvironment !== true) return []
  const drivers = [preset.driver, ...Object.values(preset.apis ?? {}).map(({ as }) => presetOf(as, {})?.driver ?? '')]
  const variables = new Set(drivers.flatMap((driver) => sdkVariables[driver] ?? []))
  return [...variables].filter((name) => process.env[name])
}

/** Returns the names of all variables in a value. Variables are named as `${NAME}`, or in fields such as `apiKeyEnv`. */
function named(value: Json, key = ''): string[] {
  if (typeof value === 'string') {
    const inBraces = [...value.matchAll(/(\$?)\$\{([A-Za-z_]\w*)/g)].flatMap(([, dollar, name]) =>
      dollar === '' && name !== undefined ? [name] : [],
    )
    return key === 'env' || key.endsWith('Env') ? [value, ...inBraces] : inBraces
  }
  if (Array.isArray(value)) return value.flatMap((entry) => named(entry, key))
  return isJsonObject(value) ? Object.entries(value).flatMap(([name, entry]) => named(entry, name)) : []
}

function presetOf(name: string, providers: JsonObject): ProviderPreset | undefined {
  try {
    return findPreset(name, providers as never)
  } catch {
    // Unknown providers are reported by another check.
    return undefined
  }
}

function objectAt(value: JsonObject, key: string): JsonObject {
  const found = value[key]
  return isJsonObject(found) ? found : {}
}

function entriesOf(value: Json): [string, Json][] {
  return isJsonObject(value) ? Object.entries(value) : []
}
