import type { RefObject } from 'preact'
import { useEffect } from 'preact/hooks'

/** Whether the focus is inside of `box`, or nowhere: whoever has gone on to something else stays there. */
export function isFocusFree(box: Element | null): boolean {
  const { activeElement, body } = document
  return activeElement === body || box?.contains(activeElement) === true
}

/** Where what has the focus inside of `box` is taken away or disabled, as a button by what it does, `otherwise` gets the focus. */
export function useRefocus(box: RefObject<HTMLElement | null>, otherwise: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const element = box.current
    if (element === null) return
    let focused: EventTarget | null = null
    const note = ({ target }: FocusEvent) => {
      focused = target
    }
    const observer = new MutationObserver(() => {
      if (!(focused instanceof Element) || (focused.isConnected && !focused.matches(':disabled'))) return
      if (document.activeElement !== document.body && document.activeElement !== focused) return
      focused = null
      otherwise.current?.focus()
    })
    document.addEventListener('focusin', note)
    observer.observe(element, { childList: true, subtree: true, attributeFilter: ['disabled'] })
    return () => {
      document.removeEventListener('focusin', note)
      observer.disconnect()
    }
  }, [])
}
