import { charactersOf } from './edited-text.ts'

/** A backward search through earlier texts, starting with the newest. */
export class HistorySearch {
  #query = ''
  readonly #texts: readonly string[]
  /** The index of the match. Before a match is found, it is the number of texts. */
  #at: number

  constructor(texts: readonly string[]) {
    this.#texts = texts
    this.#at = texts.length
  }

  get query(): string {
    return this.#query
  }

  get found(): string | undefined {
    return this.#texts[this.#at]
  }

  type(text: string): void {
    this.#query += text
    this.#find(Math.min(this.#at, this.#texts.length - 1))
  }

  erase(): void {
    this.#query = charactersOf(this.#query).slice(0, -1).join('')
    this.#find(this.#texts.length - 1)
  }

  /** Moves to the next older match, if there is one. */
  older(): void {
    const { found } = this
    const before = this.#at
    for (let at = before - 1; at >= 0; at--) {
      if (this.#texts[at]?.includes(this.#query) && this.#texts[at] !== found) {
        this.#at = at
        return
      }
    }
  }

  #find(from: number): void {
    for (let at = from; at >= 0; at--) {
      if (this.#query !== '' && this.#texts[at]?.includes(this.#query)) {
        this.#at = at
        return
      }
    }
    this.#at = this.#texts.length
  }
}
