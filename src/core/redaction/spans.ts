/** Stands for what is hidden. */
export const REDACTED = '[redacted]'

/** A part of a text. `to` may lie past its end. */
export interface Span {
  from: number
  to: number
  /** What is shown instead. Default: `[redacted]`. */
  shown?: string
}

/** What is to be hidden in a text that may go on. */
export interface Look {
  found: Span[]
  /** Before this place, no further text changes anything. */
  decided: number
}

/** The part of a text that no further text changes: nothing that is to be hidden may go on over its end. */
export function decidedPart({ found, decided }: Look): number {
  let end = decided
  for (const { from, to } of found.toSorted((a, b) => b.from - a.from)) if (to > end) end = Math.min(end, from)
  return end
}

/** The text from `start` on, without those parts of it. */
export function hideParts(text: string, parts: Iterable<Span>, start = 0): string {
  let shown = ''
  let at = start
  let isHidden = false
  for (const { from, to, shown: stand = REDACTED } of [...parts].sort((a, b) => a.from - b.from || b.to - a.to)) {
    if (to <= at) continue
    // Parts that overlap are hidden as one.
    if (from >= at || !isHidden) shown += text.slice(at, Math.max(at, from)) + stand
    isHidden = true
    at = to
  }
  return shown + text.slice(at)
}
