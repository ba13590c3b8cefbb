/** Pixels above the end that still count as the end. */
const near = 80

/**
 * Keeps the end of what grows in view, unless the reader has scrolled away from it. Returns the function that stops that.
 * `content` is what grows, `box` what scrolls.
 */
export function stickToEnd(content: HTMLElement, box: HTMLElement): () => void {
  let atEnd = true
  const look = () => {
    atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < near
  }
  const follow = () => {
    if (atEnd) box.scrollTop = box.scrollHeight
  }
  const observer = new ResizeObserver(follow)
  observer.observe(content)
  box.addEventListener('scroll', look, { passive: true })
  return () => {
    observer.disconnect()
    box.removeEventListener('scroll', look)
  }
}
