import { PatternSet } from '../../core/text/pattern-set.ts'

/** The index in `starts` for all characters outside ASCII. */
export const wide = 128

/**
 * Markers to search for in text, character by character. The depth of a state is the number of characters at the end of the text that may
 * start a marker. No marker may be a prefix of another.
 */
export class MarkerSet extends PatternSet {
  /** Not 0 for characters that start a marker. */
  readonly starts: Uint8Array = new Uint8Array(wide + 1)

  constructor(markers: readonly string[]) {
    super(markers)
    for (const marker of markers) this.starts[Math.min(marker.charCodeAt(0), wide)] = 1
  }
}

const compiled = new Map<string, MarkerSet>()

/** Returns the set of these markers. Sets are cached forever, so never pass markers from a model's text. */
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
