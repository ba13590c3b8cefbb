import { json } from '../data/format.js'
import { copyButton } from '../ui/copy.js'
import { h } from '../ui/dom.js'
import { nextTask } from '../ui/slices.js'
import { visible } from '../ui/visible.js'
import { walk } from './json-nodes.js'
import { JsonTree } from './json-tree.js'
import { isShort, longText } from './long-text.js'

/** Text that is longer is read as JSON in a task of its own. */
const mostAtOnce = 100_000
/** Values and characters of JSON that is shown without folding. */
const fewValues = 60
const fewCharacters = 1_200

/**
 * What a tool was given or gave, or what a model was sent: JSON laid out, or folded where it is long; text as it is.
 * @param {unknown} value
 * @param {string} label
 * @returns {HTMLElement}
 */
export function valueView(value, label) {
  if (typeof value !== 'string') return jsonView(value, label)
  if (!/^\s*[[{]/.test(value)) return longText(value, label)
  if (value.length <= mostAtOnce) return parsedView(value, label) ?? longText(value, label)
  const box = h('div', {}, longText(value, label))
  void nextTask().then(() => {
    const view = parsedView(value, label)
    if (view !== undefined) box.replaceChildren(view)
  })
  return box
}

/** @param {string} text @param {string} label */
function parsedView(text, label) {
  let value
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  return jsonView(value, label)
}

/** @param {unknown} value @param {string} label */
function jsonView(value, label) {
  const text = isSmall(value) ? json(value) : undefined
  if (text === undefined || !isShort(text)) return new JsonTree(value, label).element
  return h(
    'div',
    { className: 'value' },
    h('pre', { className: 'code' }, visible(text)),
    copyButton(`Copy ${label.toLowerCase()}`, () => JSON.stringify(value, null, 2)),
  )
}

/** Without a look at more of it than that. @param {unknown} root */
function isSmall(root) {
  let [values, characters] = [0, 0]
  for (const { path, value } of walk(root)) {
    values++
    characters += String(path.at(-1) ?? '').length + (typeof value === 'string' ? value.length : 4)
    if (values > fewValues || characters > fewCharacters) return false
  }
  return true
}
