import type { Backend } from '../../backends/index.ts'
import { InvalidOptionError, messageOf, ToolloopError } from '../../core/errors.ts'
import type { Providers } from '../../models/presets.ts'
import type { ModelSettings } from '../../models/settings.ts'
import { type Config, checkModelName, findModel, type LimitsConfig } from '../../service/config/config.ts'
import { readConfig } from '../../service/config/config-file.ts'
import { type FoundServer, findServers, type LocalServer, listModels, localServers } from './local-servers.ts'
import { findKeys } from './provider-keys.ts'

type ModelSource = 'option' | 'environment' | 'file' | 'key' | 'server' | 'demo'

export interface ModelChoice {
  /** The model, as `createModel` takes it. */
  model: string | ModelSettings
  /** The providers in the configuration file, as `createModel` takes them. */
  providers?: Providers
  /** The backend that the configuration file names. */
  backend?: Backend
  /** The limits in the configuration file. */
  limits?: LimitsConfig
  /** The name to display: `provider/model`. */
  name: string
  source: ModelSource
  /** The reason for the choice, in a few words. */
  why: string
}

interface ChooseModelOptions {
  /** The value of `--model`. */
  model?: string
  /** The value of `--base-url`. */
  baseURL?: string
  env: Readonly<Record<string, string | undefined>>
  /** The folder that may contain `toolloop.yaml`. */
  cwd: string
  /** The configuration, if it has already been read. */
  config?: Config
  signal?: AbortSignal
  /** Local servers to look for. Default: the servers that the environment names. */
  servers?: readonly LocalServer[]
  /** How long to wait for all servers together, in milliseconds. Default 300. */
  probeMs?: number
}

type ConfigFile = Config & { file?: string }

const listModelsMs = 5_000

/**
 * Chooses the model from the first of these sources: the option, `TOOLLOOP_MODEL`, `toolloop.yaml`, the first API key in the environment, a
 * model server on this machine, or the demo model. `baseURL` applies to a model that the option, the environment or the file names. If none
 * of them names a model, uses the first model that the server at the base URL lists. Rejects with `invalid_option` for an invalid
 * configuration.
 */
export async function chooseModel(options: ChooseModelOptions): Promise<ModelChoice> {
  const { baseURL } = options
  if (baseURL !== undefined && !/^https?:$/.test(URL.parse(baseURL)?.protocol ?? '')) {
    throw new InvalidOptionError('--base-url', 'an http or https URL', baseURL)
  }
  const config = options.config ?? (await readConfig(options.cwd, options.env))
  return { ...(await chooseFrom(options, config)), providers: config?.providers, backend: config?.backend, limits: config?.limits }
}

async function chooseFrom(options: ChooseModelOptions, config: ConfigFile | undefined): Promise<ModelChoice> {
  const { baseURL, env, signal } = options
  const configured = findNamed(options, config)
  if (configured !== undefined) return withBaseURL(configured, baseURL)
  if (baseURL !== undefined) return firstModelAt(baseURL, signal)

  const key = findKeys(env).find(({ defaultModel }) => defaultModel !== undefined)
  if (key?.defaultModel !== undefined) return named(`${key.provider}/${key.defaultModel}`, 'key', `${key.variable} is set`)

  const found = await findServers(options.servers ?? localServers(env), options.probeMs ?? 300, signal)
  return chooseFromServers(found) ?? named('demo', 'demo', 'no key found')
}

/** Returns the first model of the first server that has one. */
function chooseFromServers(found: readonly FoundServer[]): ModelChoice | undefined {
  for (const { provider, baseURL, models } of found) {
    const [model] = models
    if (model !== undefined) return named({ provider, model, baseURL }, 'server', `running at ${baseURL}`)
  }
  return undefined
}

/** Returns the model that the option, the environment or the file names. The name may be a key of `models` in the file. */
function findNamed({ model, baseURL, env }: ChooseModelOptions, config: ConfigFile = {}): ModelChoice | undefined {
  const { model: chosen, file = 'the configuration' } = config
  const find = (name: string, source: ModelSource, from: string): ModelChoice => {
    const found = findModel({ ...config, model: name }) ?? name
    if (found !== name) return named(found, source, `${from}: ${name}`)
    // If a base URL is given, the name is not checked, because the server may have a model of any name.
    if (baseURL === undefined) checkModelName(name, from, config)
    return named(name, source, from)
  }
  if (model !== undefined) return find(model, 'option', '--model')
  if (env.TOOLLOOP_MODEL) return find(env.TOOLLOOP_MODEL, 'environment', 'TOOLLOOP_MODEL')
  return typeof chosen === 'string' ? find(chosen, 'file', file) : chosen && named(chosen, 'file', file)
}

function named(model: string | ModelSettings, source: ModelSource, why: string): ModelChoice {
  return { model, name: describeModel(model), source, why }
}

/** Returns the name to display: `provider/model`. */
export function describeModel(model: string | ModelSettings): string {
  return typeof model === 'string' ? model : `${model.provider}/${model.model}`
}

function withBaseURL(choice: ModelChoice, baseURL: string | undefined): ModelChoice {
  if (baseURL === undefined) return choice
  const settings = typeof choice.model === 'string' ? settingsOf(choice.model) : choice.model
  return named({ ...settings, baseURL }, choice.source, choice.why)
}

function settingsOf(name: string): ModelSettings {
  const slash = name.indexOf('/')
  return slash < 0 ? { provider: 'custom', model: name } : { provider: name.slice(0, slash), model: name.slice(slash + 1) }
}

async function firstModelAt(baseURL: string, signal: AbortSignal | undefined): Promise<ModelChoice> {
  const models = await listModels(baseURL, listModelsMs, signal).catch((error: unknown) => {
    throw new ToolloopError('connection_failed', `Can't list the models at ${baseURL}: ${messageOf(error)}. Name one with --model`, {
      cause: error,
    })
  })
  const [model] = models
  if (model === undefined)
    throw new ToolloopError('invalid_option', `Expected ${baseURL} to have a model, got an empty list. Name one with --model`)
  return named({ provider: 'custom', model, baseURL }, 'server', `the first model of ${baseURL}`)
}
