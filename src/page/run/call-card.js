import { duration } from '../data/format.js'
import { valueView } from '../reading/by-hand.tsx'
import { h, replace, setText } from '../ui/dom.js'
import { icon } from '../ui/icons.js'
import { since } from '../ui/since.js'

/** @typedef {import('../data/calls.js').Call} Call */

/** @type {Record<Exclude<Call['state'], 'waiting'>, string>} */
const words = { writing: 'receiving arguments', running: 'running', ok: 'succeeded', failed: 'failed', rejected: 'not run' }
/** @type {Record<Call['waitsFor'], string>} */
const waitWords = { approval: 'waiting for approval', client_tool: 'waiting for a result', question: 'waiting for an answer' }
/** @type {Record<Call['state'], import('../ui/icon.tsx').IconName>} */
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
  const args = valueRow()
  const progress = valueRow()
  const result = valueRow()
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
    const isOpen = now.state === 'running' || now.state === 'waiting'
    if (isOpen && now.since !== undefined) replace(time, since(new Date(now.since).toISOString()))
    else setText(time, now.durationMs === undefined ? '' : duration(now.durationMs))
    const outcome = now.result === '' && now.state === 'ok' ? '(empty)' : now.result
    const rows = [
      now.args !== undefined && !(asks && now.state === 'waiting') && args('Arguments', now.args),
      now.progress !== '' && progress('Progress', now.progress),
      outcome !== '' && result(now.state === 'ok' ? 'Result' : 'Error', outcome),
    ].flatMap((row) => row || [])
    if (rows.length !== body.children.length || rows.some((row, at) => row !== body.children[at])) body.replaceChildren(...rows)
  }
  update(call)
  return { element, update }
}

/** A row that stays as it is, with what was opened and selected in it, as long as its value is the same one. */
function valueRow() {
  /** @type {unknown} */
  let shown
  /** @type {HTMLElement[]} */
  let row = []
  /** @param {string} label @param {unknown} value */
  return (label, value) => {
    if (value !== shown) row = [h('dt', {}, label), h('dd', {}, valueView(value, label))]
    shown = value
    return row
  }
}
