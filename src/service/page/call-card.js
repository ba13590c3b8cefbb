import { h, setText } from './dom.js'
import { duration, json, resultText } from './format.js'
import { icon } from './icons.js'

/** @typedef {import('./calls.js').Call} Call */

/** More of a result is shown when it is asked for. */
const shortLength = 1_200
const shortLines = 10
/** A button for less than that would take the place of what it hides. */
const slackLines = 4
/** Even then not more: nobody reads further, and the browser would be busy. */
const longestLength = 200_000

/** @type {Record<Call['state'], string>} */
const words = {
  writing: 'being written',
  waiting: 'waits for approval',
  running: 'running',
  ok: 'succeeded',
  failed: 'failed',
  rejected: 'not run',
}
/** @type {Record<Call['state'], import('./icons.js').IconName>} */
const icons = { writing: 'dots', waiting: 'hand', running: 'dots', ok: 'check', failed: 'cross', rejected: 'cross' }

/**
 * A tool call as a card: its name, how it stands, its arguments and its result.
 * @param {Call} call
 * @param {{ link?: { href: string, words: string } }} [options] `link`: to the run it belongs to.
 */
export function callCard(call, { link } = {}) {
  const mark = h('span', { className: 'call-mark', 'aria-hidden': 'true' })
  const state = h('span', { className: 'call-state' })
  const time = h('span', { className: 'call-time' })
  const body = h('dl', { className: 'call-body' })
  const card = h(
    'article',
    { className: 'call', 'aria-label': `Call of ${call.tool}` },
    h(
      'header',
      { className: 'call-head' },
      mark,
      h('span', { className: 'call-name' }, h('span', { className: 'call-tool' }, call.tool), state),
      time,
    ),
    link !== undefined && h('p', { className: 'call-run' }, h('a', { href: link.href }, link.words)),
    body,
  )
  let shown = -1
  let startedAt = performance.now()
  /** @param {Call} now */
  const update = (now) => {
    if (now.version === shown) return
    shown = now.version
    if (card.dataset.state !== now.state) {
      if (now.state === 'running') startedAt = performance.now()
      card.dataset.state = now.state
      mark.replaceChildren(icon(icons[now.state]))
    }
    setText(state, words[now.state])
    setText(time, now.durationMs === undefined ? '' : duration(now.durationMs))
    card.title = now.state === 'running' ? `since ${duration(performance.now() - startedAt)}` : ''
    const rows = []
    if (now.args !== undefined) rows.push(...row('Arguments', typeof now.args === 'string' ? now.args : json(now.args)))
    if (now.progress !== '') rows.push(...row('Progress', now.progress))
    if (now.result !== '') rows.push(...row(now.state === 'ok' ? 'Result' : 'Error', resultText(now.result)))
    else if (now.state === 'ok') rows.push(...row('Result', '(empty)'))
    body.replaceChildren(...rows)
  }
  update(call)
  return { element: card, update }
}

/**
 * @param {string} label
 * @param {string} text
 */
function row(label, text) {
  return [h('dt', {}, label), h('dd', {}, longText(text))]
}

/**
 * Text as it is, cut where it is long, with a button that shows the rest.
 * @param {string} text
 */
export function longText(text) {
  const lines = text.split('\n', shortLines + slackLines + 1)
  const isLong = text.length > shortLength || lines.length > shortLines + slackLines
  const short = isLong ? lines.slice(0, shortLines).join('\n').slice(0, shortLength) : text
  const block = h('pre', { className: 'code', tabindex: '0' }, short)
  if (!isLong) {
    block.removeAttribute('tabindex')
    return block
  }
  const more = h(
    'button',
    {
      type: 'button',
      className: 'link-button',
      'aria-expanded': 'false',
      onclick: () => {
        const opens = more.getAttribute('aria-expanded') === 'false'
        const cut = text.length > longestLength ? `\n… ${(text.length - longestLength).toLocaleString()} more characters` : ''
        block.textContent = opens ? text.slice(0, longestLength) + cut : short
        more.setAttribute('aria-expanded', String(opens))
        more.textContent = opens ? 'Show less' : all
      },
    },
    '',
  )
  const all = `Show all ${text.length.toLocaleString()} characters`
  more.textContent = all
  return h('div', { className: 'long-text' }, block, more)
}
