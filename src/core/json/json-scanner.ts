const [tab, lineFeed, carriageReturn, space, quote, backslash] = [9, 10, 13, 32, 34, 92]
const [bracket, closingBracket, brace, closingBrace] = [91, 93, 123, 125]

/**
 * Tracks open brackets and strings in JSON, character by character. Stores no text and checks no grammar, so it can also read JSON that is
 * cut off or malformed. Accepts UTF-8 bytes as well as characters.
 */
export class JsonScanner {
  /** The number of open objects and arrays. Negative if more were closed than opened. */
  depth = 0
  isInString = false
  /** The number of consecutive backslashes before the next character of a string. */
  #backslashes = 0
  readonly #slashes: number
  readonly #endsWithLine: boolean

  /**
   * `slashes`: the number of backslashes before each quote. It is 0 unless the JSON is inside a JSON string. `endsWithLine`: a line break
   * ends a string. Without this option, an unclosed string would hide everything after it.
   */
  constructor({ slashes = 0, endsWithLine = false }: { slashes?: number; endsWithLine?: boolean } = {}) {
    this.#slashes = slashes
    this.#endsWithLine = endsWithLine
  }

  /**
   * Reads one character. Returns whether the character is outside strings and not whitespace. The quote that starts a string counts as
   * outside.
   */
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

  /**
   * In JSON that was quoted n times, 2ⁿ-1 backslashes precede the quote that ends a string. Each backslash at the end of the string itself
   * adds 2ⁿ⁺¹ more.
   */
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
