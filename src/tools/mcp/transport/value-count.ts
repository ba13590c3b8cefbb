/** What a field of an object counts, and an array or object itself: they cost as much more to read than an item of an array. */
const fieldValues = 10
const listValues = 5

/**
 * How many values a text of JSON has, counted while its bytes come in, in any pieces: reading very many of them takes long, whatever is done with
 * them. No text in JSON goes on over the end of a line, so that nothing before it can hide what is in the next.
 */
export class ValueCount {
  #values = 0
  #isInText = false
  #isEscaped = false

  /** Counts on, and says how many there are so far. */
  add(bytes: Uint8Array): number {
    for (const byte of bytes) {
      if (byte === lineFeed || byte === carriageReturn) this.#isInText = this.#isEscaped = false
      else if (this.#isEscaped) this.#isEscaped = false
      else if (byte === quote) this.#isInText = !this.#isInText
      else if (this.#isInText) this.#isEscaped = byte === backslash
      else if (byte === colon) this.#values += fieldValues
      else if (byte === comma) this.#values++
      else if (byte === bracket || byte === brace) this.#values += listValues
    }
    return this.#values
  }

  reset(): void {
    this.#values = 0
    this.#isInText = false
    this.#isEscaped = false
  }
}

const [lineFeed, carriageReturn, quote, backslash, colon, comma, bracket, brace] = Buffer.from('\n\r"\\:,[{')
