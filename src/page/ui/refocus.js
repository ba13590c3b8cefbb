import { h, replace } from './dom.js'

/**
 * A button that has the focus again when everything has been drawn anew.
 * @param {string} words
 * @param {string} focus Its name for that.
 * @param {() => unknown} act
 * @param {import('./dom.js').Props} [props]
 */
export function action(words, focus, act, props = {}) {
  return h('button', { type: 'button', 'data-focus': focus, onclick: () => void act(), ...props }, words)
}

/**
 * Replaces what is in an element. The focus goes to the button of the same name; where there is none any more, to `otherwise`.
 * @param {HTMLElement} element
 * @param {Parameters<typeof replace>[1][]} content
 * @param {HTMLElement} otherwise
 */
export function replaceKeepingFocus(element, content, otherwise) {
  const focused = element.contains(document.activeElement) ? document.activeElement : null
  const name = focused?.getAttribute('data-focus')
  replace(element, ...content)
  if (focused === null) return
  const again = [...element.querySelectorAll('[data-focus]:not(:disabled)')].find((one) => one.getAttribute('data-focus') === name)
  if (again instanceof HTMLElement) again.focus()
  else otherwise.focus()
}
