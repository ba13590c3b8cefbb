import { h } from '../ui/dom.js'

const key = 'toolloop.shortcuts'
/** How long the second key of two may take. */
const pairMs = 1_200

/** @type {Record<string, string>} */
export const goTo = { o: 'overview', r: 'runs', a: 'approvals', c: 'chat', m: 'models', t: 'tools', f: 'config' }
/** @type {[string[], string][]} */
const list = [
  [['g', 'o'], 'Overview'],
  [['g', 'r'], 'Runs'],
  [['g', 'a'], 'Approvals'],
  [['g', 'c'], 'Chat'],
  [['g', 'm'], 'Models and providers'],
  [['g', 't'], 'Tools and skills'],
  [['g', 'f'], 'Configuration file'],
  [['j'], 'Next run, or next call that waits'],
  [['k'], 'Previous run, or previous call that waits'],
  [['a'], 'Approve the call that has the focus'],
  [['e'], 'Edit its arguments'],
  [['r'], 'Reject it'],
  [['x'], 'Select it, to decide on many at once'],
  [['/'], 'Filter, or write a message'],
  [['Esc'], 'Close, or go back to the list'],
  [['Ctrl', 'K'], 'Find views, runs, tools and actions; ⌘ K on a Mac'],
  [['?'], 'Keyboard shortcuts'],
]

/** Keys that work wherever nothing is being written. They can be switched off, for those whose tools send letters of their own. */
export function listenForShortcuts() {
  let first = ''
  /** @type {number | undefined} */
  let timer
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
    if (document.querySelector('dialog[open]') !== null || document.getElementById('shell')?.hidden) return
    if (event.key === 'Escape') return leave()
    if (isWriting(event.target) || localStorage.getItem(key) === 'off') return
    const before = first
    first = ''
    clearTimeout(timer)
    if (before === 'g' && goTo[event.key] !== undefined) location.hash = `#/${goTo[event.key]}`
    else if (event.key === 'g') {
      first = 'g'
      timer = setTimeout(() => {
        first = ''
      }, pairMs)
    } else if (event.key === '?') showShortcuts()
    else if (event.key === '/') {
      const field = document.querySelector('main input[type=search], .composer textarea, .steer:not([hidden]) input')
      if (!(field instanceof HTMLElement)) return
      event.preventDefault()
      field.focus()
    } else if (event.key === 'j' || event.key === 'k') step(event.key === 'j' ? 1 : -1)
    else if (['a', 'e', 'r', 'x'].includes(event.key) && decideOnFocused(event.key)) event.preventDefault()
  })
}

/**
 * Acts on the card that has the focus. Where none has, the first gets it, and nothing else happens: nobody approves what they don't look at.
 * @param {string} key
 */
function decideOnFocused(key) {
  const card = document.activeElement?.closest('.decision')
  if (card === null || card === undefined) return focusCard(document.querySelector('main .decision'))
  const target = card.querySelector(key === 'x' ? '.decision-select' : `[data-key="${key}"]:not([hidden])`)
  if (!(target instanceof HTMLElement)) return false
  target.click()
  return true
}

/** @param {Element | null | undefined} card */
function focusCard(card) {
  const target = card?.querySelector('[data-key]:enabled, .decision-form button, .decision-form textarea')
  if (!(target instanceof HTMLElement)) return false
  target.focus({ preventScroll: true })
  card?.scrollIntoView({ block: 'nearest' })
  return true
}

export function showShortcuts() {
  const isOff = localStorage.getItem(key) === 'off'
  const box = h('input', { type: 'checkbox', id: 'shortcuts-on' })
  box.checked = !isOff
  box.addEventListener('change', () => localStorage.setItem(key, box.checked ? 'on' : 'off'))
  const dialog = h(
    'dialog',
    { className: 'dialog', 'aria-labelledby': 'shortcuts-title' },
    h('h2', { id: 'shortcuts-title' }, 'Keyboard shortcuts'),
    h(
      'dl',
      { className: 'shortcuts' },
      ...list.map(([keys, words]) => h('div', {}, h('dt', {}, ...keys.map((one) => h('kbd', {}, one))), h('dd', {}, words))),
    ),
    h('p', { className: 'check-row' }, box, h('label', { for: 'shortcuts-on' }, 'Enable single-key shortcuts')),
    h('form', { method: 'dialog', className: 'buttons' }, h('button', { className: 'primary' }, 'Close')),
  )
  dialog.addEventListener('close', () => dialog.remove())
  document.body.append(dialog)
  dialog.showModal()
}

/** @param {EventTarget | null} target */
function isWriting(target) {
  return target instanceof HTMLElement && (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName))
}

function leave() {
  if (isWriting(document.activeElement)) /** @type {HTMLElement} */ (document.activeElement).blur()
  else if (location.hash.startsWith('#/runs/')) location.hash = '#/runs'
}

/** @param {1 | -1} by */
function step(by) {
  const cards = [...document.querySelectorAll('main[data-view="approvals"] .decision')]
  if (cards.length > 0) {
    const at = cards.findIndex((card) => card.contains(document.activeElement))
    return void focusCard(cards[at < 0 ? 0 : Math.min(Math.max(at + by, 0), cards.length - 1)])
  }
  const links = /** @type {HTMLAnchorElement[]} */ ([...document.querySelectorAll('.run-item')])
  if (links.length === 0) return
  const at = links.findIndex((link) => link.getAttribute('aria-current') === 'true')
  const next = links[at < 0 ? 0 : Math.min(Math.max(at + by, 0), links.length - 1)]
  next?.scrollIntoView({ block: 'nearest' })
  next?.click()
}
