import { describeKey, findPreset, type ProviderPreset, type Providers } from '../../models/presets.ts'
import { type Config, findModel } from '../config/config.ts'
import type { Agent } from './agent-host.ts'

/** A provider as an admin sees it, without its key. */
export interface ProviderState {
  name: string
  /** The name of the environment variable for the provider's key. Null if no variable is used. */
  keyEnv: string | null
  /** Whether a key is set for the provider, or for each of its configured models. Null if the provider needs no key. */
  hasKey: boolean | null
}

/** Lists the providers that models use, followed by other providers that are named in the configuration. */
export function describeProviders(agents: readonly Agent[], config: Config): ProviderState[] {
  const { models = {}, providers = {} } = config
  const used = agents.map(({ model }) => model.provider)
  const settings = [findModel(config), ...Object.values(models)].filter((model) => typeof model === 'object')
  return [...new Set([...used, ...Object.keys(providers)])].map((name) => {
    const preset = presetOf(name, providers)
    if (preset === undefined) return { name, keyEnv: null, hasKey: null }
    const { keyEnv, hasKey } = describeKey(preset)
    const own = settings.filter(({ provider }) => provider === name)
    const bringTheirOwn = own.length > 0 && own.every(({ apiKey }) => typeof apiKey === 'function' || apiKey?.trim())
    return bringTheirOwn && !hasKey ? { name, keyEnv: null, hasKey: true } : { name, keyEnv, hasKey }
  })
}

/** Returns undefined for an unknown provider, because a program can create a model with any provider name. */
function presetOf(name: string, providers: Providers): ProviderPreset | undefined {
  try {
    return findPreset(name, providers)
  } catch {
    return undefined
  }
}
