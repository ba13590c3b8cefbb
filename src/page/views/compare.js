import { ask, messageOf } from '../data/api.js'
import { diffLines } from '../data/diff.js'
import { clock, duration, ending, money } from '../data/format.js'
import { foldedDiff } from '../run/by-hand.tsx'
import { h, replace } from '../ui/dom.js'
import { icon } from '../ui/icons.js'
import { visible } from '../ui/visible.js'
import { whyNoRecording } from './export-dialog.js'

/** @typedef {{ id: string, run: any, recording: any, why: string }} Side A run with its recording; `why`: there is none. */
/** @typedef {'same' | 'different' | 'only in the first' | 'only in the second'} Verdict */

/** The address of two runs that are compared; without one of them, that it is to be chosen. @param {string} first @param {string} [second] */
export function compareHref(first, second = '') {
  return `#/runs/${encodeURIComponent(first)}~${encodeURIComponent(second)}`
}

/**
 * The runs of such an address; undefined: it is another one.
 * @param {string | undefined} param
 * @returns {[first: string, second: string] | undefined}
 */
export function comparedIn(param) {
  const at = param?.indexOf('~') ?? -1
  return param === undefined || at < 0 ? undefined : [param.slice(0, at), param.slice(at + 1)]
}

/**
 * Two runs side by side.
 * @param {string} first Empty: to be chosen in the list.
 * @param {string} second The same.
 */
export function compareView(first, second) {
  const body = h('div', { className: 'compare' }, h('p', { className: 'muted', role: 'status' }, wordsOf(first, second)))
  const element = h(
    'section',
    { className: 'panel compare-panel', 'aria-label': 'Compare' },
    h('a', { className: 'back', href: '#/runs' }, icon('back'), 'All runs'),
    h(
      'div',
      { className: 'panel-head' },
      h('h2', { tabindex: '-1' }, 'Compare runs'),
      h(
        'div',
        { className: 'panel-actions' },
        second !== '' && h('a', { className: 'button', href: compareHref(second, first) }, 'Swap'),
        h(
          'a',
          { className: 'button', href: first === '' ? '#/runs' : `#/runs/${encodeURIComponent(first)}` },
          second === '' ? 'Cancel' : 'Close',
        ),
      ),
    ),
    body,
  )
  if (second !== '')
    Promise.all([sideOf(first), sideOf(second)])
      .then(([a, b]) => replace(body, ...parts(a, b)))
      .catch((thrown) => replace(body, h('p', { className: 'error-text', role: 'alert' }, messageOf(thrown))))
  return { element, close() {} }
}

/** @param {string} first @param {string} second */
function wordsOf(first, second) {
  if (second !== '') return 'Loading…'
  return first === '' ? 'Choose the first run in the list.' : 'Choose the run to compare with in the list.'
}

/** @param {string} id @returns {Promise<Side>} */
async function sideOf(id) {
  const path = `v1/runs/${encodeURIComponent(id)}`
  let why = ''
  const [run, recording] = await Promise.all([
    ask(path),
    ask(`${path}/recording`).catch((thrown) => {
      why = whyNoRecording(thrown)
    }),
  ])
  return { id, run, recording, why }
}

/** @param {Side} a @param {Side} b */
function parts(a, b) {
  const [asked, answered] = [[a, b].map(({ run }) => run.input), [a, b].map(({ run }) => run.result?.text ?? run.output ?? '')]
  return [
    factsTable(a, b),
    section('Input', [compared(asked[0], asked[1], 'Input')]),
    section('Instructions, tools and settings', givenOf(a, b)),
    section('Answer', [compared(answered[0], answered[1], 'Answer')]),
    section('Calls', callsOf(a.run.result?.toolCalls ?? [], b.run.result?.toolCalls ?? [])),
  ]
}

/** @param {string} title @param {(Node | undefined)[]} content */
function section(title, content) {
  return h('section', { className: 'compare-part' }, h('h3', {}, title), ...content)
}

/** @param {unknown} before @param {unknown} after @param {string} label */
function compared(before, after, label) {
  const [one, other] = [before, after].map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
  if (one === other) return h('p', { className: 'muted' }, `${label}: the same`)
  return h(
    'div',
    {},
    h('p', { className: 'muted' }, `${label}: different`),
    foldedDiff(before ?? '', after ?? '', `${label}, first and second run`),
  )
}

/** @param {Side} a @param {Side} b */
function factsTable(a, b) {
  const rows = factsOf(a.run).map(([name, value, number], at) => {
    const [, other = '', otherNumber] = factsOf(b.run)[at] ?? ['']
    const change = number !== undefined && otherNumber !== undefined && number > 0 ? Math.round((otherNumber / number - 1) * 100) : 0
    return h(
      'tr',
      { className: value === other ? '' : 'is-different' },
      h('th', { scope: 'row' }, name),
      h('td', {}, value),
      h('td', {}, other, change !== 0 && h('span', { className: 'muted' }, ` ${change > 0 ? '+' : '−'}${Math.abs(change)} %`)),
    )
  })
  const head = [a, b].map(({ id, run }, at) =>
    h(
      'th',
      { scope: 'col' },
      `${['First', 'Second'][at]}: `,
      h('a', { href: `#/runs/${encodeURIComponent(id)}` }, visible(run.input || 'Run').slice(0, 120)),
    ),
  )
  return h(
    'div',
    { className: 'table-box', tabindex: '0', role: 'group', 'aria-label': 'Both runs' },
    h('table', { className: 'compare-facts' }, h('thead', {}, h('tr', {}, h('td', {}), ...head)), h('tbody', {}, ...rows)),
  )
}

/** @param {any} run @returns {[name: string, words: string, number?: number][]} */
function factsOf({ id, status, stopReason, owner, createdAt, finishedAt, iterations, usage, result, model, toolCalls = 0 }) {
  const models = new Set((result?.steps ?? []).map((/** @type {any} */ step) => `${step.provider} / ${step.model}`))
  const took = finishedAt === undefined ? undefined : Date.parse(finishedAt) - Date.parse(createdAt)
  const none = '–'
  return [
    ['Run', id],
    ['State', status === 'running' ? 'running' : ending(stopReason)],
    ['Model', [...models].join(', ') || model],
    ['Token', owner],
    ['Started', clock(createdAt)],
    ['Duration', took === undefined ? none : duration(took), took],
    ['Turns', String(iterations ?? none), iterations],
    ['Calls', toolCalls.toLocaleString(), toolCalls],
    ['Tokens in', usage?.inputTokens.toLocaleString() ?? none, usage?.inputTokens],
    ['Tokens out', usage?.outputTokens.toLocaleString() ?? none, usage?.outputTokens],
    ['Cost', usage?.costUsd === undefined ? none : money(usage.costUsd), usage?.costUsd],
  ]
}

/** What only recordings have. @param {Side} a @param {Side} b */
function givenOf(a, b) {
  if (a.recording === undefined || b.recording === undefined) {
    const which = a.recording !== undefined ? 'Of the second run: ' : b.recording !== undefined ? 'Of the first run: ' : ''
    return [h('p', { className: 'muted' }, `They can be compared where both runs have a recording. ${which}${a.why || b.why}`)]
  }
  const [one, other] = [a.recording.given, b.recording.given]
  const toolsOf = (/** @type {any} */ given) =>
    given.tools.map((/** @type {any} */ { name, description, parameters }) => ({ name, description, parameters }))
  return [
    compared(one.instructions ?? '', other.instructions ?? '', 'Instructions'),
    compared(toolsOf(one), toolsOf(other), 'Tools'),
    compared(one.settings, other.settings, 'Settings'),
  ]
}

/** @param {any[]} one @param {any[]} other */
function callsOf(one, other) {
  if (one.length + other.length === 0) return [h('p', { className: 'muted' }, 'Neither run has called a tool.')]
  const [first, second] = [one.values(), other.values()]
  const rows = diffLines(namesOf(one), namesOf(other)).flatMap(({ kind }) => {
    const [a, b] = [kind === 'new' ? undefined : first.next().value, kind === 'gone' ? undefined : second.next().value]
    return a === undefined && b === undefined ? [] : [callRow(a, b)]
  })
  return [h('div', { className: 'tool-list' }, ...rows)]
}

/** Calls of the same tool, in their order, belong together. @param {any[]} calls */
function namesOf(calls) {
  return calls.map(({ tool }) => tool).join('\n')
}

/** @param {any} a @param {any} b */
function callRow(a, b) {
  const argsOf = (/** @type {any} */ call) => call?.args ?? call?.rawArguments
  const isSame = (/** @type {unknown} */ one, /** @type {unknown} */ other) => JSON.stringify(one) === JSON.stringify(other)
  const differing = a && b && [!isSame(argsOf(a), argsOf(b)) && 'arguments', !isSame(a.content, b.content) && 'result'].filter(Boolean)
  const words =
    a === undefined
      ? 'only in the second'
      : b === undefined
        ? 'only in the first'
        : differing.length === 0
          ? 'same'
          : `different ${differing.join(' and ')}`
  const times = [a, b].flatMap((call) => (call === undefined ? [] : [duration(call.durationMs)])).join(' → ')
  const body = h('div', { className: 'tool-body' })
  const element = h(
    'details',
    { className: 'tool' },
    h(
      'summary',
      { className: 'tool-summary' },
      h('code', { className: 'tool-name' }, visible((a ?? b).tool)),
      h(
        'span',
        { className: 'tool-marks' },
        h('span', { className: `badge ${words === 'same' ? 'off' : 'wait'}` }, words),
        h('span', { className: 'muted' }, times),
      ),
    ),
    body,
  )
  // What nobody opens is not compared.
  element.addEventListener('toggle', () => {
    if (!element.open || body.childElementCount > 0) return
    replace(body, compared(argsOf(a), argsOf(b), 'Arguments'), compared(a?.content, b?.content, 'Result'))
  })
  return element
}
