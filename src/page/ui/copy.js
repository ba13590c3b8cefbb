import { announce } from './announce.js'
import { h } from './dom.js'
import { icon } from './icons.js'

/**
 * Puts a text on the clipboard, and says whether that was possible: a page without TLS may have none.
 * @param {string} text
 */
export async function copyText(text) {
  const copied = await navigator.clipboard?.writeText(text).then(
    () => true,
    () => false,
  )
  announce(copied ? 'Copied' : 'The browser refuses to copy')
  return copied === true
}

/**
 * A small button that copies; for a moment it shows that it has.
 * @param {string} label What is copied, such as `Copy result`.
 * @param {() => string} textOf
 */
export function copyButton(label, textOf) {
  const button = h('button', { type: 'button', className: 'quiet tool-button', 'aria-label': label, title: label }, icon('copy'))
  button.addEventListener('click', async () => {
    const copied = await copyText(textOf())
    button.replaceChildren(icon(copied ? 'check' : 'cross'))
    setTimeout(() => button.replaceChildren(icon('copy')), 1_500)
  })
  return button
}
