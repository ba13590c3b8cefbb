import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useNewId } from '../new-id.ts'

/**
 * A button that opens a panel below it. The panel closes when the user presses Escape, clicks or focuses something else, or opens another
 * address.
 */
export function Menu({ words, children }: { words: string; children: ComponentChildren }) {
  const [isOpen, setIsOpen] = useState(false)
  const box = useRef<HTMLDivElement>(null)
  const id = useNewId()
  useEffect(() => {
    if (!isOpen || box.current === null) return
    return closing(box.current, () => setIsOpen(false))
  }, [isOpen])
  return (
    <div ref={box} class="menu">
      <button type="button" class="menu-button" aria-expanded={isOpen} aria-controls={id} onClick={() => setIsOpen(!isOpen)}>
        {words}
      </button>
      <div id={id} class="menu-panel" hidden={!isOpen}>
        {isOpen && children}
      </div>
    </div>
  )
}

/** Calls `close` when the user has left the menu. Returns a function that removes the listeners. */
function closing(box: HTMLElement, close: () => void): () => void {
  const closeOutside = (target: EventTarget | null) => {
    if (target instanceof Node && !box.contains(target)) close()
  }
  const onPress = ({ target }: PointerEvent) => closeOutside(target)
  const onFocusOut = ({ relatedTarget }: FocusEvent) => closeOutside(relatedTarget)
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape') return
    event.preventDefault()
    close()
    box.querySelector('button')?.focus()
  }
  document.addEventListener('pointerdown', onPress)
  addEventListener('hashchange', close)
  box.addEventListener('focusout', onFocusOut)
  box.addEventListener('keydown', onKeyDown)
  return () => {
    document.removeEventListener('pointerdown', onPress)
    removeEventListener('hashchange', close)
    box.removeEventListener('focusout', onFocusOut)
    box.removeEventListener('keydown', onKeyDown)
  }
}
