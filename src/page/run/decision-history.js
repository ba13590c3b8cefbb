import { clock, moment } from '../data/format.js'
import { valueView } from '../reading/by-hand.tsx'
import { h } from '../ui/dom.js'
import { visible } from '../ui/visible.js'
import { diff } from './diff.js'

/** @typedef {import('../types.js').Decision} Decision */

/** @type {Record<Decision['verdict'], string>} */
const verdicts = {
  approved: 'approved',
  edited: 'approved with other arguments:',
  rejected: 'rejected',
  answered: 'answered',
  result: 'gave the result of',
}

/**
 * Who has decided what, and when.
 * @param {Decision[]} decisions
 */
export function decisionHistory(decisions) {
  if (decisions.length === 0) return undefined
  return h(
    'section',
    { className: 'decided', 'aria-label': 'Decisions' },
    h('h3', {}, 'Decisions'),
    h('ol', { className: 'decided-list' }, ...decisions.map(decided)),
  )
}

/** @param {Decision} decision */
function decided({ at, by, tool, agents = [], verdict, args, edited, about, reason, ...given }) {
  const value = verdict === 'answered' ? given.answer : given.result
  const hasValue = verdict === 'answered' || verdict === 'result'
  return h(
    'li',
    { className: `decided-item ${verdict}` },
    h(
      'p',
      {},
      h('strong', {}, by),
      ` ${verdicts[verdict] ?? verdict} `,
      h('code', {}, visible(tool)),
      agents.length > 0 && ` of ${visible(agents.join(' › '))}`,
      ' ',
      h('time', { datetime: at, title: moment(at), className: 'muted' }, clock(at)),
    ),
    reason !== undefined && h('p', { className: 'decision-about' }, h('q', {}, visible(reason))),
    typeof about === 'string' && h('p', { className: 'decision-about muted' }, visible(about)),
    edited !== undefined && diff(args, edited, 'Changed arguments'),
    edited === undefined && code('Arguments', args),
    hasValue && code(verdict === 'answered' ? 'Answer' : 'Result', value),
  )
}

/**
 * @param {string} label
 * @param {unknown} value
 */
function code(label, value) {
  const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0
  return value === undefined || isEmpty ? undefined : valueView(value, label)
}
