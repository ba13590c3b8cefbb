/** Reads a long text piece by piece, without copying the whole text. */
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

  /** Returns at most the next `characters` characters, or `''` at the end. */
  take(characters: number): string {
    let text = ''
    while (!this.ended && text.length < characters) {
      const part = this.#parts[this.#part] ?? ''
      let end = Math.min(part.length, this.#at + characters - text.length)
      // A surrogate pair is not split, because half a pair can't be encoded.
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

/** The items of a JSON array, separated by commas. */
export function separated(items: readonly string[]): string[] {
  return items.flatMap((item, at) => (at === 0 ? [item] : [',', item]))
}

function isFirstHalf(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
