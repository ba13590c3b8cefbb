/** Lines out of a byte stream that comes in pieces of any size. Each byte is looked at once; a line is held only up to a size. */
export class LineReader {
  readonly #maxBytes: number
  readonly #onLine: (line: string) => void
  readonly #onTooLong: () => void
  #pieces: Buffer[] = []
  #bytes = 0
  #isSkipping = false

  /** `onTooLong` is called once for a line of more than `maxBytes`; the rest of that line is dropped. */
  constructor(maxBytes: number, onLine: (line: string) => void, onTooLong: () => void) {
    this.#maxBytes = maxBytes
    this.#onLine = onLine
    this.#onTooLong = onTooLong
  }

  push(chunk: Buffer): void {
    let start = 0
    for (let end = chunk.indexOf(0x0a); end !== -1; end = chunk.indexOf(0x0a, start)) {
      this.#hold(chunk.subarray(start, end))
      this.#endLine()
      start = end + 1
    }
    this.#hold(chunk.subarray(start))
  }

  #hold(piece: Buffer): void {
    if (this.#isSkipping || piece.length === 0) return
    this.#bytes += piece.length
    if (this.#bytes <= this.#maxBytes) {
      this.#pieces.push(piece)
      return
    }
    this.#isSkipping = true
    this.#pieces = []
    this.#onTooLong()
  }

  #endLine(): void {
    const line = this.#isSkipping ? '' : Buffer.concat(this.#pieces).toString('utf8').replace(/\r$/, '')
    this.#pieces = []
    this.#bytes = 0
    this.#isSkipping = false
    this.#onLine(line)
  }
}
