import { ask } from './api.js'

/**
 * @typedef {object} ConfigFile
 * @property {string} etag
 * @property {string} text
 * @property {any} config What the text says; null where it can't be read.
 * @property {string[]} fileOnly JSON Pointers of what can be changed in the file alone; `*` stands for any key.
 * @property {import('../types.js').ConfigState} state
 */
/** @typedef {(change: (config: any) => void, said: string) => Promise<void>} Save Saves the configuration as `change` makes it. */

/** @returns {Promise<ConfigFile>} */
export function readConfig() {
  return ask('admin/api/config')
}

/**
 * Replaces the configuration. Throws an `ApiError`: 412 when somebody else has changed it since `etag`, 422 with the failing paths.
 * @param {{ config: unknown } | { text: string }} change
 * @param {string} etag
 * @returns {Promise<ConfigFile>}
 */
export function writeConfig(change, etag) {
  return ask('admin/api/config', { method: 'PUT', body: change, headers: { 'if-match': etag } })
}

/**
 * Puts an entry into a section of a configuration: at the place of the one it comes from, else at the end. Throws where the name is taken.
 * @param {any} config
 * @param {'models' | 'providers'} section
 * @param {{ from: string | undefined, to: string, value: unknown }} entry `from`: the name it has had; undefined: it is new.
 */
export function putEntry(config, section, { from, to, value }) {
  const before = Object.entries(config[section] ?? {})
  const names = before.map(([name]) => name)
  if (to !== from && names.includes(to)) throw new Error(`A ${section === 'models' ? 'model' : 'provider'} named ${to} already exists`)
  const isNew = from === undefined || !names.includes(from)
  const entries = before.map(([name, old]) => (name === from ? [to, value] : [name, old]))
  config[section] = Object.fromEntries(isNew ? [...entries, [to, value]] : entries)
}
