/** What a terminal of that size shows and has scrolled away after `written`: its lines without trailing spaces. */
export function shownOn(written: string, { rows, columns }: { rows: number; columns: number }): string[] {
  return new Screen(rows, columns).write(written)
}

/** The parts of a terminal that this project needs. Lines that were scrolled away stay, above `#top`. */
class Screen {
  readonly #rows: number
  readonly #columns: number
  readonly #lines: string[][] = [[]]
  #top = 0
  #row = 0
  #column = 0

  constructor(rows: number, columns: number) {
    this.#rows = rows
    this.#columns = columns
  }

  write(text: string): string[] {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is read here
    const pieces = text.matchAll(/\x1b\[([?\d;]*)([A-Za-z])|\x1b\][^\x07]*\x07|\r|\n|[^\x1b]/gu)
    for (const [piece, given = '', command] of pieces) {
      if (command !== undefined) this.#command(command, Number(given.replace('?', '') || '1'), given)
      else if (piece === '\r') this.#column = 0
      else if (piece === '\n') this.#down()
      else if (!piece.startsWith('\x1b')) this.#put(piece)
    }
    return this.#lines.map((line) =>
      Array.from(line, (cell) => cell ?? ' ')
        .join('')
        .trimEnd(),
    )
  }

  #command(command: string, count: number, given: string): void {
    if (command === 'A') this.#row = Math.max(this.#top, this.#row - count)
    else if (command === 'B') this.#row = Math.min(this.#top + this.#rows - 1, this.#row + count)
    else if (command === 'G') this.#column = count - 1
    else if (command === 'K') this.#line.splice(this.#column)
    else if (command === 'J' && given === '') {
      this.#line.splice(this.#column)
      this.#lines.splice(this.#row + 1)
    } else if (command === 'H') [this.#row, this.#column] = [this.#top, 0]
    else if (command === 'J') for (const line of this.#lines.slice(this.#top)) line.splice(0)
  }

  get #line(): string[] {
    while (this.#lines.length <= this.#row) this.#lines.push([])
    return this.#lines[this.#row] ?? []
  }

  #put(character: string): void {
    // A character in the last column leaves the cursor there until the next one.
    if (this.#column >= this.#columns) {
      this.#column = 0
      this.#down()
    }
    const width = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uff00-\uff60]|\p{Emoji_Presentation}/u.test(character) ? 2 : 1
    this.#line[this.#column] = character
    if (width === 2) this.#line[this.#column + 1] = ''
    this.#column += width
  }

  #down(): void {
    this.#row++
    if (this.#row >= this.#top + this.#rows) this.#top++
    void this.#line
  }
}
