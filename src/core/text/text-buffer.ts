/** Pieces that are joined into one before they have lived long: a garbage collector is slow on many small things that stay. */
const maxPieces = 512

/** A text that arrives in very many small pieces. Adding is cheap, and what is kept is few and large. */
export class TextBuffer {
  readonly #parts: string[] = []
  #pieces: string[] = []

  get isEmpty(): boolean {
    return this.#parts.length === 0 && this.#pieces.length === 0
  }

  /** Adds a piece; an empty one is nothing. */
  add(piece: string): void {
    if (piece === '') return
    this.#pieces.push(piece)
    if (this.#pieces.length < maxPieces) return
    this.#parts.push(this.#pieces.join(''))
    this.#pieces = []
  }

  toString(): string {
    return this.#parts.join('') + this.#pieces.join('')
  }
}
