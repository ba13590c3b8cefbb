import { decisionCard } from '../decisions.js'
import { h, renderList } from '../dom.js'

/**
 * Everything that waits for somebody, of all runs.
 * @param {{ live: import('../live.js').Live }} context
 */
export function approvalsView({ live }) {
  const heading = h('h1', { tabindex: '-1' }, 'Approvals')
  const list = h('div', { className: 'decisions' })
  const empty = h(
    'p',
    { className: 'empty' },
    'Nothing waits for you. Calls of tools that need an approval appear here; their runs pause until it is given.',
  )
  const element = h(
    'div',
    { className: 'column' },
    h(
      'div',
      { className: 'view-head' },
      heading,
      h('p', { className: 'muted' }, 'Runs that wait for a decision go on as soon as it is made.'),
    ),
    empty,
    list,
  )
  const render = () => {
    const { pending } = live
    empty.hidden = pending.length > 0
    renderList(list, pending, {
      key: (item) => item.fingerprint,
      create: (item) =>
        decisionCard(item, {
          link: true,
          onDecided: () => {
            const next = [...list.querySelectorAll('.decision:not([data-decided]) button')].at(0)
            if (next instanceof HTMLElement) next.focus()
            else heading.focus()
            live.refresh()
          },
        }),
    })
  }
  const close = live.onChange(render)
  return { element, title: 'Approvals', close }
}
