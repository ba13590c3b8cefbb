import { messageOf, post } from './api.js'
import { duration } from './format.js'

/** @typedef {{ text: string, kind: 'good' | 'bad' | '' }} Told */

/**
 * Asks a model one small question. Throws an `ApiError`.
 * @param {import('./model-settings.js').ModelEntry} model
 * @param {Record<string, unknown>} [providers] Sections that are not saved yet.
 * @returns {Promise<Told>} What came of it, in words.
 */
export async function testModel(model, providers) {
  const { ok, durationMs, text, error } = await post('admin/api/providers/test', { model, ...(providers && { providers }) })
  if (ok) return { text: `Answered in ${duration(durationMs)}: ${text}`, kind: 'good' }
  return { text: `${error.path === undefined ? '' : `${error.path} `}${error.message}`, kind: 'bad' }
}

/**
 * The same, said at a place of the page.
 * @param {HTMLElement} place
 * @param {Parameters<typeof testModel>} order
 */
export async function testInto(place, ...order) {
  const say = (/** @type {Told} */ { text, kind }) => {
    place.className = `test-result ${kind}`
    place.textContent = text
  }
  say({ text: 'Testing…', kind: '' })
  say(await testModel(...order).catch((thrown) => ({ text: messageOf(thrown), kind: 'bad' })))
}
