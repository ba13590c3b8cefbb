import { PatternSet } from '../../core/text/pattern-set.ts'

/** Index in `starts` of every character outside ASCII. */
export const wide = 128

/**
 * Markers that are looked for in text read character by character. A state's depth is the number of characters that may yet turn out to be a
 * marker: all that has to be held back. No marker may be the beginning of another.
 */
export class MarkerSet extends PatternSet {
  /** Not 0 for characters that begin a marker; all others can be skipped while in the root state. */
  readonly starts: Uint8Array = new Uint8Array(wide + 1)

  constructor(markers: readonly string[]) {
    super(markers)
    for (const marker of markers) this.starts[Math.min(marker.charCodeAt(0), wide)] = 1
  }
}

const compiled = new Map<string, MarkerSet>()

/** The set of these markers, compiled once. For markers that come from code, not from what a model wrote. */
export function markerSet(markers: readonly string[]): MarkerSet {
  const key = markers.join('\u0000')
  let set = compiled.get(key)
  if (set === undefined) {
    set = new MarkerSet(markers)
    compiled.set(key, set)
  }
  return set
}

/** `make`, which is asked only once for each object. */
export function onceForEach<Key extends object>(make: (key: Key) => MarkerSet): (key: Key) => MarkerSet {
  const known = new WeakMap<Key, MarkerSet>()
  return (key) => {
    let set = known.get(key)
    if (set === undefined) {
      set = make(key)
      known.set(key, set)
    }
    return set
  }
}
