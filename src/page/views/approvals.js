import { messageOf } from '../data/api.js'
import { ago, count } from '../data/format.js'
import { DecisionList } from '../run/decision-list.js'
import { decide } from '../run/decisions.js'
import { announce } from '../ui/announce.js'
import { confirmDialog } from '../ui/confirm-dialog.js'
import { h, setText } from '../ui/dom.js'

/** @typedef {import('../data/pending-items.js').Item} Item */

/** Runs that are decided on at once. */
const decidedAtOnce = 6

/**
 * Everything that waits for somebody, of all runs; what has waited longest comes first.
 * @param {{ live: import('../data/live.js').Live }} context
 */
export function approvalsView({ live }) {
  const heading = h('h1', { tabindex: '-1' }, 'Approvals')
  const list = new DecisionList({
    link: true,
    onSelect: () => showSelection(),
    onDecided: () => {
      const next = list.element.querySelector('.decision:not([data-decided]) .buttons button:enabled')
      if (next instanceof HTMLElement) next.focus()
      else heading.focus()
      live.refresh()
    },
  })
  const about = h('p', { className: 'muted' })
  const empty = h(
    'div',
    { className: 'empty' },
    h('p', {}, 'Nothing is waiting for you. Calls that need an approval, a result or an answer appear here.'),
    h(
      'p',
      { className: 'muted' },
      'Which tools need one is said under ',
      h('code', {}, 'tools.approval'),
      ' in the ',
      h('a', { href: '#/config' }, 'configuration'),
      '. Press ',
      h('kbd', {}, 'a'),
      ' to approve, ',
      h('kbd', {}, 'e'),
      ' to edit, ',
      h('kbd', {}, 'r'),
      ' to reject.',
    ),
  )
  const all = h('input', { type: 'checkbox', id: 'select-all' })
  const chosen = h('span', { className: 'muted', role: 'status' })
  const approve = h('button', { type: 'button', className: 'primary', disabled: true }, 'Approve selected')
  const reject = h('button', { type: 'button', className: 'danger', disabled: true }, 'Reject selected')
  const error = h('p', { className: 'error-text', role: 'alert' })
  const bar = h(
    'div',
    { className: 'selection-bar', hidden: true },
    h('span', { className: 'check-row' }, all, h('label', { for: 'select-all' }, 'Select all')),
    chosen,
    h('div', { className: 'buttons' }, approve, reject),
  )
  const showSelection = () => {
    const { length } = list.selected
    approve.disabled = length === 0
    reject.disabled = length === 0
    setText(chosen, length === 0 ? '' : `${length} selected`)
    all.checked = length > 0 && list.element.querySelector('.decision-select:not(:checked)') === null
  }
  /** @param {Record<string, unknown>} verdict @param {string} verb */
  const decideAll = async (verdict, verb) => {
    const items = list.selected
    if (items.length === 0 || !(await confirmDialog({ title: `${verb} ${count(items.length, 'call')}?`, lines: byTool(items), verb })))
      return
    error.textContent = ''
    bar.setAttribute('aria-busy', 'true')
    const failed = await decideOnMany(items, verdict)
    bar.removeAttribute('aria-busy')
    announce(`${verb}: ${count(items.length - failed.length, 'call')}`)
    error.textContent = failed.length === 0 ? '' : `${count(failed.length, 'call')} could not be decided: ${failed[0]}`
    live.refresh()
    heading.focus()
  }
  all.addEventListener('change', () => {
    list.selectAll(all.checked)
    showSelection()
  })
  approve.addEventListener('click', () => void decideAll({ approved: true }, 'Approve'))
  reject.addEventListener('click', () => void decideAll({ approved: false }, 'Reject'))
  const element = h('div', { className: 'column' }, h('div', { className: 'view-head' }, heading, about), empty, bar, error, list.element)
  const render = () => {
    const { pending, waiting } = live
    empty.hidden = pending.length > 0
    list.show(pending)
    bar.hidden = !list.element.classList.contains('can-select')
    const oldest = pending[0]
    const unseen = waiting > pending.length ? `; the ${count(pending.length, 'one')} that came last are shown` : ''
    setText(about, oldest === undefined ? '' : `${count(waiting, 'call')} waiting, the first for ${ago(oldest.since)}${unseen}`)
    showSelection()
  }
  const close = live.onChange(render)
  const timer = setInterval(render, 1_000)
  return {
    element,
    title: 'Approvals',
    close() {
      clearInterval(timer)
      close()
    },
  }
}

/** @param {Item[]} items */
function byTool(items) {
  /** @type {Map<string, number>} */
  const tools = new Map()
  for (const { tool } of items) tools.set(tool, (tools.get(tool) ?? 0) + 1)
  return [...tools].map(([tool, calls]) => `${tool}: ${count(calls, 'call')}`)
}

/**
 * All of a run's items go into one order, so that none of them is asked for anew. Resolves with what went wrong, for each that failed.
 * @param {Item[]} items
 * @param {Record<string, unknown>} verdict
 */
async function decideOnMany(items, verdict) {
  /** @type {Map<string, [Item, ...Item[]]>} */
  const runs = new Map()
  for (const item of items) {
    const others = runs.get(item.runId)
    if (others === undefined) runs.set(item.runId, [item])
    else others.push(item)
  }
  /** @type {string[]} */
  const failed = []
  const left = runs.values()
  const work = async () => {
    for (const ofRun of left) {
      try {
        await decide(ofRun, verdict)
      } catch (thrown) {
        failed.push(...ofRun.map(() => messageOf(thrown)))
      }
    }
  }
  await Promise.all(Array.from({ length: decidedAtOnce }, work))
  return failed
}
