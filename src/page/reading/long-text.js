import { copyButton } from '../ui/copy.js'
import { h } from '../ui/dom.js'
import { visible } from '../ui/visible.js'
import { findBar, markFound, mostMatches, patternOf } from './find-bar.js'
import { TextBlocks } from './text-blocks.js'

/** More of a text is shown when it is asked for. */
const shortLength = 1_200
const shortLines = 10
/** A button for less than that would take the place of what it hides. */
const slackLines = 4

/** Whether a text is shown whole at once. @param {string} text */
export function isShort(text) {
  return text.length <= shortLength && text.split('\n', shortLines + slackLines + 1).length <= shortLines + slackLines
}

/**
 * Text as it is, with what screens hide made visible. Of a long one the beginning, with a button that shows the rest, in which can be searched.
 * @param {string} text
 * @param {string} label What it is, for those who can't see where it stands.
 */
export function longText(text, label) {
  const copy = copyButton(`Copy ${label.toLowerCase()}`, () => text)
  if (isShort(text)) return h('div', { className: 'value' }, h('pre', { className: 'code' }, visible(text)), copy)
  const short = visible(text.slice(0, shortLength).split('\n', shortLines).join('\n'))
  const all = `Show all ${text.length.toLocaleString()} characters`
  const block = h('pre', { className: 'code', tabindex: '0', role: 'group', 'aria-label': label }, short)
  const more = h('button', { type: 'button', className: 'link-button', 'aria-expanded': 'false' }, all)
  const tools = h('div', { className: 'value-tools' }, more)
  /** @type {HTMLElement | undefined} */
  let finder
  more.addEventListener('click', () => {
    const opens = more.getAttribute('aria-expanded') === 'false'
    block.replaceChildren()
    finder?.remove()
    finder = undefined
    if (opens) {
      finder = finderOf(text, label, new TextBlocks(text, block))
      tools.append(finder)
    } else block.textContent = short
    more.setAttribute('aria-expanded', String(opens))
    more.textContent = opens ? 'Show less' : all
  })
  return h('div', { className: 'value long-text' }, block, tools, copy)
}

/**
 * @param {string} text
 * @param {string} label
 * @param {TextBlocks} blocks
 */
export function finderOf(text, label, blocks) {
  return findBar(label, {
    find(query) {
      /** @type {[start: number, end: number][]} */
      const matches = []
      for (const { index, 0: found } of text.matchAll(patternOf(query))) {
        if (matches.length === mostMatches) return { matches, isCut: true }
        matches.push([index, index + found.length])
      }
      return { matches, isCut: false }
    },
    show: (match) => markFound(match && blocks.rangeOf(...match)),
  })
}
