import { findPreset, providerNames } from '../../models/presets.ts'

/** A provider's API key as the environment has it. */
interface FoundKey {
  provider: string
  /** The variable's name; its value is never read out. */
  variable: string
  /** The model to use when none is named; undefined: this provider has to be asked for by name. */
  defaultModel?: string
}

/**
 * In order of preference: general-purpose models that call tools. Providers retire them, so `--model`, `TOOLLOOP_MODEL` and
 * `toolloop.yaml` go first.
 */
const defaultModels = new Map([
  ['openai', 'gpt-5.2'],
  ['anthropic', 'claude-sonnet-4-6'],
  ['google', 'gemini-3.5-flash'],
  ['deepseek', 'deepseek-flash'],
  ['moonshot', 'kimi-k2.6'],
  ['doubao', 'doubao-seed-1-8-251228'],
  ['dashscope', 'qwen-plus'],
  ['openrouter', 'openai/gpt-5.2'],
  ['mistral', 'mistral-large-latest'],
  ['xai', 'grok-4'],
  ['groq', 'openai/gpt-oss-120b'],
])

/** The keys the environment has, in order of preference. An empty variable counts as absent. */
export function findKeys(env: Readonly<Record<string, string | undefined>>): FoundKey[] {
  const known = providerNames()
  const preferred = [...defaultModels.keys()].filter((provider) => known.includes(provider))
  const found = new Map<string, FoundKey>()
  for (const provider of new Set([...preferred, ...known])) {
    const variable = [findPreset(provider).apiKeyEnv ?? []].flat().find((name) => (env[name] ?? '').trim() !== '')
    // Several providers may share a variable; it is the first one's.
    if (variable === undefined || found.has(variable)) continue
    found.set(variable, { provider, variable, defaultModel: defaultModels.get(provider) })
  }
  return [...found.values()]
}
