/** The attributes of an element that scrolls by itself: keys have to reach it, and screen readers to name it. */
export function scrollable(label: string): { tabIndex: number; role: 'group'; 'aria-label': string } {
  return { tabIndex: 0, role: 'group', 'aria-label': label }
}
