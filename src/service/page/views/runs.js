import { clock, count } from '../data/format.js'
import { callCard } from '../ui/call-card.js'
import { h, renderList, setText } from '../ui/dom.js'
import { showBadge } from '../ui/run-badge.js'
import { runDetail } from './run.js'

/** @typedef {import('../data/live.js').Live} Live */
/** @typedef {import('../types.js').Run} Run */

/**
 * All runs beside what they do now, or beside one of them.
 * @param {{ live: Live }} context
 * @param {string | undefined} selected
 */
export function runsView({ live }, selected) {
  const list = h('ul', { className: 'run-list' })
  const empty = h('p', { className: 'empty' }, 'No runs yet. Runs started by a client or in the chat appear here.')
  const summary = h('p', { className: 'muted' })
  const side = h('div', { className: 'split-side' })
  const element = h(
    'div',
    { className: 'split' },
    h(
      'section',
      { className: 'split-list' },
      h('div', { className: 'view-head' }, h('h1', { tabindex: '-1' }, 'Runs'), summary),
      empty,
      list,
    ),
    side,
  )
  /** @type {{ element: HTMLElement, close(): void } | undefined} */
  let shown
  /** @param {string | undefined} id */
  const show = (id) => {
    shown?.close()
    shown = id === undefined ? activity(live) : runDetail(live, id)
    side.replaceChildren(shown.element)
    element.classList.toggle('has-selection', id !== undefined)
    selected = id
    render()
  }
  const render = () => {
    const { runs } = live
    renderList(list, runs, { key: (run) => run.id, create: runItem, update: (item, run) => updateItem(item, run, run.id === selected) })
    empty.hidden = runs.length > 0
    const running = runs.filter((run) => run.status === 'running').length
    const paused = runs.filter((run) => run.status === 'paused').length
    setText(
      summary,
      [count(runs.length, 'run'), running > 0 && `${running} running`, paused > 0 && `${paused} waiting`].filter(Boolean).join(' · '),
    )
  }
  show(selected)
  const unsubscribe = live.onChange(render)
  return {
    element,
    title: 'Runs',
    /** @param {string | undefined} id */
    navigate(id) {
      show(id)
      const target = id === undefined ? element : side
      target.querySelector('h1, h2')?.scrollIntoView({ block: 'nearest' })
    },
    close() {
      unsubscribe()
      shown?.close()
    },
  }
}

/** @param {Run} run */
function runItem({ id, input, createdAt }) {
  return h(
    'li',
    {},
    h(
      'a',
      { className: 'run-item', href: `#/runs/${encodeURIComponent(id)}` },
      h('span', { className: 'run-input' }, input === '' ? 'No text' : input),
      h(
        'span',
        { className: 'run-line' },
        h('span', { className: 'badge' }),
        h('span', { className: 'run-model' }),
        h('time', { datetime: createdAt }, clock(createdAt)),
      ),
    ),
  )
}

/**
 * @param {HTMLElement} item
 * @param {Run} run
 * @param {boolean} isSelected
 */
function updateItem(item, run, isSelected) {
  const link = item.firstElementChild
  if (isSelected) link?.setAttribute('aria-current', 'true')
  else link?.removeAttribute('aria-current')
  const badge = item.querySelector('.badge')
  if (badge !== null) showBadge(badge, run)
  const model = item.querySelector('.run-model')
  if (model !== null) setText(model, `${run.model === 'toolloop' ? 'current model' : run.model}${run.kind === 'chat' ? ' · chat API' : ''}`)
}

/**
 * The latest calls of all runs, as they happen.
 * @param {Live} live
 */
function activity(live) {
  const list = h('div', { className: 'feed', role: 'feed', 'aria-label': 'Tool calls' })
  const empty = h('p', { className: 'empty' }, 'No tool calls yet. Calls appear here live, with their arguments, result and duration.')
  const element = h(
    'section',
    { className: 'panel' },
    h('div', { className: 'panel-head' }, h('h2', {}, 'Tool calls'), h('p', { className: 'muted' }, 'of all runs, latest first')),
    empty,
    list,
  )
  /** @type {WeakMap<HTMLElement, (call: import('../data/calls.js').Call) => void>} */
  const updates = new WeakMap()
  /** @param {import('../data/calls.js').Call} call */
  const linkTo = ({ topRunId }) => ({ href: `#/runs/${encodeURIComponent(topRunId)}`, words: live.run(topRunId)?.input || 'Run' })
  const unsubscribe = live.onChange(() => {
    const calls = live.calls.latest
    empty.hidden = calls.length > 0
    renderList(list, calls, {
      key: (call) => call.key,
      create: (call) => {
        const card = callCard(call, { linkTo })
        updates.set(card.element, card.update)
        return card.element
      },
      update: (card, call) => updates.get(card)?.(call),
    })
  })
  return { element, close: unsubscribe }
}
