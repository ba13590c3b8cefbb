import { findPreset, providerNames } from '../../models/presets.ts'

/** A provider's API key in the environment. */
interface FoundKey {
  provider: string
  /** The name of the variable, without its value. */
  variable: string
  /** The default model. Undefined if the provider has no default. A model of this provider must then be selected by name. */
  defaultModel?: string
}

/** The default models, in order of preference. All are general-purpose models that call tools. */
const defaultModels = new Map([
  ['openai', 'gpt-6.1-sol'],
  ['anthropic', 'claude-sonnet-5-5'],
  ['google', 'gemini-3.8-flash'],
  ['deepseek', 'deepseek-flash'],
  ['moonshot', 'kimi-k2.6'],
  ['doubao', 'doubao-seed-1-8-251228'],
  ['dashscope', 'qwen-plus'],
  ['openrouter', 'openai/gpt-5.2'],
  ['mistral', 'mistral-large-latest'],
  ['xai', 'grok-4'],
  ['groq', 'openai/gpt-oss-120b'],
])

/** Returns the API keys in the environment, in order of preference. An empty variable counts as absent. */
export function findKeys(env: Readonly<Record<string, string | undefined>>): FoundKey[] {
  const known = providerNames()
  const preferred = [...defaultModels.keys()].filter((provider) => known.includes(provider))
  const found = new Map<string, FoundKey>()
  for (const provider of new Set([...preferred, ...known])) {
    const variable = [findPreset(provider).apiKeyEnv ?? []].flat().find((name) => (env[name] ?? '').trim() !== '')
    // If several providers use the same variable, only the first one is returned.
    if (variable === undefined || found.has(variable)) continue
    found.set(variable, { provider, variable, defaultModel: defaultModels.get(provider) })
  }
  return [...found.values()]
}
