import { TextBuffer } from '../../core/text/text-buffer.ts'

/**
 * A position in text that arrives in pieces. Only the current piece is looked at; what was read since the mark is kept as a rope,
 * which is flattened at most once for each thing that is reported.
 */
export class Cursor {
  chunk = ''
  at = 0
  ended = false
  /** The piece that was being read when older characters were given back; they are `chunk` until they are read again. */
  #behind: string | undefined
  /** The newest piece's offset in the whole text. */
  #base = 0
  #mark = 0
  #marked = false
  /** What was read since the mark, up to the newest piece. */
  readonly #rope: TextBuffer = new TextBuffer()

  /** Takes the next piece. The last one must have been read to its end. */
  load(chunk: string): void {
    if (this.#marked) this.#rope.add(this.#mark <= this.#base ? this.chunk : this.chunk.slice(this.#mark - this.#base))
    this.#base += this.chunk.length
    this.chunk = chunk
    this.at = 0
  }

  /** Goes on to the piece behind given-back characters, if that is where the cursor stands. */
  advance(): boolean {
    if (this.#behind === undefined || this.at < this.chunk.length) return false
    this.chunk = this.#behind
    this.#behind = undefined
    this.at = 0
    return true
  }

  /** True when there is nothing more to come. */
  get atEnd(): boolean {
    return this.ended && this.at >= this.chunk.length && this.#behind === undefined
  }

  /** Gives back the last characters read, which `text` must be. */
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

  /** Starts to keep what is read, `prefix` before it. */
  mark(prefix = ''): void {
    const position = this.#position()
    // The rope reaches up to the newest piece: given-back characters, which are before it, belong to it.
    this.#rope.set(this.#behind === undefined ? prefix : prefix + this.chunk.slice(this.at))
    this.#mark = position < this.#base ? this.#base : position
    this.#marked = true
  }

  unmark(): void {
    this.#marked = false
    this.#rope.set('')
  }

  /** What was read since the mark. */
  raw(): string {
    const position = this.#position()
    const { text } = this.#rope
    if (position < this.#base) return text.slice(0, text.length - (this.#base - position))
    const newest = this.#behind ?? this.chunk
    const from = Math.max(this.#mark - this.#base, 0)
    const to = position - this.#base
    // Characters of the prefix were given back.
    if (to < from) return text.slice(0, text.length - (from - to))
    return to > from ? text + newest.slice(from, to) : text
  }

  #position(): number {
    return this.#behind === undefined ? this.#base + this.at : this.#base - (this.chunk.length - this.at)
  }
}
