/**
 * The length at which pieces are joined into a segment. Segments are long enough to be worth a copy, and short enough that V8 collects
 * their pieces while the pieces are young.
 */
const segment = 4096
/** The length at which segments are joined into a block. V8 doesn't move strings of more than about 128 KB. */
const block = 256 * 1024

/**
 * Builds a text from many small pieces. Plain concatenation would keep a node for each piece alive until the end. This class copies pieces
 * into segments, and segments into blocks.
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

  add(piece: string): void {
    this.#tail = this.#tail === '' ? piece : this.#tail + piece
    if (this.#tail.length >= segment) this.#gather()
  }

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

  /** Reading a character makes V8 flatten the pieces into one string. */
  #flatten(text: string): void {
    this.#touched ^= text.charCodeAt(0)
  }
}
