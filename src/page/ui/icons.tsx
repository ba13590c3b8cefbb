import { toDom } from './dom-bridge.tsx'
import { Icon, type IconName } from './icon.tsx'

/** The picture as an element. */
export function icon(name: IconName): HTMLElement {
  return toDom(<Icon name={name} />)
}
