import type { RefObject } from 'preact'
import { useLayoutEffect } from 'preact/hooks'

/** Pixels above the end that still count as the end. */
const near = 80

/** Keeps the end of what grows in a box in view, unless the reader has scrolled away from it. */
export function useStickToEnd(box: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const element = box.current
    if (element === null) return
    let isAtEnd = true
    const look = () => {
      isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < near
    }
    const sizes = new ResizeObserver(() => {
      if (isAtEnd) element.scrollTop = element.scrollHeight
    })
    const watchChildren = () => {
      for (const child of element.children) sizes.observe(child)
    }
    const children = new MutationObserver(watchChildren)
    watchChildren()
    children.observe(element, { childList: true })
    element.addEventListener('scroll', look, { passive: true })
    return () => {
      sizes.disconnect()
      children.disconnect()
      element.removeEventListener('scroll', look)
    }
  }, [])
}
