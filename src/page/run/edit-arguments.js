import { messageOf } from '../data/api.js'
import { h, newId } from '../ui/dom.js'
import { escapedJson, hiddenPart, visible } from '../ui/visible.js'
import { diff } from './diff.js'
import { hiddenIn, isLarge, splitLarge } from './whole-value.js'

/** @typedef {Record<string, unknown>} Arguments */

/**
 * A field for the arguments of a call. One that is too large for it keeps its value, unless another is written for it.
 * @param {Arguments} asked
 * @param {HTMLElement} error
 */
export function argumentsField(asked, error) {
  const { small, large } = splitLarge(asked)
  const id = newId()
  const note = noteOf(large)
  note.id = newId()
  const value = escapedJson(JSON.stringify(small, null, 2))
  const input = h('textarea', {
    id,
    rows: Math.min(14, value.split('\n').length + 1),
    className: 'code',
    spellcheck: 'false',
    'aria-describedby': `${note.id} ${error.id}`,
  })
  input.value = value
  const changes = h('div', { className: 'decision-changes' })
  input.addEventListener('input', () => changes.replaceChildren(...changesIn(input.value, small)))
  /** @param {string} text @returns {Promise<Arguments>} */
  const parse = async (text) => {
    const given = JSON.parse(text)
    if (typeof given !== 'object' || given === null || Array.isArray(given)) throw new Error('Expected a JSON object')
    const kept = Object.fromEntries(Object.entries(large).filter(([name]) => !Object.hasOwn(given, name)))
    const hidden = hiddenPart(text) ?? (await hiddenIn(kept))
    if (hidden !== undefined) throw new Error(`Replace ${hidden} with the actual value`)
    return { ...given, ...kept }
  }
  return {
    input,
    element: h('div', { className: 'field' }, h('label', { for: id }, 'Arguments, as JSON'), input, note, changes),
    /** What was written. Undefined: it can't be used, which is shown. */
    async read() {
      const text = input.value
      error.textContent = ''
      input.removeAttribute('aria-invalid')
      try {
        const args = await parse(text)
        return { args, isSame: isSame(JSON.parse(text), small) }
      } catch (thrown) {
        error.textContent = messageOf(thrown)
        input.setAttribute('aria-invalid', 'true')
        input.focus()
        return undefined
      }
    },
  }
}

/** @param {Arguments} large */
function noteOf(large) {
  const names = Object.keys(large).map(visible)
  const words =
    names.length > 3 ? `${names.length.toLocaleString()} arguments are` : `${names.join(', ')}: ${names.length > 1 ? 'are' : 'is'}`
  return h(
    'p',
    { className: 'hint', hidden: names.length === 0 },
    `${words} too large to edit here. What you don’t name in the field stays as it is.`,
  )
}

/**
 * What is written is other than what was asked: shown before it is sent. Nothing while it can't be read.
 * @param {string} text
 * @param {Arguments} asked
 */
function changesIn(text, asked) {
  try {
    const args = JSON.parse(text)
    if (isSame(args, asked)) return []
    if (isLarge(args)) return [h('p', { className: 'muted' }, 'Too large to show what has changed')]
    return [h('p', { className: 'muted' }, 'Changes'), diff(asked, args, 'Changes')]
  } catch {
    return []
  }
}

/** @param {unknown} args @param {unknown} asked */
function isSame(args, asked) {
  return JSON.stringify(args) === JSON.stringify(asked)
}
