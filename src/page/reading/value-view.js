import { json } from '../data/format.js'
import { copyButton } from '../ui/copy.js'
import { h } from '../ui/dom.js'
import { visible } from '../ui/visible.js'
import { isWithin, previewOf } from './json-nodes.js'
import { JsonTree } from './json-tree.js'
import { isShort, longText } from './long-text.js'

/** Values and characters of JSON that is shown without folding. */
const few = { values: 60, characters: 1_200 }

/** What is made when its place comes near the view: of the calls of a long run, hardly any is ever looked at. @type {WeakMap<Element, () => void>} */
const later = new WeakMap()
const nearView = new IntersectionObserver(
  (seen) => {
    for (const { isIntersecting, target } of seen) {
      if (!isIntersecting) continue
      nearView.unobserve(target)
      later.get(target)?.()
    }
  },
  { rootMargin: '400px' },
)

/**
 * What a tool was given or gave, or what a model was sent: JSON laid out, or folded where it is long; text as it is.
 * @param {unknown} value
 * @param {string} label
 * @returns {HTMLElement}
 */
export function valueView(value, label) {
  if (typeof value !== 'string') return jsonView(value, label)
  if (!/^\s*[[{]/.test(value)) return longText(value, label)
  if (value.length > 2 * few.characters)
    return whenNear(longText(value, label), () => parsed(value, (found) => new JsonTree(found, label).element))
  return parsed(value, (found) => jsonView(found, label)) ?? longText(value, label)
}

/** @param {string} text @param {(value: unknown) => HTMLElement} show */
function parsed(text, show) {
  let value
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  return show(value)
}

/** @param {unknown} value @param {string} label */
function jsonView(value, label) {
  const text = isWithin(value, few) ? json(value) : undefined
  if (text === undefined || !isShort(text))
    return whenNear(h('pre', { className: 'code' }, visible(previewOf(value))), () => new JsonTree(value, label).element)
  return h(
    'div',
    { className: 'value' },
    h('pre', { className: 'code' }, visible(text)),
    copyButton(`Copy ${label.toLowerCase()}`, () => JSON.stringify(value, null, 2)),
  )
}

/** @param {HTMLElement} first What is there until then. @param {() => HTMLElement | undefined} make Undefined: it stays. */
function whenNear(first, make) {
  const box = h('div', {}, first)
  later.set(box, () => {
    const made = make()
    if (made !== undefined) first.replaceWith(made)
  })
  nearView.observe(box)
  return box
}
