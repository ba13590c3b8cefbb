import { PatternSet } from '../../core/text/pattern-set.ts'

/** The index in `starts` for all characters outside ASCII. */
export const wide = 128

/**
 * Markers that are found in text that is read character by character. A state's depth is the number of characters that may still become a
 * marker: only those are held back. No marker may be a prefix of another.
 */
export class MarkerSet extends PatternSet {
  /** Not 0 for characters that start a marker. In the root state, all others can be skipped. */
  readonly starts: Uint8Array = new Uint8Array(wide + 1)

  constructor(markers: readonly string[]) {
    super(markers)
    for (const marker of markers) this.starts[Math.min(marker.charCodeAt(0), wide)] = 1
  }
}

const compiled = new Map<string, MarkerSet>()

/** Returns the set of these markers, compiled once. Only for markers from code, not from a model's text. */
export function markerSet(markers: readonly string[]): MarkerSet {
  const key = markers.join('\u0000')
  let set = compiled.get(key)
  if (set === undefined) {
    set = new MarkerSet(markers)
    compiled.set(key, set)
  }
  return set
}

/** Caches the result of `make` for each object. */
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
