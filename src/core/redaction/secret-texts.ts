import type { InParts } from '../time/in-parts.ts'

/** Of a longer secret only the beginning is looked for: a text may quote no more of it. As many characters as it has are hidden from there on. */
const mostLookedFor = 100
/** Of a longer secret no more is kept: from its beginning on, the rest of a text is hidden. */
const mostKept = 4_096
const mostSecrets = 256
/** Characters of all secrets together, as they are and as JSON quotes them. A state is kept in 15 bits. */
const mostCharacters = 32_000
/** Of a text that is searched in parts: a millisecond's work. */
const charactersInOnePart = 65_536

export const REDACTED = '[redacted]'

/**
 * Texts that must not be shown, and where they are in others. Finding them takes time by the length of the text alone (Aho and Corasick,
 * https://doi.org/10.1145/360825.360855). There is room for 256 of them with 32,000 characters in all: with more, every text is hidden as
 * a whole.
 */
export class SecretTexts {
  readonly #secrets = new Set<string>()
  #characters = 0
  #isFull = false
  #finder: Finder | undefined

  constructor(secrets: Iterable<string> = []) {
    for (const secret of secrets) this.add(secret)
  }

  get size(): number {
    return this.#secrets.size
  }

  /** Whether there is nothing to hide. */
  get isEmpty(): boolean {
    return this.#secrets.size === 0 && !this.#isFull
  }

  /** Whether there were too many, so that all texts are hidden. */
  get isFull(): boolean {
    return this.#isFull
  }

  /** Those there was room for. */
  *[Symbol.iterator](): Iterator<string> {
    yield* this.#secrets
  }

  add(given: string): void {
    const secret = given.slice(0, mostKept)
    if (secret === '' || this.#isFull || this.#secrets.has(secret)) return
    const characters = formsOf(secret).reduce((sum, { text }) => sum + text.length, 0)
    if (this.#secrets.size === mostSecrets || this.#characters + characters > mostCharacters) {
      this.#isFull = true
      return
    }
    this.#secrets.add(secret)
    this.#characters += characters
    this.#finder = undefined
  }

  /** From now on every text is hidden, as where there are too many secrets. */
  hideAll(): void {
    this.#isFull = true
  }

  /** Where they are in a text. */
  findIn(text: string): Span[] {
    return this.#isFull && text !== '' ? [{ from: 0, to: text.length }] : this.#find(text).found
  }

  /** The same in parts, for texts of megabytes: a secret may lie in two of them. */
  *findInParts(text: string): InParts<Span[]> {
    if (this.#isFull || this.#secrets.size === 0) return this.findIn(text)
    const finder = this.#newestFinder()
    const search = newSearch()
    for (let from = 0; from < text.length; from += charactersInOnePart) {
      if (from > 0) yield
      finder.search(text, from, Math.min(from + charactersInOnePart, text.length), search)
    }
    return search.found
  }

  /** How many of its last characters, `atLeast` so many, may belong to a secret that goes on, or to one that would be cut there. */
  unfinishedIn(text: string, atLeast = 0): number {
    if (this.#isFull) return 0
    const { found, unfinished } = this.#find(text)
    let shown = text.length - Math.max(unfinished, atLeast)
    for (const { from, to } of found.toReversed()) if (to > shown) shown = Math.min(shown, from)
    return text.length - shown
  }

  /** How many characters behind the text's end belong to a secret that begins in it, by what is known of its length. */
  hiddenBehind(text: string): number {
    return this.#isFull ? Number.POSITIVE_INFINITY : Math.max(0, (this.#find(text).found.at(-1)?.to ?? 0) - text.length)
  }

  #find(text: string): { found: Span[]; unfinished: number } {
    if (this.#secrets.size === 0) return { found: [], unfinished: 0 }
    const finder = this.#newestFinder()
    const search = newSearch()
    finder.search(text, 0, text.length, search)
    return { found: search.found, unfinished: finder.unfinishedIn(search) }
  }

  #newestFinder(): Finder {
    this.#finder ??= new Finder([...this.#secrets].flatMap(formsOf))
    return this.#finder
  }
}

interface Form {
  text: string
  /** How many characters follow that are not looked for; `restOfText`: nobody knows. */
  behind: number
}
const restOfText = 65_535

/** As it is, and as JSON quotes it. */
function formsOf(secret: string): Form[] {
  return [...new Set([secret, JSON.stringify(secret).slice(1, -1)])].map((form) => ({
    text: form.slice(0, mostLookedFor),
    behind: secret.length === mostKept ? restOfText : Math.max(0, form.length - mostLookedFor),
  }))
}

/** A part of a text. `to` may lie past its end. */
export interface Span {
  from: number
  to: number
}

/** How far a text is searched. */
interface Search {
  /** In order, none overlapping another. */
  readonly found: Span[]
  /** Of the automaton. */
  state: number
}

function newSearch(): Search {
  return { found: [], state: 0 }
}

/** The text from `start` on, without those parts of it. */
export function hideParts(text: string, parts: Iterable<Span>, start = 0): string {
  let shown = ''
  let at = start
  let isHidden = false
  for (const { from, to } of [...parts].sort((a, b) => a.from - b.from)) {
    if (to <= at) continue
    // Parts that overlap are hidden as one.
    if (from >= at || !isHidden) shown += text.slice(at, Math.max(at, from)) + REDACTED
    isHidden = true
    at = to
  }
  return shown + text.slice(at)
}

/** An automaton over 16-bit characters. State 0 is the root; a transition is kept under its state and character in one number. */
class Finder {
  /** Open addressing: keys with 1 added, so that 0 is an empty place. */
  readonly #keys: Int32Array
  readonly #targets: Uint16Array
  readonly #mask: number
  /** The state of the longest ending of a state's text that is a beginning of another. */
  readonly #fallback: Uint16Array
  readonly #depth: Uint16Array
  /** Length of the longest form that ends in a state; 0: none. */
  readonly #longest: Uint16Array
  /** How many characters behind a form that ends in a state are hidden as well. */
  readonly #behind: Uint16Array
  /** A bit for each character that a form begins with: most characters of a text are none. */
  readonly #first = new Uint8Array(8_192)

  constructor(forms: readonly Form[]) {
    const most = forms.reduce((sum, { text }) => sum + text.length, 1)
    const places = 2 ** Math.ceil(Math.log2(most * 2))
    this.#keys = new Int32Array(places)
    this.#targets = new Uint16Array(places)
    this.#mask = places - 1
    this.#fallback = new Uint16Array(most)
    this.#depth = new Uint16Array(most)
    this.#longest = new Uint16Array(most)
    this.#behind = new Uint16Array(most)
    /** By state: where it comes from. A state comes after its parent. */
    const parents = new Uint16Array(most)
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
      const first = text.charCodeAt(0)
      this.#first[first >> 3] = (this.#first[first >> 3] ?? 0) | (1 << (first & 7))
      this.#longest[state] = text.length
      this.#behind[state] = Math.max(this.#behind[state] ?? 0, behind)
    }
    this.#link(states, parents, characters)
  }

  /** Goes on with a search, from where it came to. */
  search(text: string, start: number, end: number, search: Search): void {
    const { found } = search
    let { state } = search
    for (let at = start; at < end; at++) {
      const character = text.charCodeAt(at)
      if (state === 0 && ((this.#first[character >> 3] ?? 0) & (1 << (character & 7))) === 0) continue
      state = this.#step(state, character)
      const length = this.#longest[state] ?? 0
      if (length === 0) continue
      const behind = this.#behind[state] ?? 0
      let from = at + 1 - length
      let to = behind === restOfText ? Number.POSITIVE_INFINITY : at + 1 + behind
      for (let last = found.at(-1); last !== undefined && last.to > from; last = found.at(-1)) {
        from = Math.min(from, last.from)
        to = Math.max(to, last.to)
        found.pop()
      }
      found.push({ from, to })
    }
    search.state = state
  }

  unfinishedIn({ state }: Search): number {
    return this.#depth[state] ?? 0
  }

  /** Sets each state's fallback, shallow states first: a deeper one's leads to one that is shallower. */
  #link(states: number, parents: Uint16Array, characters: Uint16Array): void {
    const byDepth: number[][] = []
    for (let state = 1; state < states; state++) {
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
    for (let place = this.#place(key); ; place = (place + 1) & this.#mask) {
      const there = this.#keys[place]
      if (there === key) return this.#targets[place] ?? 0
      if (there === 0) return 0
    }
  }

  #put(state: number, character: number, next: number): void {
    const key = state * 65_536 + character + 1
    let place = this.#place(key)
    while (this.#keys[place] !== 0) place = (place + 1) & this.#mask
    this.#keys[place] = key
    this.#targets[place] = next
  }

  #place(key: number): number {
    const mixed = Math.imul(key, 0x9e3779b1)
    return (mixed ^ (mixed >>> 15)) & this.#mask
  }
}
