import { append, h } from './dom.js'

/**
 * A message above the content, until it is replaced or closed.
 * @param {string} kind
 * @param {string} text
 * @param {...HTMLElement} actions
 */
export function notice(kind, text, ...actions) {
  const box = h('div', { className: `notice ${kind}`, role: kind === 'error' ? 'alert' : 'status' }, h('p', {}, text))
  const close = h('button', { type: 'button', className: 'quiet icon-button notice-close', 'aria-label': 'Dismiss' }, '×')
  close.addEventListener('click', () => box.remove())
  append(box, ...actions, close)
  return box
}
