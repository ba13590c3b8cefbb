/** A state of the automaton: the longest suffix of what was read that begins a marker. */
export interface MarkerNode {
  readonly path: string
  readonly depth: number
  readonly next: Map<number, MarkerNode>
  /** The states after each ASCII character, as far as they were asked for: a look-up here costs a fraction of one in a map. */
  known: (MarkerNode | undefined)[] | undefined
  /** Where to go on when no marker continues with the next character. */
  fail: MarkerNode
  /** Index of the marker that is complete here, or -1. */
  end: number
}

/** Index in `starts` of every character outside ASCII. */
export const wide = 128

/**
 * Finds any of several markers in text read character by character (Aho–Corasick). A state's depth is the number of characters
 * that may yet turn out to be a marker: all that has to be held back. No marker may be the beginning of another.
 */
export class MarkerSet {
  readonly markers: readonly string[]
  readonly root: MarkerNode
  /** Not 0 for characters that begin a marker; all others can be skipped while in the root state. */
  readonly starts: Uint8Array

  constructor(markers: readonly string[]) {
    this.markers = markers
    this.starts = new Uint8Array(wide + 1)
    const root: Omit<MarkerNode, 'fail'> = { path: '', depth: 0, next: new Map(), known: undefined, end: -1 }
    this.root = Object.assign(root, { fail: root as MarkerNode })
    for (const [index, marker] of markers.entries()) {
      this.starts[Math.min(marker.charCodeAt(0), wide)] = 1
      let node = this.root
      for (let i = 0; i < marker.length; i++) {
        const code = marker.charCodeAt(i)
        let next = node.next.get(code)
        if (next === undefined) {
          next = { path: marker.slice(0, i + 1), depth: i + 1, next: new Map(), known: undefined, fail: this.root, end: -1 }
          node.next.set(code, next)
        }
        node = next
      }
      if (node.end < 0) node.end = index
    }
    this.#linkFailures()
  }

  #linkFailures(): void {
    const queue = [...this.root.next.values()]
    for (const node of queue) {
      for (const [code, child] of node.next) {
        child.fail = this.#find(node.fail, code)
        queue.push(child)
      }
    }
  }

  /** The state after one more character. It is deeper than `from` only if a marker goes on with that character. */
  step(from: MarkerNode, code: number): MarkerNode {
    if (code >= wide) return this.#find(from, code)
    from.known ??= new Array<MarkerNode | undefined>(wide).fill(undefined)
    let state = from.known[code]
    if (state === undefined) {
      state = this.#find(from, code)
      from.known[code] = state
    }
    return state
  }

  #find(from: MarkerNode, code: number): MarkerNode {
    for (let node = from; ; node = node.fail) {
      const next = node.next.get(code)
      if (next !== undefined) return next
      if (node === this.root) return node
    }
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
