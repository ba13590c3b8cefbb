/** @typedef {string | Record<string, any>} ModelEntry As the configuration has it: `provider/model`, or settings. */

/**
 * The settings of a model, however they are written.
 * @param {ModelEntry | undefined} entry
 * @returns {Record<string, any>}
 */
export function settingsOf(entry) {
  if (typeof entry !== 'string') return entry ?? {}
  const slash = entry.indexOf('/')
  return slash < 0 ? { provider: entry, model: '' } : { provider: entry.slice(0, slash), model: entry.slice(slash + 1) }
}

/** @param {ModelEntry | undefined} entry */
export function describeModel(entry) {
  const { provider = '', model = '' } = settingsOf(entry)
  return model === '' || model === provider ? provider : `${provider} / ${model}`
}

/** @param {ModelEntry | undefined} entry */
export function keyVariable(entry) {
  const { apiKey = '' } = settingsOf(entry)
  return /^\$\{(\w+)\}$/.exec(apiKey)?.[1] ?? ''
}

const ownFields = ['provider', 'model', 'baseURL', 'apiKey', 'functionCalling', 'contextWindow']

/**
 * What a form about a model begins with.
 * @param {ModelEntry | undefined} entry
 * @returns {Record<string, string>}
 */
export function toValues(entry) {
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

/**
 * What a form about a model comes to: on one line where it can be.
 * @param {Record<string, string>} values
 * @returns {ModelEntry}
 */
export function fromValues({ provider = '', model = '', baseURL, apiKey, functionCalling, contextWindow, others }) {
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
