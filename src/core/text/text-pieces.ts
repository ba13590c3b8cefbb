/** A text made of parts that others hold as well, taken piece by piece: however large it is, no copy of the whole is made. */
export class TextPieces {
  readonly #parts: readonly string[]
  #part = 0
  #at = 0

  constructor(parts: readonly string[]) {
    this.#parts = parts
  }

  get length(): number {
    return this.#parts.reduce((sum, part) => sum + part.length, 0)
  }

  get ended(): boolean {
    return this.#part >= this.#parts.length
  }

  /** The next characters, at most so many; `''` at the end. */
  take(characters: number): string {
    let text = ''
    while (!this.ended && text.length < characters) {
      const part = this.#parts[this.#part] ?? ''
      let end = Math.min(part.length, this.#at + characters - text.length)
      // Half of a character of two is none, wherever it is encoded.
      if (end < part.length && end > this.#at + 1 && isFirstHalf(part.charCodeAt(end - 1))) end--
      text += part.slice(this.#at, end)
      this.#at = end
      if (end < part.length) break
      this.#part++
      this.#at = 0
    }
    return text
  }
}

/** The items of a JSON array. */
export function separated(items: readonly string[]): string[] {
  return items.flatMap((item, at) => (at === 0 ? [item] : [',', item]))
}

function isFirstHalf(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
