/** Returns the attributes of a scrollable element, which must be reachable by keyboard and must have a name for screen readers. */
export function scrollable(label: string): { tabIndex: number; role: 'group'; 'aria-label': string } {
  return { tabIndex: 0, role: 'group', 'aria-label': label }
}
