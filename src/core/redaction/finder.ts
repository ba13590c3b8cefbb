import { type Form, foldedUnit } from './secret-forms.ts'
import type { Span } from './spans.ts'

/** How far a text is searched. */
export interface Search {
  /** In order, none overlapping another. */
  readonly found: Span[]
  /** Of the automaton. */
  state: number
}

/**
 * Finds all of many forms in a text at once, by an automaton over its 16-bit characters (Aho and Corasick, https://doi.org/10.1145/360825.360855).
 * State 0 is the root; a transition is kept under its state and character in one number.
 */
export class Finder {
  /** Whether texts are folded before they are compared. */
  readonly #folds: boolean
  readonly #states: number
  /** Open addressing: keys with 1 added, so that 0 is an empty place. */
  readonly #keys: Float64Array
  readonly #targets: Int32Array
  readonly #mask: number
  /** The state of the longest ending of a state's text that is a beginning of another. */
  readonly #fallback: Int32Array
  readonly #depth: Uint8Array
  /** Length of the longest form that ends in a state; 0: none. */
  readonly #longest: Uint8Array
  /** How many characters behind a form that ends in a state are hidden as well. */
  readonly #behind: Float64Array
  /** A bit for each pair of characters that a form begins with, by a hash of it: most places of a text have none. */
  readonly #beginnings = new Uint8Array(8_192)

  constructor(forms: readonly Form[], { folds }: { folds: boolean }) {
    this.#folds = folds
    const most = forms.reduce((sum, { text }) => sum + text.length, 1)
    const places = 2 ** Math.ceil(Math.log2(most * 2))
    this.#keys = new Float64Array(places)
    this.#targets = new Int32Array(places)
    this.#mask = places - 1
    this.#fallback = new Int32Array(most)
    this.#depth = new Uint8Array(most)
    this.#longest = new Uint8Array(most)
    this.#behind = new Float64Array(most)
    /** By state: where it comes from. A state comes after its parent. */
    const parents = new Int32Array(most)
    const characters = new Uint16Array(most)
    let states = 1
    for (const { text, behind } of forms) {
      let state = 0
      for (let at = 0; at < text.length; at++) {
        const character = text.charCodeAt(at)
        let next = this.#next(state, character)
        if (next === 0) {
          next = states++
          this.#put(state, character, next)
          parents[next] = state
          characters[next] = character
          this.#depth[next] = at + 1
        }
        state = next
      }
      this.#noteBeginning(text)
      this.#longest[state] = text.length
      this.#behind[state] = Math.max(this.#behind[state] ?? 0, behind)
    }
    this.#states = states
    this.#link(parents, characters)
  }

  get isEmpty(): boolean {
    return this.#states === 1
  }

  /** Continues a search from where it came to. */
  search(text: string, start: number, end: number, search: Search): void {
    const folds = this.#folds
    let { state } = search
    for (let at = start; at < end; at++) {
      const character = folds ? foldedUnit(text.charCodeAt(at)) : text.charCodeAt(at)
      if (state === 0 && at + 1 < end) {
        const following = folds ? foldedUnit(text.charCodeAt(at + 1)) : text.charCodeAt(at + 1)
        const pair = pairOf(character, following)
        if (((this.#beginnings[pair >> 3] ?? 0) & (1 << (pair & 7))) === 0) continue
      }
      state = this.#step(state, character)
      const length = this.#longest[state] ?? 0
      if (length > 0) note(search.found, at + 1 - length, at + 1 + (this.#behind[state] ?? 0))
    }
    search.state = state
  }

  /** How many of the last characters may belong to a form that goes on. */
  unfinishedIn({ state }: Search): number {
    return this.#depth[state] ?? 0
  }

  #noteBeginning(text: string): void {
    if (text.length === 1) this.#beginnings.fill(0xff)
    const pair = pairOf(text.charCodeAt(0), text.charCodeAt(1))
    this.#beginnings[pair >> 3] = (this.#beginnings[pair >> 3] ?? 0) | (1 << (pair & 7))
  }

  /** Sets each state's fallback, shallow states first: a deeper one's leads to one that is shallower. */
  #link(parents: Int32Array, characters: Uint16Array): void {
    const byDepth: number[][] = []
    for (let state = 1; state < this.#states; state++) {
      const depth = this.#depth[state] ?? 0
      const others = byDepth[depth]
      if (others === undefined) byDepth[depth] = [state]
      else others.push(state)
    }
    for (const state of byDepth.flat()) {
      const parent = parents[state] ?? 0
      const fallback = parent === 0 ? 0 : this.#step(this.#fallback[parent] ?? 0, characters[state] ?? 0)
      this.#fallback[state] = fallback
      this.#longest[state] ||= this.#longest[fallback] ?? 0
      this.#behind[state] = Math.max(this.#behind[state] ?? 0, this.#behind[fallback] ?? 0)
    }
  }

  #step(from: number, character: number): number {
    let state = from
    for (;;) {
      const next = this.#next(state, character)
      if (next !== 0 || state === 0) return next
      state = this.#fallback[state] ?? 0
    }
  }

  /** 0: there is none. */
  #next(state: number, character: number): number {
    const key = state * 65_536 + character + 1
    for (let place = this.#place(state, character); ; place = (place + 1) & this.#mask) {
      const there = this.#keys[place]
      if (there === key) return this.#targets[place] ?? 0
      if (there === 0) return 0
    }
  }

  #put(state: number, character: number, next: number): void {
    let place = this.#place(state, character)
    while (this.#keys[place] !== 0) place = (place + 1) & this.#mask
    this.#keys[place] = state * 65_536 + character + 1
    this.#targets[place] = next
  }

  #place(state: number, character: number): number {
    const mixed = Math.imul(state + 1, 0x9e3779b1) ^ Math.imul(character + 1, 0x85ebca6b)
    return (mixed ^ (mixed >>> 15)) & this.#mask
  }
}

function pairOf(character: number, following: number): number {
  return (Math.imul(character, 0x6b) ^ Math.imul(following, 0x2f1)) & 0xffff
}

/** Adds a part; those it overlaps become one with it. */
function note(found: Span[], start: number, end: number): void {
  let [from, to] = [start, end]
  for (let last = found.at(-1); last !== undefined && last.to > from; last = found.at(-1)) {
    from = Math.min(from, last.from)
    to = Math.max(to, last.to)
    found.pop()
  }
  found.push({ from, to })
}
