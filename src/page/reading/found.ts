/** Maximum number of matches that are counted. */
export const mostMatches = 1_000

export interface Found<Match> {
  matches: Match[]
  /** Whether there are more matches than those in `matches`. */
  isCut: boolean
}

/** Returns a pattern that finds a query, ignoring case. */
export function patternOf(query: string): RegExp {
  return new RegExp(query.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'giu')
}

/**
 * Highlights a match without changing the content. With undefined, removes the highlight. Does nothing if the browser does not support
 * highlights.
 */
export function markFound(range: Range | undefined): void {
  CSS.highlights?.delete('found')
  if (range === undefined) return
  CSS.highlights?.set('found', new Highlight(range))
  range.startContainer.parentElement?.scrollIntoView({ block: 'nearest' })
  lookAt(range, framesToSettle)
}

/**
 * Number of frames for which the match is kept in view. The browser lays out content only when it comes into view, which may move the
 * match.
 */
const framesToSettle = 4

function lookAt(range: Range, frames: number): void {
  const box = range.startContainer.parentElement?.closest('pre, .json-tree')
  if (!(box instanceof HTMLElement)) return
  const [{ top, bottom }, outer] = [range.getBoundingClientRect(), box.getBoundingClientRect()]
  if (top < outer.top || bottom > outer.bottom) box.scrollTop += top - outer.top - box.clientHeight / 2
  if (frames > 0) requestAnimationFrame(() => lookAt(range, frames - 1))
}
