/** Maximum length of a visible character, in UTF-16 code units. The search for the boundaries of a character goes no further. */
const longestCharacter = 64

let segmenter: Intl.Segmenter | undefined

/** Splits `text` into visible characters. */
export function charactersOf(text: string): string[] {
  // The segmenter is created on first use, because creating it takes time.
  segmenter ??= new Intl.Segmenter()
  return Array.from(segmenter.segment(text), ({ segment }) => segment)
}

type Move = 'left' | 'right' | 'wordLeft' | 'wordRight' | 'lineStart' | 'lineEnd'

/** The limits of the undo history: the number of changes, and their total length in UTF-16 code units. */
const mostChanges = 200
const longestKept = 20_000_000
/** How far back to search for the start of a word, in UTF-16 code units. */
const longestWord = 10_000

/** A text that is being typed, with its cursor. */
export class EditedText {
  #text = ''
  #at = 0
  /** The text before each change, the newest last. */
  #earlier: { text: string; at: number }[] = []
  /**
   * The position after the last typed character, or -1 if the last change was something else. Characters typed in sequence are undone
   * together.
   */
  #typedTo = -1
  /** The last deleted text that was longer than one character. */
  #cut = ''

  get text(): string {
    return this.#text
  }

  /** Number of UTF-16 code units before the cursor. */
  get at(): number {
    return this.#at
  }

  set(text: string, at: number = text.length): void {
    this.#text = text
    this.#at = at
  }

  insert(text: string): void {
    const isCharacter = text.length <= 2 && text !== '\n'
    if (!isCharacter || text === ' ' || this.#typedTo !== this.#at) this.#keep()
    this.set(this.#text.slice(0, this.#at) + text + this.#text.slice(this.#at), this.#at + text.length)
    this.#typedTo = isCharacter ? this.#at : -1
  }

  undo(): void {
    const before = this.#earlier.pop()
    if (before !== undefined) this.set(before.text, before.at)
    this.#typedTo = -1
  }

  #keep(): void {
    this.#earlier.push({ text: this.#text, at: this.#at })
    let kept = this.#earlier.reduce((sum, { text }) => sum + text.length, 0)
    while (this.#earlier.length > mostChanges || (kept > longestKept && this.#earlier.length > 1))
      kept -= this.#earlier.shift()?.text.length ?? 0
  }

  move(how: Move): void {
    this.#at = this.#target(how)
  }

  /** Moves the cursor up one line. Returns false if the cursor is in the first line. `moveDown` works the same way. */
  moveUp(): boolean {
    const start = this.#target('lineStart')
    if (start === 0) return false
    const above = start < 2 ? 0 : this.#text.lastIndexOf('\n', start - 2) + 1
    this.#at = this.#sameColumn(above, start - 1, start)
    return true
  }

  moveDown(): boolean {
    const end = this.#target('lineEnd')
    if (end === this.#text.length) return false
    const next = this.#text.indexOf('\n', end + 1)
    this.#at = this.#sameColumn(end + 1, next < 0 ? this.#text.length : next, this.#target('lineStart'))
    return true
  }

  /** Returns the position in the line from `from` to `to` that has the same column as the cursor. The cursor's line begins at `start`. */
  #sameColumn(from: number, to: number, start: number): number {
    const column = charactersOf(this.#text.slice(start, this.#at)).length
    return from + charactersOf(this.#text.slice(from, to)).slice(0, column).join('').length
  }

  /** Deletes the text between the cursor and the position to which `how` would move it. */
  delete(how: Move): void {
    const target = this.#target(how)
    const [from, to] = [Math.min(target, this.#at), Math.max(target, this.#at)]
    if (from === to) return
    this.#keep()
    this.#typedTo = -1
    if (how !== 'left' && how !== 'right') this.#cut = this.#text.slice(from, to)
    this.set(this.#text.slice(0, from) + this.#text.slice(to), from)
  }

  /** Inserts the last deleted text. */
  paste(): void {
    this.insert(this.#cut)
  }

  #target(how: Move): number {
    const [before, behind] = [this.#text.slice(0, this.#at), this.#text.slice(this.#at)]
    switch (how) {
      case 'left':
        return this.#at - (charactersOf(before.slice(-longestCharacter)).at(-1)?.length ?? 0)
      case 'right':
        return this.#at + (charactersOf(behind.slice(0, longestCharacter))[0]?.length ?? 0)
      case 'wordLeft':
        return this.#at - (/[\p{L}\p{N}_]*[^\p{L}\p{N}_]*$/u.exec(before.slice(-longestWord))?.[0].length ?? 0)
      case 'wordRight':
        return this.#at + (/^[^\p{L}\p{N}_]*[\p{L}\p{N}_]*/u.exec(behind)?.[0].length ?? 0)
      case 'lineStart':
        return before.lastIndexOf('\n') + 1
      case 'lineEnd': {
        const end = behind.indexOf('\n')
        return end < 0 ? this.#text.length : this.#at + end
      }
    }
  }
}
