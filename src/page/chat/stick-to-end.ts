import type { RefObject } from 'preact'
import { useLayoutEffect } from 'preact/hooks'

/** Maximum distance from the end at which the reader still counts as being at the end, in pixels. */
const near = 80

/** Keeps the end of growing content in view, unless the reader has scrolled away from it. */
export function useStickToEnd(box: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const element = box.current
    if (element === null) return
    let isFollowing = true
    let top = 0
    const look = () => {
      const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < near
      // Only scrolling up shows that the reader has left the end. A larger distance alone doesn't, because the content may have grown.
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
