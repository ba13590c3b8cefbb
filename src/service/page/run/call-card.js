import { duration, json, resultText } from '../data/format.js'
import { h, setText } from '../ui/dom.js'
import { icon } from '../ui/icons.js'
import { visible } from '../ui/visible.js'

/** @typedef {import('../data/calls.js').Call} Call */

/** More of a result is shown when it is asked for. */
const shortLength = 1_200
const shortLines = 10
/** A button for less than that would take the place of what it hides. */
const slackLines = 4
/** Even then not more: nobody reads further, and the browser would be busy. */
const longestLength = 200_000

/** @type {Record<Exclude<Call['state'], 'waiting'>, string>} */
const words = { writing: 'receiving arguments', running: 'running', ok: 'succeeded', failed: 'failed', rejected: 'not run' }
/** @type {Record<Call['waitsFor'], string>} */
const waitWords = { approval: 'waiting for approval', client_tool: 'waiting for a result', question: 'waiting for an answer' }
/** @type {Record<Call['state'], import('../ui/icons.js').IconName>} */
const icons = { writing: 'dots', waiting: 'hand', running: 'dots', ok: 'check', failed: 'cross', rejected: 'cross' }

/**
 * A tool call as a card: its name, how it stands, its arguments and its result.
 * @param {Call} call
 * @param {{ linkTo?: (call: Call) => { href: string, words: string }, asks?: boolean }} [options] `linkTo`: where the run it belongs to is
 *   shown; `asks`: what waits is shown beside it with its arguments, which are not said twice.
 */
export function callCard(call, { linkTo, asks = false } = {}) {
  const mark = h('span', { className: 'call-mark', 'aria-hidden': 'true' })
  const state = h('span', { className: 'call-state' })
  const time = h('span', { className: 'call-time' })
  const runLink = linkTo && h('a', {})
  const args = textRow()
  const progress = textRow()
  const result = textRow()
  const body = h('dl', { className: 'call-body' })
  const where = call.within === '' ? '' : ` inside ${call.within}`
  const element = h(
    'article',
    { className: 'call', 'aria-label': `Call to ${call.tool}${where}` },
    h(
      'header',
      { className: 'call-head' },
      mark,
      h('span', { className: 'call-name' }, h('span', { className: 'call-tool' }, call.tool), state),
      time,
    ),
    (runLink || where !== '') &&
      h('p', { className: 'call-run' }, where !== '' && `in ${call.within}`, where !== '' && runLink && ' · ', runLink),
    body,
  )
  let shown = -1
  /** @param {Call} now */
  const update = (now) => {
    if (runLink && linkTo) {
      const { href, words: label } = linkTo(now)
      runLink.setAttribute('href', href)
      setText(runLink, label)
    }
    if (now.version === shown) return
    shown = now.version
    if (element.dataset.state !== now.state) {
      element.dataset.state = now.state
      mark.replaceChildren(icon(icons[now.state]))
    }
    setText(state, now.state === 'waiting' ? waitWords[now.waitsFor] : words[now.state])
    setText(time, now.durationMs === undefined ? '' : duration(now.durationMs))
    const outcome = now.result === '' && now.state === 'ok' ? '(empty)' : now.result
    const rows = [
      now.args !== undefined &&
        !(asks && now.state === 'waiting') &&
        args('Arguments', now.args, (value) => visible(typeof value === 'string' ? value : json(value))),
      now.progress !== '' && progress('Progress', now.progress),
      outcome !== '' && result(now.state === 'ok' ? 'Result' : 'Error', outcome, resultText),
    ].flatMap((row) => row || [])
    if (rows.length !== body.children.length || rows.some((row, at) => row !== body.children[at])) body.replaceChildren(...rows)
  }
  update(call)
  return { element, update }
}

/** A row that stays as it is, with what was opened and selected in it, as long as its value is the same one. */
function textRow() {
  /** @type {unknown} */
  let shown
  /** @type {HTMLElement[]} */
  let row = []
  /**
   * @template Value
   * @param {string} label
   * @param {Value} value
   * @param {(value: Value) => string} [toText]
   */
  return (label, value, toText = String) => {
    if (value !== shown) row = [h('dt', {}, label), h('dd', {}, longText(toText(value), label))]
    shown = value
    return row
  }
}

/**
 * Text as it is, cut where it is long, with a button that shows the rest.
 * @param {string} text
 * @param {string} label What it is, for those who can't see where it stands.
 */
export function longText(text, label) {
  const lines = text.split('\n', shortLines + slackLines + 1)
  const isLong = text.length > shortLength || lines.length > shortLines + slackLines
  if (!isLong) return h('pre', { className: 'code' }, text)
  const short = lines.slice(0, shortLines).join('\n').slice(0, shortLength)
  const all = `Show all ${text.length.toLocaleString()} characters`
  const block = h('pre', { className: 'code', tabindex: '0', role: 'group', 'aria-label': label }, short)
  const more = h('button', { type: 'button', className: 'link-button', 'aria-expanded': 'false' }, all)
  more.addEventListener('click', () => {
    const opens = more.getAttribute('aria-expanded') === 'false'
    const cut = text.length > longestLength ? `\n… ${(text.length - longestLength).toLocaleString()} more characters` : ''
    block.textContent = opens ? text.slice(0, longestLength) + cut : short
    more.setAttribute('aria-expanded', String(opens))
    more.textContent = opens ? 'Show less' : all
  })
  return h('div', { className: 'long-text' }, block, more)
}
