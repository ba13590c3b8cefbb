/** The attributes of a scrollable element: it must be reachable by keyboard and have a name for screen readers. */
export function scrollable(label: string): { tabIndex: number; role: 'group'; 'aria-label': string } {
  return { tabIndex: 0, role: 'group', 'aria-label': label }
}
