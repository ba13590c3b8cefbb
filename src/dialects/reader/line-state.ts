export const newline = 10
const tab = 9
const space = 32
export const backtick = 96
const tilde = 126

/** The position is past the start of a line. */
export const midLine = 0
/** The line has only whitespace so far. */
const head = 1
/** The line has only backticks or only tildes so far. */
const run = 2
/** The backticks or tildes open a fence, unless another backtick follows on the line. */
const info = 3
/** The backticks or tildes close the fence, unless other text follows on the line. */
const closing = 4

/** Tracks the position within a line, and the open code fence. Fences follow CommonMark, but may be indented by any amount. */
export class LineState {
  state: number = head
  /** The character of the open fence; 0 if no fence is open. */
  fence = 0
  /** Whether a call precedes the position on the same line. */
  afterCall = false
  /** Whether the position is between two backticks on the line. */
  inCode = false
  /** Whether an earlier line announced an example. Until the next blank line, text that looks like a call belongs to the example. */
  example = false
  #length = 0
  #char = 0
  #fenceLength = 0

  get atHead(): boolean {
    return this.state === head
  }

  reset(): void {
    this.state = head
    this.fence = 0
    this.afterCall = false
    this.inCode = false
    this.example = false
  }

  step(code: number): void {
    if (code === newline) {
      this.#endLine()
      return
    }
    switch (this.state) {
      case midLine:
        if (code === backtick) this.inCode = !this.inCode
        return
      case head:
        if (code === backtick || code === tilde) {
          this.state = run
          this.#char = code
          this.#length = 1
        } else if (code !== space && code !== tab && code !== 13) this.state = midLine
        return
      case run:
        if (code === this.#char) this.#length++
        else if (this.#length < 3) {
          this.state = midLine
          this.inCode = this.#char === backtick && this.#length === 1
        } else if (this.fence === 0) this.state = info
        else if (this.#closes()) this.state = code === space || code === tab || code === 13 ? closing : midLine
        else this.state = midLine
        return
      case info:
        if (code === backtick && this.#char === backtick) this.state = midLine
        return
      case closing:
        if (code !== space && code !== tab && code !== 13) this.state = midLine
        return
    }
  }

  /** Advances over text that `step` has not seen. */
  note(text: string): void {
    for (let i = 0; i < text.length; i++) this.step(text.charCodeAt(i))
  }

  #closes(): boolean {
    return this.#char === this.fence && this.#length >= this.#fenceLength
  }

  #endLine(): void {
    if (this.state === head && this.fence === 0) this.example = false
    const ran = this.state === run && this.#length >= 3
    if (this.fence === 0 && (ran || this.state === info)) {
      this.fence = this.#char
      this.#fenceLength = this.#length
    } else if (this.state === closing || (ran && this.#closes())) this.fence = 0
    this.state = head
    this.afterCall = false
    this.inCode = false
  }

  copyFrom(other: LineState): void {
    this.state = other.state
    this.fence = other.fence
    this.afterCall = other.afterCall
    this.inCode = other.inCode
    this.example = other.example
    this.#length = other.#length
    this.#char = other.#char
    this.#fenceLength = other.#fenceLength
  }
}
