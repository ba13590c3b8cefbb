import { ago } from '../data/format.js'
import { h, setText } from './dom.js'

const tickMs = 1_000
let isTicking = false

/**
 * For how long something has been as it is: a text that goes on with the time, for as long as it is on the page.
 * @param {string} iso
 * @param {string} [title]
 */
export function since(iso, title) {
  if (!isTicking) setInterval(tick, tickMs)
  isTicking = true
  return h('time', { datetime: iso, title, 'data-since': '' }, ago(iso))
}

function tick() {
  for (const time of document.querySelectorAll('time[data-since]')) setText(time, ago(time.getAttribute('datetime') ?? ''))
}
