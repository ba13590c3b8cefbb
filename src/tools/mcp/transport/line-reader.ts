import { ValueCount } from '../../../core/json.ts'

/** Limits for one line. */
export interface LineBounds {
  maxBytes: number
  /** Maximum number of JSON values in a line. */
  maxValues?: number
}

/** Splits a stream of bytes into lines of limited length. */
export class LineReader {
  readonly #bounds: LineBounds
  #values = new ValueCount()
  readonly #onLine: (line: string) => void
  readonly #onTooLong: (bound: string) => void
  #pieces: Buffer[] = []
  #bytes = 0
  #isSkipping = false

  /** `onTooLong` is called once for a line that exceeds a limit. `bound`: the exceeded limit. The rest of the line is skipped. */
  constructor(bounds: LineBounds, onLine: (line: string) => void, onTooLong: (bound: string) => void) {
    this.#bounds = bounds
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
    this.#pieces.push(piece)
    const bound = this.#exceededBy(piece)
    if (bound === undefined) return
    this.#isSkipping = true
    this.#pieces = []
    this.#onTooLong(bound)
  }

  #exceededBy(piece: Buffer): string | undefined {
    const { maxBytes, maxValues } = this.#bounds
    this.#bytes += piece.length
    if (this.#bytes > maxBytes) return `${maxBytes} bytes`
    return maxValues !== undefined && this.#values.add(piece) > maxValues ? `${maxValues} values` : undefined
  }

  #endLine(): void {
    const line = this.#isSkipping ? '' : textOf(this.#pieces)
    this.#pieces = []
    this.#bytes = 0
    this.#values = new ValueCount()
    this.#isSkipping = false
    this.#onLine(line)
  }
}

function textOf([first, ...others]: readonly Buffer[]): string {
  if (first === undefined) return ''
  const text = (others.length === 0 ? first : Buffer.concat([first, ...others])).toString('utf8')
  return text.endsWith('\r') ? text.slice(0, -1) : text
}
