/** Long enough to be worth a copy, short enough to die young. */
const segment = 4096
/** So long that the garbage collector, which copies what survives, leaves it where it is: V8 does from about 128 KB on. */
const block = 256 * 1024

/**
 * Text put together from many small pieces. Joining each to one long string would leave a node for every piece alive until the end;
 * here they are copied together now and then, first to segments, then those to blocks.
 */
export class TextBuffer {
  #blocks = ''
  #segments = ''
  #tail = ''
  #touched = 0

  get isEmpty(): boolean {
    return this.length === 0
  }

  get length(): number {
    return this.#blocks.length + this.#segments.length + this.#tail.length
  }

  get text(): string {
    return this.length === this.#tail.length ? this.#tail : this.#blocks + this.#segments + this.#tail
  }

  toString(): string {
    return this.text
  }

  /** Adds a piece; an empty one is nothing. */
  add(piece: string): void {
    this.#tail = this.#tail === '' ? piece : this.#tail + piece
    if (this.#tail.length >= segment) this.#gather()
  }

  /** Starts again with this text. */
  set(text: string): void {
    this.#blocks = ''
    this.#segments = ''
    this.#tail = text
  }

  #gather(): void {
    this.#flatten(this.#tail)
    this.#segments += this.#tail
    this.#tail = ''
    if (this.#segments.length < block) return
    this.#flatten(this.#segments)
    this.#blocks += this.#segments
    this.#segments = ''
  }

  /** Reading a character makes the engine copy the pieces into one flat string. */
  #flatten(text: string): void {
    this.#touched ^= text.charCodeAt(0)
  }
}
