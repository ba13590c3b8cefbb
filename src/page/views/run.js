import { ask, messageOf, post } from '../data/api.js'
import { RunFollower } from '../data/follow-run.js'
import { clock, count, duration, ending, money } from '../data/format.js'
import { itemsOf } from '../data/pending-items.js'
import { decisionHistory } from '../run/decision-history.js'
import { DecisionList } from '../run/decision-list.js'
import { showBadge } from '../run/run-badge.js'
import { Timeline } from '../run/timeline.js'
import { Waterfall } from '../run/waterfall.js'
import { compareHref } from '../runs/addresses.ts'
import { exportDialog } from '../runs/export-dialog.tsx'
import { runAgainDialog } from '../runs/run-again-dialog.tsx'
import { h, newId, replace, setText } from '../ui/dom.js'
import { icon } from '../ui/icons.js'

/** @typedef {import('../data/follow-run.js').RunWithResult} RunWithResult */

/**
 * One run: what was asked, everything that happened, what it waits for, and ways to steer it.
 * @param {import('../data/live.js').Live} live
 * @param {string} id
 */
export function runDetail(live, id) {
  const path = `v1/runs/${encodeURIComponent(id)}`
  const title = h('h2', { tabindex: '-1', className: 'run-title' }, 'Run')
  const badge = h('span', { className: 'badge' })
  const decideNow = h('button', { type: 'button', className: 'primary', hidden: true }, 'Decide')
  const cancel = h('button', { type: 'button', className: 'danger', hidden: true }, 'Cancel run')
  const again = h('button', { type: 'button' }, 'Run again')
  const save = h('button', { type: 'button' }, 'Export')
  const compare = h('a', { className: 'button', href: compareHref(id) }, 'Compare with…')
  const facts = h('dl', { className: 'facts' })
  const decided = h('div', {})
  const waterfall = new Waterfall(() => live.run(id)?.status)
  const timeline = new Timeline()
  const pending = new DecisionList({ onDecided: () => title.focus() })
  const outcome = h('div', { className: 'outcome' })
  const error = h('p', { className: 'error-text', role: 'alert', id: newId() })
  const steer = steerForm(path, error, (text) => timeline.user(text))
  const element = h(
    'section',
    { className: 'panel run-panel', 'aria-label': 'Run' },
    h('a', { className: 'back', href: '#/runs' }, icon('back'), 'All runs'),
    h('div', { className: 'panel-head' }, title, h('div', { className: 'panel-actions' }, badge, decideNow, compare, again, save, cancel)),
    facts,
    pending.element,
    decided,
    waterfall.element,
    timeline.element,
    outcome,
    error,
    steer,
  )
  let isAsked = false
  /** The run, with its result where it has one. @type {import('../data/follow-run.js').RunWithResult | undefined} */
  let known
  let isClosed = false
  const render = () => {
    const run = live.run(id) ?? known
    if (run === undefined) return
    setText(title, run.input === '' ? 'Run' : run.input)
    showBadge(badge, run)
    decideNow.hidden = run.status !== 'paused'
    cancel.hidden = run.status === 'done'
    steer.hidden = run.status === 'done'
    replace(facts, ...factsOf(run))
    waterfall.look()
  }
  const unsubscribe = live.onChange(render)
  const follower = new RunFollower(id, live, {
    onEvent(event) {
      if (event.type === 'RUN_START' || event.type === 'MODEL_START') outcome.replaceChildren()
      if (event.type !== 'DECISION_NEEDED') pending.clear()
      timeline.take(event)
      waterfall.take(event)
    },
    onResult(run) {
      known = run
      const { result, decisions, ...summary } = run
      live.learn(summary)
      const asked = run.result?.newMessages?.[0]
      if (!isAsked && asked?.role === 'user' && textOf(asked.content) !== title.textContent) {
        isAsked = true
        timeline.question(textOf(asked.content))
      }
      pending.show(itemsOf(run))
      waterfall.end(run)
      if (run.status === 'done') timeline.answer(answerOf(run))
      showDecisions(run)
      replace(outcome, ...outcomeOf(run))
      live.refresh(id)
      render()
    },
    onGap: (events) => timeline.gap(events),
    onGone() {
      replace(outcome, h('p', { className: 'empty' }, 'This run is no longer stored. Finished runs are kept for a limited time.'))
    },
  })
  /** @param {import('../types.js').Run} run */
  const showDecisions = ({ decisions = [] }) => replace(decided, decisionHistory(decisions))
  // One of any age is asked for, whatever is listed; the decisions on one that goes on besides, as it tells them only at its end.
  void ask(`v1/runs?output=short&id=${encodeURIComponent(id)}`)
    .then(async ({ data: [summary] }) => {
      if (isClosed || known !== undefined || summary === undefined) return
      live.learn(summary)
      render()
      if (summary.status !== 'running') return
      const run = await ask(path)
      if (!isClosed && known === undefined) showDecisions(run)
    })
    .catch(() => {})
  again.addEventListener('click', () => void runAgainDialog(live, id).catch(fail))
  save.addEventListener('click', () => void exportDialog(id).catch(fail))
  /** @param {unknown} thrown */
  function fail(thrown) {
    error.textContent = messageOf(thrown)
  }
  decideNow.addEventListener('click', () => {
    const first = pending.element.querySelector('.buttons button:enabled')
    if (!(first instanceof HTMLElement)) return
    first.closest('.decision')?.scrollIntoView({ block: 'nearest' })
    first.focus()
  })
  cancel.addEventListener('click', async () => {
    cancel.disabled = true
    error.textContent = ''
    try {
      await post(`${path}/cancel`, {})
      live.refresh(id)
      title.focus()
    } catch (thrown) {
      fail(thrown)
    } finally {
      cancel.disabled = false
    }
  })
  return {
    element,
    close() {
      isClosed = true
      unsubscribe()
      follower.close()
      waterfall.close()
    },
  }
}

/** @param {RunWithResult} run */
function answerOf({ result, output = '' }) {
  return typeof result?.text === 'string' ? result.text : output
}

/** @param {import('../types.js').Run} run */
function factsOf(run) {
  const { usage, finishedAt, createdAt, toolCalls = 0 } = run
  const took = finishedAt === undefined ? undefined : Date.parse(finishedAt) - Date.parse(createdAt)
  /** @type {[string, string | undefined][]} */
  const rows = [
    ['Model', run.model === 'toolloop' ? undefined : run.model],
    ['Token', run.owner],
    ['Started', clock(createdAt)],
    [run.status === 'paused' ? 'Before the pause' : 'Duration', took === undefined ? undefined : duration(took)],
    ['Turns', run.iterations === undefined ? undefined : String(run.iterations)],
    ['Calls', toolCalls === 0 ? undefined : toolCalls.toLocaleString()],
    [
      'Tokens',
      usage && usage.totalTokens > 0 ? `${usage.inputTokens.toLocaleString()} in, ${usage.outputTokens.toLocaleString()} out` : undefined,
    ],
    ['Cost', usage?.costUsd === undefined ? undefined : money(usage.costUsd)],
    ['ID', run.id],
  ]
  return rows.flatMap(([name, value]) => (value === undefined ? [] : [h('div', {}, h('dt', {}, name), h('dd', {}, value))]))
}

/** @param {RunWithResult} run */
function outcomeOf({ status, stopReason, error, result }) {
  if (status !== 'done') return []
  const calls = result?.toolCalls?.length ?? 0
  const words = `${capital(ending(stopReason))}${calls > 0 ? ` after ${count(calls, 'tool call')}` : ''}`
  return [
    h('p', { className: stopReason === 'answered' ? 'outcome-line good' : 'outcome-line' }, words),
    error !== undefined && h('p', { className: 'error-box' }, h('code', {}, error.code), ' ', error.message),
  ]
}

/** @param {string} text */
function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/**
 * @param {string} path
 * @param {HTMLElement} error
 * @param {(text: string) => void} onSent
 */
function steerForm(path, error, onSent) {
  const id = newId()
  const input = h('input', {
    id,
    type: 'text',
    autocomplete: 'off',
    required: true,
    placeholder: 'Delivered before the next model request',
    'aria-describedby': error.id,
  })
  const form = h(
    'form',
    { className: 'steer', hidden: true },
    h('label', { for: id }, 'Send a message to this run'),
    h('div', { className: 'input-row' }, input, h('button', { type: 'submit' }, 'Send')),
  )
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    error.textContent = ''
    const text = input.value.trim()
    if (text === '') return
    try {
      await post(`${path}/messages`, { input: text })
      onSent(text)
      input.value = ''
    } catch (thrown) {
      error.textContent = messageOf(thrown)
    }
  })
  return form
}

/**
 * @param {unknown} content
 * @returns {string}
 */
function textOf(content) {
  if (typeof content === 'string') return content
  return Array.isArray(content) ? content.map((part) => (part?.type === 'text' ? part.text : `[${part?.type}]`)).join('\n') : ''
}
