/**
 * Finds many patterns in a text that may arrive in pieces. Uses an automaton over 16-bit characters (Aho and Corasick,
 * https://doi.org/10.1145/360825.360855), so the time depends only on the length of the text. A single regular expression for all patterns
 * is twice as fast for a few patterns, but slower for hundreds (`tests/bench/patterns.ts`). A regular expression also can't tell which
 * patterns may continue in the next piece.
 *
 * States are numbers. A state stands for the longest suffix of the input with which a pattern begins. `root` stands for the empty suffix. A
 * longer state has a higher number.
 */
export class PatternSet {
  readonly root = 0
  readonly patterns: readonly string[]
  /** The number of states, including the root. */
  readonly size: number
  /**
   * The transitions, as a hash table with open addressing. A key combines a state and a character, plus 1, because 0 marks an empty slot.
   */
  readonly #keys: Float64Array
  readonly #targets: Int32Array
  readonly #mask: number
  readonly #fallbacks: Int32Array
  readonly #depths: Uint16Array
  /**
   * The arrays `#begun`, `#ended` and `#continued` are indexed by state. `#begun`: the index of a pattern that starts with the state.
   * `#ended`: the index of the first pattern that equals the state, or -1. `#continued`: 1 if a longer pattern starts with the state, else
   * 0.
   */
  readonly #begun: Int32Array
  readonly #ended: Int32Array
  readonly #continued: Uint8Array

  constructor(patterns: readonly string[]) {
    this.patterns = patterns
    const most = patterns.reduce((sum, { length }) => sum + length, 1)
    const places = 2 ** Math.ceil(Math.log2(most * 2))
    this.#keys = new Float64Array(places)
    this.#targets = new Int32Array(places)
    this.#mask = places - 1
    this.#fallbacks = new Int32Array(most)
    this.#depths = new Uint16Array(most)
    this.#begun = new Int32Array(most)
    this.#ended = new Int32Array(most).fill(-1)
    this.#continued = new Uint8Array(most)
    const states = new Int32Array(patterns.length)
    let size = 1
    // Builds all patterns together, character by character. The fallback of a state is shorter than the state, so it already exists.
    const longest = patterns.reduce((most, { length }) => Math.max(most, length), 0)
    for (let depth = 0; depth < longest; depth++) {
      for (const [index, pattern] of patterns.entries()) {
        if (depth >= pattern.length) continue
        const code = pattern.charCodeAt(depth)
        const state = states[index] ?? 0
        let next = this.#next(state, code)
        if (next === 0) {
          next = size++
          this.#fallbacks[next] = state === 0 ? 0 : this.step(this.fallbackOf(state), code)
          this.#depths[next] = depth + 1
          this.#begun[next] = index
          this.#continued[state] = 1
          this.#put(state, code, next)
        }
        states[index] = next
        if (depth + 1 === pattern.length && this.endOf(next) < 0) this.#ended[next] = index
      }
    }
    this.size = size
  }

  /**
   * Returns the state after one more character. Without a pattern that continues with the character, the new state is at most as long as
   * `from`.
   */
  step(from: number, code: number): number {
    for (let state = from; ; state = this.fallbackOf(state)) {
      const next = this.#next(state, code)
      if (next !== 0 || state === 0) return next
    }
  }

  /** The number of characters that a state stands for. */
  depthOf(state: number): number {
    return this.#depths[state] ?? 0
  }

  /** The characters that a state stands for. */
  pathOf(state: number): string {
    return state === 0 ? '' : (this.patterns[this.#begun[state] ?? 0] ?? '').slice(0, this.depthOf(state))
  }

  /** The index of the pattern that a state equals, or -1. Shorter patterns may end here, too: see `fallbackOf`. */
  endOf(state: number): number {
    return this.#ended[state] ?? -1
  }

  /** Whether a pattern continues beyond this state. */
  mayContinue(state: number): boolean {
    return this.#continued[state] === 1
  }

  /** The longest proper suffix of this state that is also a state. */
  fallbackOf(state: number): number {
    return this.#fallbacks[state] ?? 0
  }

  /** Returns the state that continues `state` with a character, or 0 if no state does. */
  #next(state: number, code: number): number {
    const key = state * 65_536 + code + 1
    for (let place = this.#place(state, code); ; place = (place + 1) & this.#mask) {
      const there = this.#keys[place]
      if (there === key) return this.#targets[place] ?? 0
      if (there === 0) return 0
    }
  }

  #put(state: number, code: number, next: number): void {
    let place = this.#place(state, code)
    while (this.#keys[place] !== 0) place = (place + 1) & this.#mask
    this.#keys[place] = state * 65_536 + code + 1
    this.#targets[place] = next
  }

  #place(state: number, code: number): number {
    const mixed = Math.imul(state + 1, 0x9e3779b1) ^ Math.imul(code + 1, 0x85ebca6b)
    return (mixed ^ (mixed >>> 15)) & this.#mask
  }
}
