import { type ComponentChild, render } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

/** An element made by hand, as a component. */
export function Dom({ element }: { element: Element }) {
  const place = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    place.current?.replaceChildren(element)
  }, [element])
  return <div ref={place} style={{ display: 'contents' }} />
}

/** Components as an element, for what is made by hand. */
export function toDom(child: ComponentChild): HTMLElement {
  const place = document.createElement('span')
  place.style.display = 'contents'
  render(child, place)
  return place
}
