/**
 * Follows a JSON value that turned out to be no call, to its end: what stands inside it is part of it. It is given out as it comes.
 * A blank line ends it too, since a bracket may have been no value's at all.
 */
export class OpenValue {
  #depth = 0
  #inString = false
  #escaped = false
  #newline = false

  get open(): boolean {
    return this.#depth > 0
  }

  /** Starts with the value's first characters. */
  enter(text: string): void {
    this.#depth = 0
    this.#inString = false
    this.#escaped = false
    this.#newline = false
    for (let i = 0; i < text.length; i++) this.step(text.charCodeAt(i))
  }

  step(code: number): void {
    if (code === 10) {
      // A string can't go on in the next line.
      this.#inString = false
      if (this.#newline) this.#depth = 0
      this.#newline = true
      return
    }
    if (code !== 32 && code !== 9 && code !== 13) this.#newline = false
    if (this.#inString) {
      if (this.#escaped) this.#escaped = false
      else if (code === 92) this.#escaped = true
      else if (code === 34) this.#inString = false
    } else if (code === 34) this.#inString = true
    else if (code === 123 || code === 91) this.#depth++
    else if ((code === 125 || code === 93) && this.#depth > 0) this.#depth--
  }
}
