import { TextBuffer } from '../../core/text/text-buffer.ts'

/** A position in text that arrives in chunks. `raw` returns the text that was read since `mark`. */
export class Cursor {
  chunk = ''
  at = 0
  ended = false
  /** The newest chunk, if `chunk` currently contains older text that is read again. */
  #behind: string | undefined
  /** The newest chunk's offset in the whole text. */
  #base = 0
  #mark = 0
  #marked = false
  /** The text since the mark, up to the newest chunk. */
  readonly #rope: TextBuffer = new TextBuffer()

  /** Loads the next chunk. The previous chunk must have been read completely. */
  load(chunk: string): void {
    if (this.#marked) this.#rope.add(this.#mark <= this.#base ? this.chunk : this.chunk.slice(this.#mark - this.#base))
    this.#base += this.chunk.length
    this.chunk = chunk
    this.at = 0
  }

  /** Moves to the newest chunk. Returns false if `chunk` already is the newest, or has unread characters. */
  advance(): boolean {
    if (this.#behind === undefined || this.at < this.chunk.length) return false
    this.chunk = this.#behind
    this.#behind = undefined
    this.at = 0
    return true
  }

  /** Whether the text has ended and all of it has been read. */
  get atEnd(): boolean {
    return this.ended && this.at >= this.chunk.length && this.#behind === undefined
  }

  /** Moves the cursor back by `text`, which must be the text that was read last. */
  unread(text: string): void {
    if (text.length <= this.at) {
      this.at -= text.length
      return
    }
    const older = text.slice(0, text.length - this.at)
    this.at = 0
    if (this.#behind === undefined) {
      this.#behind = this.chunk
      this.chunk = older
    } else {
      this.chunk = older + this.chunk
    }
  }

  /** Starts recording the text that is read. `prefix` is put before the text. */
  mark(prefix = ''): void {
    const position = this.#position()
    // `#rope` must contain everything before the newest chunk, including text that is read again.
    this.#rope.set(this.#behind === undefined ? prefix : prefix + this.chunk.slice(this.at))
    this.#mark = position < this.#base ? this.#base : position
    this.#marked = true
  }

  unmark(): void {
    this.#marked = false
    this.#rope.set('')
  }

  /** The text that was read since the mark. */
  raw(): string {
    const position = this.#position()
    const { text } = this.#rope
    if (position < this.#base) return text.slice(0, text.length - (this.#base - position))
    const newest = this.#behind ?? this.chunk
    const from = Math.max(this.#mark - this.#base, 0)
    const to = position - this.#base
    // The cursor was moved back to a position inside the prefix.
    if (to < from) return text.slice(0, text.length - (from - to))
    return to > from ? text + newest.slice(from, to) : text
  }

  #position(): number {
    return this.#behind === undefined ? this.#base + this.at : this.#base - (this.chunk.length - this.at)
  }
}
