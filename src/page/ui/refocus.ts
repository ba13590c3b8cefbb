import type { RefObject } from 'preact'
import { useEffect } from 'preact/hooks'

/** Whether the focus is inside `box`, or nowhere. Otherwise, the page must not move the focus, because the user has moved it elsewhere. */
export function isFocusFree(box: Element | null): boolean {
  const { activeElement, body } = document
  return activeElement === body || box?.contains(activeElement) === true
}

/**
 * Moves the focus to `otherwise` if the focused element in `box` is removed or disabled. For example, a button's own action may disable the
 * button.
 */
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
