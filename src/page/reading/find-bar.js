import { h, setText } from '../ui/dom.js'

/** How long nothing has to be typed before it is searched, in milliseconds. */
const typingMs = 150

/**
 * @template Match
 * @typedef {object} Found
 * @property {Match[]} matches
 * @property {boolean} isCut There are more.
 */

/**
 * A field that finds, and leads from one place to the next.
 * @template Match
 * @param {string} label What is searched.
 * @param {object} how
 * @param {(query: string, isOver: () => boolean) => Found<Match> | Promise<Found<Match>>} how.find `isOver`: something else is wanted by now.
 * @param {(match: Match | undefined) => void} how.show Leads to a place; to none: nothing is searched.
 */
export function findBar(label, { find, show }) {
  const input = h('input', {
    type: 'search',
    'aria-label': `Find in ${label}`,
    placeholder: 'Find',
    autocomplete: 'off',
    spellcheck: 'false',
  })
  const said = h('span', { className: 'muted', role: 'status' })
  const back = h('button', { type: 'button', className: 'quiet tool-button', 'aria-label': 'Previous match', hidden: true }, '↑')
  const next = h('button', { type: 'button', className: 'quiet tool-button', 'aria-label': 'Next match', hidden: true }, '↓')
  /** @type {Found<Match>} */
  let found = { matches: [], isCut: false }
  let at = 0
  let searches = 0
  /** @type {number | undefined} */
  let typing
  const step = (/** @type {number} */ by) => {
    const { matches, isCut } = found
    at = (at + by + matches.length) % Math.max(1, matches.length)
    const total = `${matches.length.toLocaleString()}${isCut ? '+' : ''}`
    setText(said, input.value === '' ? '' : matches.length === 0 ? 'Not found' : `${(at + 1).toLocaleString()} of ${total}`)
    back.hidden = next.hidden = matches.length < 2
    show(matches[at])
  }
  const search = async () => {
    clearTimeout(typing)
    const own = ++searches
    setText(said, input.value === '' ? '' : 'Searching…')
    const result = input.value === '' ? { matches: [], isCut: false } : await find(input.value, () => own !== searches)
    if (own !== searches) return
    found = result
    at = 0
    step(0)
  }
  input.addEventListener('input', () => {
    clearTimeout(typing)
    typing = setTimeout(() => void search(), typingMs)
  })
  input.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter') return
    event.preventDefault()
    step(event.shiftKey ? -1 : 1)
  })
  back.addEventListener('click', () => step(-1))
  next.addEventListener('click', () => step(1))
  return h('search', { className: 'find-bar' }, input, said, back, next)
}

/** The most places that are counted. */
export const mostMatches = 1_000

/**
 * What a query stands for, in any letters' case.
 * @param {string} query
 */
export function patternOf(query) {
  return new RegExp(query.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'giu')
}

/**
 * Marks a place, without a change of what is there. Nothing is marked where the browser can't.
 * @param {Range | undefined} range
 */
export function markFound(range) {
  CSS.highlights?.delete('found')
  if (range === undefined) return
  CSS.highlights?.set('found', new Highlight(range))
  range.startContainer.parentElement?.scrollIntoView({ block: 'nearest' })
  lookAt(range, framesToSettle)
}

/** What comes into view is laid out only then, and may move what is below it. */
const framesToSettle = 4

/** @param {Range} range @param {number} frames */
function lookAt(range, frames) {
  const box = range.startContainer.parentElement?.closest('pre, .json-tree')
  if (!(box instanceof HTMLElement)) return
  const [{ top, bottom }, outer] = [range.getBoundingClientRect(), box.getBoundingClientRect()]
  if (top < outer.top || bottom > outer.bottom) box.scrollTop += top - outer.top - box.clientHeight / 2
  if (frames > 0) requestAnimationFrame(() => lookAt(range, frames - 1))
}
