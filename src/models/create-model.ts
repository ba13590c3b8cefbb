import { checkOptionNames, type OptionNames } from '../core/check-options.ts'
import { InvalidOptionError, ToolloopError } from '../core/errors.ts'
import type { JsonObject } from '../core/messages.ts'
import { anthropicQuirks } from './anthropic/quirks.ts'
import { capabilitiesOf } from './capabilities.ts'
import type { ChatModel, ModelRequest, ModelResponse, ModelSink } from './chat-model.ts'
import { googleQuirks } from './google/quirks.ts'
import { withRateLimits } from './middleware/rate-limits.ts'
import { withRetry } from './middleware/retry.ts'
import { withThinkTags } from './middleware/think-tags.ts'
import { openAIQuirks } from './openai/quirks.ts'
import { responsesQuirks } from './openai-responses/quirks.ts'
import {
  checkFacts,
  findBaseURL,
  findOnlyModel,
  findPreset,
  hostedApi,
  isAtHost,
  knownBaseURL,
  type ProviderPreset,
  type Providers,
  presetFacts,
  presetOver,
  presetQuirks,
  providerNames,
  rateLimitsOf,
} from './presets.ts'
import { nearestModel } from './price-list.ts'
import { isThinkTags, type TextQuirks } from './quirk-checks.ts'
import { type ModelSettings, settingNames } from './settings.ts'

/** A model, or the argument of `createModel`. */
export type AnyModel = ChatModel | string | ModelSettings

/** Options of `createModel`. */
interface CreateModelOptions {
  /** Additional providers, or changes to known providers. */
  providers?: Providers
}

const optionNames: OptionNames<CreateModelOptions> = { providers: true }

/** The quirks that this module reads. */
type KnownQuirks = NonNullable<Parameters<typeof capabilitiesOf>[1]> & TextQuirks & { sendReasoningBack?: boolean }

/** A driver that is loaded when it is first used. */
interface DriverEntry {
  /** The API that the driver speaks. */
  api?: string
  /** Checks quirks, and throws if the driver does not accept them. Absent if the driver has neither quirks nor a base URL. */
  quirks?(...given: (JsonObject | undefined)[]): KnownQuirks
  load(settings: ModelSettings, preset: ProviderPreset): Promise<ChatModel>
}

/** The drivers, keyed by the value of `driver` in `config/providers.yaml`. */
const drivers: Readonly<Record<string, DriverEntry>> = {
  openai: {
    api: 'chat-completions',
    quirks: openAIQuirks,
    load: async (settings, preset) => (await import('./openai/driver.ts')).openaiModel({ ...settings, preset }),
  },
  anthropic: {
    api: 'messages',
    quirks: anthropicQuirks,
    load: async (settings, preset) => (await import('./anthropic/driver.ts')).anthropicModel({ ...settings, preset }),
  },
  'openai-responses': {
    api: 'responses',
    quirks: responsesQuirks,
    load: async (settings, preset) => (await import('./openai-responses/driver.ts')).openaiResponsesModel({ ...settings, preset }),
  },
  google: {
    api: 'generate-content',
    quirks: googleQuirks,
    load: async (settings, preset) => (await import('./google/driver.ts')).googleModel({ ...settings, preset }),
  },
  demo: { load: async () => (await import('./demo/demo.ts')).demoModel() },
}

/** Returns the server's quirks. Throws for settings that the driver does not accept. */
function checkedQuirks({ quirks }: DriverEntry, settings: ModelSettings, preset: ProviderPreset): KnownQuirks | undefined {
  if (quirks === undefined) return undefined
  // Checks the base URL now, unless it may come from an environment variable, which may be set later.
  if (settings.baseURL || preset.baseURLEnv === undefined) findBaseURL(settings, preset)
  return quirks(...presetQuirks(preset, settings.model), settings.quirks)
}

/**
 * Creates a model from `'provider/model'` or from settings. Everything after the first `/` is the model's name. `'demo'` is the built-in
 * model, which needs no key.
 *
 * This function is synchronous, because the driver and its SDK are loaded only with the first run or request. If the API key is missing,
 * that run or request rejects. Failed requests are retried (`maxRetries`), and requests wait as their `rateLimits` require. The option
 * `providers` adds providers, or overrides facts about known providers, such as prices. Throws `unknown_provider` or `invalid_option`.
 *
 * ```ts
 * const model = createModel('openai/gpt-6.1-sol')
 * const local = createModel({ provider: 'custom', model: 'qwen3', baseURL: 'http://localhost:9000/v1' })
 * ```
 */
export function createModel(model: string | ModelSettings, options: CreateModelOptions = {}): ChatModel {
  checkOptionNames(options, optionNames, '`createModel`')
  const { providers = {} } = options
  const given = checked(typeof model === 'string' ? parseName(model, providers) : model)
  const preset = findPreset(given.provider, providers)
  const settings = { ...presetFacts(given.provider, preset, given.model), ...given }
  const served = servedModel(settings, preset, providers)
  const { maxRetries, maxRetryDelayMs } = settings
  return withRetry(withRateLimits(served, rateLimitsOf(settings, preset), settings, preset), {
    maxRetries,
    maxRetryDelayMs,
  })
}

/**
 * Creates a model from a name or settings. A model is returned unchanged. Throws the errors of `createModel`, and `invalid_option` for an
 * invalid model.
 */
export function openModel(model: AnyModel): ChatModel {
  if (typeof model === 'object' && model !== null && 'generate' in model) {
    if (typeof model.generate !== 'function') throw new InvalidOptionError('model.generate', 'a function', model.generate)
    return model
  }
  return createModel(model)
}

/** Creates the model for the API `settings.api`. By default, the base URL and the model's name determine the API. */
function servedModel(settings: ModelSettings, preset: ProviderPreset, providers: Providers): ChatModel {
  const { api, provider, model, baseURL } = settings
  const { apis = {} } = preset
  const ownApi = driverOf(settings, preset).api
  if (api === ownApi) return driverModel(settings, preset)
  if (api !== undefined) {
    const chosen = Object.hasOwn(apis, api) ? apis[api] : undefined
    const names = [ownApi, ...Object.keys(apis)].map((name) => `'${name}'`)
    if (chosen === undefined) throw new InvalidOptionError('api', `${names.join(' or ')} for the provider \`${provider}\``, api)
    return driverModel(settings, presetOver(chosen, preset, providers))
  }
  const hosted = hostedApi(preset, model)
  if (hosted === undefined) return driverModel(settings, preset)
  const made = new Map<boolean, ChatModel>()
  const asked = (): ChatModel => {
    const isHosted = isAtHost(hosted.host, knownBaseURL(settings, preset))
    const known = made.get(isHosted) ?? driverModel(settings, isHosted ? presetOver(hosted, preset, providers) : preset)
    made.set(isHosted, known)
    return known
  }
  const first = asked()
  if (baseURL?.trim() || preset.baseURLEnv === undefined) return first
  // The properties are getters, because the base URL may be set or changed in the environment later.
  return {
    provider,
    model,
    get capabilities() {
      return asked().capabilities
    },
    get baseURL() {
      return asked().baseURL
    },
    get api() {
      return asked().api
    },
    prepare: async () => asked().prepare?.(),
    generate: async (request, sink) => asked().generate(request, sink),
  }
}

function driverOf({ provider }: ModelSettings, { driver: name }: ProviderPreset): DriverEntry {
  const driver = Object.hasOwn(drivers, name) ? drivers[name] : undefined
  if (driver === undefined) throw new ToolloopError('unknown_provider', `Provider \`${provider}\` has no driver \`${name}\``)
  return driver
}

/** Creates a model with the preset's driver. Throws for settings that the driver does not accept. */
function driverModel(settings: ModelSettings, preset: ProviderPreset): ChatModel {
  const driver = driverOf(settings, preset)
  const quirks = checkedQuirks(driver, settings, preset)
  const known = { capabilities: capabilitiesOf(settings, quirks), api: driver.api }
  const lazy = lazyModel(settings, preset, known, () => driver.load(settings, preset))
  const tags = settings.thinkTags ?? quirks?.thinkTags ?? false
  return tags === false ? lazy : withThinkTags(lazy, { tags, sendBack: quirks?.sendReasoningBack ?? true })
}

function parseName(name: string, providers: Providers): ModelSettings {
  const slash = name.indexOf('/')
  const model = slash === -1 ? findOnlyModel(name) : undefined
  if (model !== undefined) return { provider: name, model }
  if (slash < 1 || slash === name.length - 1) {
    const names = [...providerNames(), ...Object.keys(providers)]
    const meant = slash === -1 ? nearestModel(name) : undefined
    throw new InvalidOptionError(
      'model',
      `'provider/model'${meant === undefined ? '' : ` (did you mean '${meant}'?)`} with a provider of ${names.join(', ')}, or 'demo'`,
      name,
    )
  }
  return { provider: name.slice(0, slash), model: name.slice(slash + 1) }
}

function checked(settings: ModelSettings): ModelSettings {
  if (typeof settings !== 'object' || settings === null) throw new InvalidOptionError('model', "'provider/model' or settings", settings)
  checkOptionNames(settings, settingNames, '`createModel`')
  const { provider, model, api, fetch, functionCalling, dialect, salvageTextCalls, thinkTags } = settings
  if (typeof provider !== 'string' || provider === '') throw new InvalidOptionError('provider', "a provider's name", provider)
  if (typeof model !== 'string' || model === '') throw new InvalidOptionError('model', "the model's name", model)
  if (api !== undefined && typeof api !== 'string') throw new InvalidOptionError('api', "an API's name", api)
  if (fetch !== undefined && typeof fetch !== 'function') throw new InvalidOptionError('fetch', 'a function', fetch)
  for (const name of ['streamIdleTimeoutMs', 'streamStallTimeoutMs'] as const) {
    const ms = settings[name]
    if (ms !== undefined && !(ms > 0)) throw new InvalidOptionError(name, 'a number of milliseconds > 0', ms)
  }
  checkFacts(settings)
  const flags = { functionCalling, salvageTextCalls }
  for (const [name, flag] of Object.entries(flags))
    if (flag !== undefined && typeof flag !== 'boolean') throw new InvalidOptionError(name, 'true or false', flag)
  if (thinkTags !== undefined && typeof thinkTags !== 'boolean' && thinkTags !== 'opened')
    throw new InvalidOptionError('thinkTags', isThinkTags.expected, thinkTags)
  if (dialect !== undefined && (typeof dialect !== 'string' || dialect === ''))
    throw new InvalidOptionError('dialect', "a dialect's name", dialect)
  if (dialect !== undefined && functionCalling === true)
    throw new InvalidOptionError('dialect', 'absent for a model with `functionCalling`', dialect)
  return settings
}

/** Creates a model whose driver is loaded with the first request. If loading fails, the next request tries again. */
function lazyModel(
  settings: ModelSettings,
  preset: ProviderPreset,
  known: Pick<ChatModel, 'capabilities' | 'api'>,
  load: () => Promise<ChatModel>,
): ChatModel {
  const { provider, model } = settings
  let loading: Promise<ChatModel> | undefined
  const loaded = async (): Promise<ChatModel> => {
    loading ??= load()
    try {
      const driver = await loading
      lazy.generate = driver.generate
      return driver
    } catch (error) {
      loading = undefined
      throw error
    }
  }
  const lazy: ChatModel = {
    provider,
    model,
    ...known,
    get baseURL() {
      return knownBaseURL(settings, preset)
    },
    async prepare(): Promise<void> {
      const driver = await loaded()
      await driver.prepare?.()
    },
    async generate(request: ModelRequest, sink?: ModelSink): Promise<ModelResponse> {
      const driver = await loaded()
      return driver.generate(request, sink)
    },
  }
  return lazy
}
