import type { RefObject } from 'preact'
import { useEffect } from 'preact/hooks'
import { type Child, h, type Props, replace } from './dom.js'

/** Where what has the focus inside of `box` is taken away, as a button by what it does, `otherwise` gets the focus. */
export function useRefocus(box: RefObject<HTMLElement>, otherwise: RefObject<HTMLElement>): void {
  useEffect(() => {
    const element = box.current
    if (element === null) return
    let focused: EventTarget | null = null
    const note = ({ target }: FocusEvent) => {
      focused = target
    }
    const observer = new MutationObserver(() => {
      if (!(focused instanceof Element) || focused.isConnected || document.activeElement !== document.body) return
      focused = null
      otherwise.current?.focus()
    })
    document.addEventListener('focusin', note)
    observer.observe(element, { childList: true, subtree: true })
    return () => {
      document.removeEventListener('focusin', note)
      observer.disconnect()
    }
  }, [])
}

/** For what is made by hand: a button that has the focus again, by the name `focus`, when everything has been drawn anew. */
export function action(words: string, focus: string, act: () => unknown, props: Props = {}): HTMLButtonElement {
  return h('button', { type: 'button', 'data-focus': focus, onclick: () => void act(), ...props }, words)
}

/** Replaces what is in an element. The focus goes to the button of the same name; where there is none any more, to `otherwise`. */
export function replaceKeepingFocus(element: HTMLElement, content: Child[], otherwise: HTMLElement): void {
  const focused = element.contains(document.activeElement) ? document.activeElement : null
  const name = focused?.getAttribute('data-focus')
  replace(element, ...content)
  if (focused === null) return
  const again = [...element.querySelectorAll('[data-focus]:not(:disabled)')].find((one) => one.getAttribute('data-focus') === name)
  if (again instanceof HTMLElement) again.focus()
  else otherwise.focus()
}
