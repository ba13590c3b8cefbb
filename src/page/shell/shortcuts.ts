import { useEffect } from 'preact/hooks'
import { listQuery, runsHref } from '../runs/addresses.ts'
import { dropKeys, holdKeys } from '../ui/dialog.tsx'
import { places } from './places.ts'

const storageKey = 'toolloop.shortcuts'
/** Maximum time between the two keys of a pair, in milliseconds. */
const pairMs = 1_200
/**
 * If a field disappears while the user is typing in it, shortcuts stay off until no key has been pressed for this long, in milliseconds.
 */
const writingMs = 3_000

function areOn(): boolean {
  return localStorage.getItem(storageKey) !== 'off'
}

/** Opens the list of shortcuts, which is loaded on demand. */
export async function showShortcuts(): Promise<void> {
  holdKeys()
  try {
    const { showShortcutList } = await import('./shortcut-list.tsx')
    if (document.querySelector('dialog[open]') !== null) return
    await showShortcutList(areOn(), (isOn) => localStorage.setItem(storageKey, isOn ? 'on' : 'off'))
  } finally {
    dropKeys()
  }
}

/** Handles shortcuts, unless the user is typing. The user can turn shortcuts off, because some assistive tools send letters. */
export function useShortcuts(): void {
  useEffect(() => {
    let first = ''
    let timer: number | undefined
    /** The field in which the user typed last, and the time of the last key. */
    let field: Element | undefined
    let writtenAt = 0
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
      if (document.querySelector('dialog[open]') !== null) return
      if (event.key === 'Escape') return leave()
      const isInField = isWriting(event.target)
      if (isInField) field = event.target
      // The field may disappear while the user is typing, because somebody else has decided on the item. The letters that follow must not
      // act as shortcuts.
      const isWritingOn = field?.checkVisibility() === false && event.timeStamp - writtenAt < writingMs
      if (isInField || isWritingOn) writtenAt = event.timeStamp
      if (isInField || isWritingOn || !areOn()) return
      const before = first
      first = ''
      clearTimeout(timer)
      const place = before === 'g' ? places.find(({ key }) => key === event.key) : undefined
      if (place !== undefined) location.hash = `#/${place.name}`
      else if (event.key === 'g') {
        first = 'g'
        timer = setTimeout(() => {
          first = ''
        }, pairMs)
      } else if (!event.repeat && actions[event.key]?.()) event.preventDefault()
    }
    const onPress = ({ target }: PointerEvent) => {
      chosen = cardOf(target)
    }
    const onKeyUp = ({ key }: KeyboardEvent) => {
      if (key === 'Tab') chosen = cardOf(document.activeElement)
    }
    document.addEventListener('keydown', onKey)
    document.addEventListener('keyup', onKeyUp)
    document.addEventListener('pointerdown', onPress)
    return () => {
      clearTimeout(timer)
      document.removeEventListener('keydown', onKey)
      document.removeEventListener('keyup', onKeyUp)
      document.removeEventListener('pointerdown', onPress)
    }
  }, [])
}

/** The actions of keys. An action returns true if it has had an effect. */
const actions: Record<string, () => boolean> = {
  '?': () => {
    void showShortcuts()
    return true
  },
  '/': () => focusOn(document.querySelector('main input[type=search], .composer textarea, .steer:not([hidden]) input')),
  j: () => step(1),
  k: () => step(-1),
  a: () => actOnChosen('[data-key="a"]', focusOn),
  e: () => actOnChosen('[data-key="e"]:not([hidden])', press),
  r: () => actOnChosen('[data-key="r"]:not([hidden])', press),
  x: () => actOnChosen('.decision-select', press),
}

/** The card that the user has chosen by a click or a key. The focus may be on another card, because the page itself has moved it. */
let chosen: Element | null = null

function cardOf(target: EventTarget | null): Element | null {
  return target instanceof Element ? target.closest('.decision') : null
}

/**
 * Acts on the chosen card if the card has the focus. Otherwise only chooses a card, so that nobody approves a call without looking at it.
 */
function actOnChosen(selector: string, act: (target: HTMLElement) => boolean): boolean {
  const card = cardOf(document.activeElement)
  if (card === null) return focusCard(document.querySelector('main .decision'))
  if (card !== chosen) return focusCard(card)
  const target = card.querySelector(selector)
  return target instanceof HTMLElement && act(target)
}

function press(target: HTMLElement): boolean {
  target.click()
  return true
}

/**
 * Focuses the card itself instead of a button in it. If the user types text while no field has the focus, a space or Enter would press the
 * focused button.
 */
function focusCard(card: Element | null | undefined): boolean {
  if (!focusOn(card)) return false
  chosen = card ?? null
  card?.scrollIntoView({ block: 'nearest' })
  return true
}

function focusOn(element: Element | null | undefined): boolean {
  if (!(element instanceof HTMLElement)) return false
  element.focus({ preventScroll: true })
  return true
}

function isWriting(target: EventTarget | null): target is HTMLElement {
  return target instanceof HTMLElement && (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName))
}

/** Leaves the field that has the focus, or returns from a run to the list. */
function leave(): void {
  const { activeElement } = document
  if (isWriting(activeElement)) activeElement.blur()
  else if (location.hash.startsWith('#/runs/')) location.hash = runsHref(listQuery.value)
}

/** Moves to the next or previous card on the approvals page, or to the next or previous run. */
function step(by: 1 | -1): boolean {
  const cards = [...document.querySelectorAll('main[data-view="approvals"] .decision')]
  if (cards.length > 0) {
    const focused = cardOf(document.activeElement)
    // A card that the page itself has focused was not chosen yet, so this step chooses it.
    if (focused !== null && focused !== chosen) return focusCard(focused)
    return focusCard(neighbor(cards, focused === null ? -1 : cards.indexOf(focused), by))
  }
  const links = [...document.querySelectorAll<HTMLAnchorElement>('.run-link')]
  const next = neighbor(
    links,
    links.findIndex((link) => link.getAttribute('aria-current') === 'true'),
    by,
  )
  next?.scrollIntoView({ block: 'nearest' })
  next?.click()
  return next !== undefined
}

/** Returns the item before or after the position `at`. Returns the first item if `at` is -1. */
function neighbor<Item>(items: Item[], at: number, by: 1 | -1): Item | undefined {
  return items[at < 0 ? 0 : Math.min(Math.max(at + by, 0), items.length - 1)]
}
