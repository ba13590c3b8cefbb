import { diffLines } from '../data/diff.js'
import { count } from '../data/format.js'
import { h } from '../ui/dom.js'
import { visible } from '../ui/visible.js'

/** @typedef {import('../data/diff.js').DiffLine} DiffLine */

const marks = { same: ' ', gone: '-', new: '+' }
const words = { same: '', gone: 'removed: ', new: 'added: ' }

/** Lines around a change, and characters of a line, where what is the same is folded. */
const around = 3
const mostOfLine = 2_000
const mostRows = 300

/**
 * Two values as JSON, the second shown by what is different from the first: whole.
 * @param {unknown} before
 * @param {unknown} after
 * @param {string} label
 */
export function diff(before, after, label) {
  return block(label, rowsOf(before, after).map(row))
}

/**
 * The same for what may be long: of what is the same, what is next to a change.
 * @param {unknown} before
 * @param {unknown} after
 * @param {string} label
 */
export function foldedDiff(before, after, label) {
  const rows = rowsOf(before, after)
  const isNear = new Uint8Array(rows.length)
  for (const [at, { kind }] of rows.entries()) if (kind !== 'same') isNear.fill(1, Math.max(0, at - around), at + around + 1)
  const groups = folded(rows, isNear)
  const more = h('button', { type: 'button', className: 'link-button' })
  const place = block(label, [])
  const show = () => {
    place.append(
      ...groups
        .splice(0, mostRows)
        .map((one) =>
          'folded' in one ? h('span', { className: 'diff-line muted' }, `  … ${count(one.folded, 'line')} the same\n`) : row(cut(one)),
        ),
    )
    more.textContent = `Show more of ${groups.length.toLocaleString()} lines`
    more.hidden = groups.length === 0
  }
  more.addEventListener('click', show)
  show()
  return h('div', {}, place, more)
}

/** @param {DiffLine[]} rows @param {Uint8Array} isNear @returns {(DiffLine | { folded: number })[]} */
function folded(rows, isNear) {
  /** @type {(DiffLine | { folded: number })[]} */
  const groups = []
  for (const [at, line] of rows.entries()) {
    const last = groups.at(-1)
    if (isNear[at]) groups.push(line)
    else if (last !== undefined && 'folded' in last) last.folded++
    else groups.push({ folded: 1 })
  }
  return groups
}

/** @param {DiffLine} line @returns {DiffLine} */
function cut({ kind, text }) {
  const left = text.length - mostOfLine
  return { kind, text: left > 0 ? `${text.slice(0, mostOfLine)} … ${count(left, 'more character')}` : text }
}

/** @param {unknown} before @param {unknown} after */
function rowsOf(before, after) {
  const [a, b] = [before, after].map((value) => (typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '')))
  return diffLines(a ?? '', b ?? '')
}

/** @param {DiffLine} line */
function row({ kind, text }) {
  return h(
    'span',
    { className: `diff-line ${kind}` },
    h('span', { 'aria-hidden': 'true' }, `${marks[kind]} `),
    kind !== 'same' && h('span', { className: 'visually-hidden' }, words[kind]),
    h('bdi', {}, visible(text)),
    '\n',
  )
}

/** @param {string} label @param {Node[]} rows */
function block(label, rows) {
  return h('pre', { className: 'code diff', tabindex: '0', role: 'group', 'aria-label': label }, ...rows)
}
