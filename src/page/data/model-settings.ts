/** The settings of a model or a provider in the configuration. */
export interface Settings {
  provider?: string
  model?: string
  baseURL?: string
  apiKey?: string
  functionCalling?: boolean
  contextWindow?: number
  [name: string]: unknown
}

/** A model in the configuration, either as `provider/model` or as settings. */
export type ModelEntry = string | Settings

/** Returns the settings of a model entry in either form. */
export function settingsOf(entry: ModelEntry | undefined): Settings {
  if (typeof entry !== 'string') return entry ?? {}
  const slash = entry.indexOf('/')
  return slash < 0 ? { provider: entry, model: '' } : { provider: entry.slice(0, slash), model: entry.slice(slash + 1) }
}

export function describeModel(entry: ModelEntry | undefined) {
  const { provider = '', model = '' } = settingsOf(entry)
  return model === '' || model === provider ? provider : `${provider} / ${model}`
}

export function keyVariable(entry: ModelEntry | undefined) {
  const { apiKey = '' } = settingsOf(entry)
  return /^\$\{(\w+)\}$/.exec(apiKey)?.[1] ?? ''
}

const ownFields = ['provider', 'model', 'baseURL', 'apiKey', 'functionCalling', 'contextWindow']

/** Returns the initial values of a form for a model. */
export function toValues(entry: ModelEntry | undefined): Record<string, string> {
  const settings = settingsOf(entry)
  const others = Object.entries(settings).filter(([name]) => !ownFields.includes(name))
  return {
    provider: settings.provider ?? '',
    model: settings.model ?? '',
    baseURL: settings.baseURL ?? '',
    apiKey: keyVariable(entry),
    functionCalling: settings.functionCalling === undefined ? '' : String(settings.functionCalling),
    contextWindow: settings.contextWindow === undefined ? '' : String(settings.contextWindow),
    others: others.length === 0 ? '' : JSON.stringify(Object.fromEntries(others), null, 2),
  }
}

/** Converts the values of a form to a model. If possible, returns the short form `provider/model`. */
export function fromValues({
  provider = '',
  model = '',
  baseURL,
  apiKey,
  functionCalling,
  contextWindow,
  others,
}: Record<string, string>): ModelEntry {
  const settings = {
    ...(baseURL ? { baseURL } : {}),
    ...(apiKey ? { apiKey: `\${${apiKey}}` } : {}),
    ...(functionCalling ? { functionCalling: functionCalling === 'true' } : {}),
    ...(contextWindow ? { contextWindow: Number(contextWindow) } : {}),
    ...(others ? JSON.parse(others) : {}),
  }
  if (Object.keys(settings).length > 0) return { provider, model, ...settings }
  return model === '' ? provider : `${provider}/${model}`
}
