import { diffLines } from '../data/diff.js'
import { h } from '../ui/dom.js'
import { visible } from '../ui/visible.js'

const marks = { same: ' ', gone: '-', new: '+' }
const words = { same: '', gone: 'removed: ', new: 'added: ' }

/**
 * Two values as JSON, the second shown by what is different from the first.
 * @param {unknown} before
 * @param {unknown} after
 * @param {string} label
 */
export function diff(before, after, label) {
  const [a, b] = [before, after].map((value) => (typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '')))
  const rows = diffLines(visible(a ?? ''), visible(b ?? '')).map(({ kind, text }) =>
    h(
      'span',
      { className: `diff-line ${kind}` },
      h('span', { 'aria-hidden': 'true' }, `${marks[kind]} `),
      kind !== 'same' && h('span', { className: 'visually-hidden' }, words[kind]),
      h('bdi', {}, text),
      '\n',
    ),
  )
  return h('pre', { className: 'code diff', tabindex: '0', role: 'group', 'aria-label': label }, ...rows)
}
