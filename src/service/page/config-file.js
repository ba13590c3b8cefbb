import { ask } from './api.js'

/**
 * @typedef {object} ConfigFile
 * @property {string} etag
 * @property {string} text
 * @property {any} config What the text says; null where it can't be read.
 * @property {import('./types.js').ConfigState} state
 */

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
