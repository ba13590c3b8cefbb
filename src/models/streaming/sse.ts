/** Told of one event: its `data` lines joined with `\n`, and its `event:` name if it has one. */
export type SseListener = (data: string, event?: string) => void

const LF = 10
const CR = 13
const SPACE = 32
const COLON = 58
/** Bytes kept for an unfinished line beyond which they are given back after it. */
const keepAtMost = 1 << 20

/**
 * Server-sent events off a byte stream: bytes in, events out, synchronously. Cuts may fall anywhere, also inside a character.
 * Lines end with LF, CRLF or CR; comments, `id:` and `retry:` are skipped; a byte order mark is ignored; an event that lacks its
 * blank line is given out by `end`. Cost is linear in the bytes, however they are cut.
 * Format: https://html.spec.whatwg.org/multipage/server-sent-events.html
 *
 * Only whole lines are decoded, a network chunk's worth at once: decoding line by line costs three times as much.
 */
export class SseDecoder {
  /** The bytes of a line that has not ended yet. Grows by doubling: a long line in small pieces is copied about once. */
  #held: Buffer = Buffer.allocUnsafe(0)
  #heldLength = 0
  #data: string | undefined
  #event: string | undefined
  #skipLF = false
  #started = false

  push(bytes: Uint8Array, onData: SseListener): void {
    if (bytes.length === 0) return
    const chunk = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    // The LF of a CRLF whose CR was the last byte before.
    const start = this.#skipLF && chunk[0] === LF ? 1 : 0
    this.#skipLF = false
    const end = afterLastLine(chunk, start)
    if (end === start) {
      this.#hold(chunk, start)
      return
    }
    this.#skipLF = chunk[chunk.length - 1] === CR
    let text: string
    if (this.#heldLength === 0) text = chunk.toString('utf8', start, end)
    else {
      this.#hold(chunk.subarray(0, end), start)
      text = this.#takeHeld()
    }
    this.#lines(text, onData)
    this.#hold(chunk, end)
  }

  /** The stream is over: gives out what its last, unfinished line and event hold. */
  end(onData: SseListener): void {
    if (this.#heldLength > 0) this.#lines(`${this.#takeHeld()}\n`, onData)
    this.#dispatch(onData)
  }

  #hold(chunk: Buffer, start: number): void {
    if (start === chunk.length) return
    const length = this.#heldLength + chunk.length - start
    if (length > this.#held.length) {
      const larger = Buffer.allocUnsafe(Math.max(1024, length, this.#held.length * 2))
      this.#held.copy(larger, 0, 0, this.#heldLength)
      this.#held = larger
    }
    if (chunk.length - start > 32) chunk.copy(this.#held, this.#heldLength, start)
    else for (let from = start, to = this.#heldLength; from < chunk.length; from++, to++) this.#held[to] = chunk[from] ?? 0
    this.#heldLength = length
  }

  #takeHeld(): string {
    const text = this.#held.toString('utf8', 0, this.#heldLength)
    this.#heldLength = 0
    if (this.#held.length > keepAtMost) this.#held = Buffer.allocUnsafe(0)
    return text
  }

  /** `text` is whole lines, each with its end. */
  #lines(text: string, onData: SseListener): void {
    let start = 0
    if (!this.#started) {
      this.#started = true
      if (text.charCodeAt(0) === 0xfeff) start = 1
    }
    // Each search goes on where its last hit was, so that the text is read once by either.
    let lf = text.indexOf('\n', start)
    let cr = text.indexOf('\r', start)
    while (lf !== -1 || cr !== -1) {
      // Nearly every event is one `data: ` line and a blank one.
      if (cr === -1 && text.charCodeAt(lf + 1) === LF && this.#data === undefined && text.startsWith('data: ', start)) {
        const event = this.#event
        this.#event = undefined
        onData(text.slice(start + 6, lf), event || undefined)
        start = lf + 2
        lf = text.indexOf('\n', start)
        continue
      }
      const isCR = cr !== -1 && (lf === -1 || cr < lf)
      const end = isCR ? cr : lf
      this.#line(text, start, end, onData)
      start = isCR && lf === end + 1 ? end + 2 : end + 1
      if (isCR) cr = text.indexOf('\r', start)
      if (lf !== -1 && lf < start) lf = text.indexOf('\n', start)
    }
  }

  #line(text: string, start: number, end: number, onData: SseListener): void {
    if (start === end) {
      this.#dispatch(onData)
      return
    }
    // A field without a colon has an empty value.
    if (text.startsWith('data', start) && (start + 4 === end || text.charCodeAt(start + 4) === COLON)) {
      const value = valueAt(text, start + 5, end)
      this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`
    } else if (text.startsWith('event', start) && (start + 5 === end || text.charCodeAt(start + 5) === COLON)) {
      this.#event = valueAt(text, start + 6, end)
    }
  }

  #dispatch(onData: SseListener): void {
    const data = this.#data
    const event = this.#event
    this.#data = undefined
    this.#event = undefined
    // An empty name is no name.
    if (data !== undefined) onData(data, event || undefined)
  }
}

/** The position after the last line end from `start` on; `start` when there is none. By hand: the answer is nearly always close to the end. */
function afterLastLine(chunk: Buffer, start: number): number {
  for (let at = chunk.length - 1; at >= start; at--) {
    const byte = chunk[at]
    if (byte === LF || byte === CR) return at + 1
  }
  return start
}

/** One space after the colon is not part of the value. */
function valueAt(text: string, from: number, end: number): string {
  if (from >= end) return ''
  return text.slice(text.charCodeAt(from) === SPACE ? from + 1 : from, end)
}
