import { DecisionList } from '../ui/decision-list.js'
import { h } from '../ui/dom.js'

/**
 * Everything that waits for somebody, of all runs.
 * @param {{ live: import('../data/live.js').Live }} context
 */
export function approvalsView({ live }) {
  const heading = h('h1', { tabindex: '-1' }, 'Approvals')
  const list = new DecisionList({
    link: true,
    onDecided: () => {
      const next = list.element.querySelector('.decision:not([data-decided]) button')
      if (next instanceof HTMLElement) next.focus()
      else heading.focus()
      live.refresh()
    },
  })
  const empty = h(
    'p',
    { className: 'empty' },
    'Nothing is waiting for you. Calls that need an approval, a result or an answer appear here.',
  )
  const element = h(
    'div',
    { className: 'column' },
    h(
      'div',
      { className: 'view-head' },
      heading,
      h('p', { className: 'muted' }, 'A paused run continues once all of its pending calls are decided.'),
    ),
    empty,
    list.element,
  )
  const render = () => {
    const { pending } = live
    empty.hidden = pending.length > 0
    list.show(pending)
  }
  const close = live.onChange(render)
  return { element, title: 'Approvals', close }
}
