import { PatternSet } from '../text/pattern-set.ts'
import { type Form, foldedUnit } from './secret-forms.ts'
import type { Span } from './spans.ts'

/** The progress of a search. */
export interface Search {
  /** The spans that were found, in order and without overlaps. */
  readonly found: Span[]
  /** The state of the automaton. */
  state: number
}

/** Finds all forms of secrets in a single pass over the text. */
export class Finder {
  /** Whether texts are case-folded before they are compared. */
  readonly #folds: boolean
  readonly #forms: PatternSet
  /** For each state, the length of the longest form that ends there, or 0. */
  readonly #longest: Uint8Array
  /** For each state, the number of characters to hide after the form that ends there. */
  readonly #behind: Float64Array
  /** A bit set of the hashes of the first two characters of each form. The search skips positions whose hash is not in the set. */
  readonly #beginnings = new Uint8Array(8_192)

  /** The length of the shortest form. */
  readonly shortest: number

  constructor(given: readonly Form[], { folds }: { folds: boolean }) {
    this.#folds = folds
    const behind = new Map<string, number>()
    for (const form of given) behind.set(form.text, Math.max(behind.get(form.text) ?? 0, form.behind))
    const texts = [...behind.keys()]
    this.shortest = Math.min(...texts.map(({ length }) => length))
    const forms = new PatternSet(texts)
    this.#forms = forms
    this.#longest = new Uint8Array(forms.size)
    this.#behind = new Float64Array(forms.size)
    for (let state = 1; state < forms.size; state++) {
      const text = texts[forms.endOf(state)]
      const shorter = forms.fallbackOf(state)
      this.#longest[state] = text?.length ?? this.#longest[shorter] ?? 0
      this.#behind[state] = Math.max(text === undefined ? 0 : (behind.get(text) ?? 0), this.#behind[shorter] ?? 0)
    }
    for (const text of texts) this.#noteBeginning(text)
  }

  get isEmpty(): boolean {
    return this.#forms.size === 1
  }

  /** Continues a search with the text from `start` to `end`. */
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
      state = this.#forms.step(state, character)
      const length = this.#longest[state] ?? 0
      if (length > 0) note(search.found, at + 1 - length, at + 1 + (this.#behind[state] ?? 0))
    }
    search.state = state
  }

  /** The number of characters at the end of the searched text that may be the start of a form. */
  unfinishedIn({ state }: Search): number {
    return this.#forms.depthOf(state)
  }

  #noteBeginning(text: string): void {
    if (text.length === 1) this.#beginnings.fill(0xff)
    const pair = pairOf(text.charCodeAt(0), text.charCodeAt(1))
    this.#beginnings[pair >> 3] = (this.#beginnings[pair >> 3] ?? 0) | (1 << (pair & 7))
  }
}

function pairOf(character: number, following: number): number {
  return (Math.imul(character, 0x6b) ^ Math.imul(following, 0x2f1)) & 0xffff
}

/** Adds a span, merged with the spans that it overlaps. */
function note(found: Span[], start: number, end: number): void {
  let [from, to] = [start, end]
  for (let last = found.at(-1); last !== undefined && last.to > from; last = found.at(-1)) {
    from = Math.min(from, last.from)
    to = Math.max(to, last.to)
    found.pop()
  }
  found.push({ from, to })
}
