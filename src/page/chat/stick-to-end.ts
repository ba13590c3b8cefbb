import type { RefObject } from 'preact'
import { useLayoutEffect } from 'preact/hooks'

/** Pixels above the end that still count as the end. */
const near = 80

/** Keeps the end of what grows in a box in view, unless the reader has scrolled away from it. */
export function useStickToEnd(box: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const element = box.current
    if (element === null) return
    let isFollowing = true
    let top = 0
    const look = () => {
      const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < near
      // Only upwards the reader has left: away from the end is also what has grown since it was scrolled to.
      if (isAtEnd) isFollowing = true
      else if (element.scrollTop < top) isFollowing = false
      top = element.scrollTop
    }
    const sizes = new ResizeObserver(() => {
      if (isFollowing) element.scrollTop = element.scrollHeight
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
