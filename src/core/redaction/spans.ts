/** The text that replaces a hidden text. */
export const REDACTED = '[redacted]'

/** A part of a text. `to` may be greater than the text's length. */
export interface Span {
  from: number
  to: number
  /** The replacement. Default: `[redacted]`. */
  shown?: string
}

/** The parts to hide in a text that is not complete yet. */
export interface Look {
  found: Span[]
  /** Later text can't change the result before this position. */
  decided: number
}

/** Returns the end of the part that later text can't change. No hidden span crosses this position. */
export function decidedPart({ found, decided }: Look): number {
  let end = decided
  for (const { from, to } of found.toSorted((a, b) => b.from - a.from)) if (to > end) end = Math.min(end, from)
  return end
}

/** Returns the text from `start` with the spans replaced. */
export function hideParts(text: string, parts: Iterable<Span>, start = 0): string {
  let shown = ''
  let at = start
  let isHidden = false
  for (const { from, to, shown: stand = REDACTED } of [...parts].sort((a, b) => a.from - b.from || b.to - a.to)) {
    if (to <= at) continue
    // Overlapping spans are replaced by a single text.
    if (from >= at || !isHidden) shown += text.slice(at, Math.max(at, from)) + stand
    isHidden = true
    at = to
  }
  return shown + text.slice(at)
}
