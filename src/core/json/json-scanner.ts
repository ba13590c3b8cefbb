const [tab, lineFeed, carriageReturn, space, quote, backslash] = [9, 10, 13, 32, 34, 92]
const [bracket, closingBracket, brace, closingBrace] = [91, 93, 123, 125]

/**
 * Follows the structure of JSON character by character: which brackets are open, and what is in a string. It keeps no text and checks no
 * grammar, so it also reads JSON that is cut off or malformed. Bytes of UTF-8 do as well as characters.
 */
export class JsonScanner {
  /** Objects and arrays that are open. Negative if more brackets were closed than opened. */
  depth = 0
  isInString = false
  /** Backslashes just before the next character, in a string. */
  #backslashes = 0
  readonly #slashes: number
  readonly #endsWithLine: boolean

  /**
   * `slashes`: how many backslashes are before each quote, in JSON that is itself written in a string of JSON. `endsWithLine`: a line break
   * ends a string, as one that is never closed would hide all that follows.
   */
  constructor({ slashes = 0, endsWithLine = false }: { slashes?: number; endsWithLine?: boolean } = {}) {
    this.#slashes = slashes
    this.#endsWithLine = endsWithLine
  }

  /** Reads one character. Returns whether it is part of the structure: outside of strings, or the quote that begins one, and no white space. */
  read(code: number): boolean {
    if (this.isInString) {
      this.#readInString(code)
      return false
    }
    switch (code) {
      case space:
      case tab:
      case lineFeed:
      case carriageReturn:
        return false
      case quote:
        this.isInString = true
        return true
      case brace:
      case bracket:
        this.depth++
        return true
      case closingBrace:
      case closingBracket:
        this.depth--
        return true
      default:
        return true
    }
  }

  /** In JSON that was written into a string n times, 2ⁿ-1 backslashes and a multiple of 2ⁿ⁺¹ come before the quote that ends a string. */
  #readInString(code: number): void {
    if (code === backslash) {
      this.#backslashes++
      return
    }
    if (code === quote ? this.#backslashes % (2 * this.#slashes + 2) === this.#slashes : this.#endsWithLine && isLineBreak(code))
      this.isInString = false
    this.#backslashes = 0
  }
}

function isLineBreak(code: number): boolean {
  return code === lineFeed || code === carriageReturn
}
