/** Long enough to be worth a copy, short enough to die young. */
const segment = 4096

/**
 * Text put together from many small pieces. Joining each to one long string would leave a node for every piece alive until the end;
 * here they are copied together now and then.
 */
export class Rope {
  #head = ''
  #tail = ''
  #touched = 0

  get length(): number {
    return this.#head.length + this.#tail.length
  }

  get text(): string {
    return this.#head === '' ? this.#tail : this.#head + this.#tail
  }

  add(piece: string): void {
    this.#tail = this.#tail === '' ? piece : this.#tail + piece
    if (this.#tail.length < segment) return
    // Reading a character makes the engine copy the pieces into one flat string.
    this.#touched ^= this.#tail.charCodeAt(0)
    this.#head = this.#head === '' ? this.#tail : this.#head + this.#tail
    this.#tail = ''
  }

  set(text: string): void {
    this.#head = ''
    this.#tail = text
  }
}
