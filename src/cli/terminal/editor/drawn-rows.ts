import type { Writable } from 'node:stream'
import { charactersOf } from './edited-text.ts'
import { cellsOf, type Layout, type Place } from './layout.ts'

const eraseBelow = '\x1b[J'

/** The last rows of a screen, which change in place. Only changed parts are written, so that nothing flickers. */
export class DrawnRows {
  readonly #screen: Writable
  /** Whether the terminal can move its cursor. If not, changed rows are written again below. */
  readonly #canMove: boolean
  #rows: readonly string[] = []
  #cursor: Place = { row: 0, column: 0 }

  constructor(screen: Writable, canMove: boolean) {
    this.#screen = screen
    this.#canMove = canMove
  }

  draw({ rows, cursor }: Layout): void {
    if (rows.length === 0) this.erase()
    else if (this.#canMove) this.#change(rows, cursor)
    else this.#append(rows)
  }

  #change(rows: readonly string[], cursor: Place): void {
    const last = Math.min(this.#rows.length, rows.length) - 1
    const differs = rows.findIndex((row, at) => row !== this.#rows[at])
    const isSame = differs < 0 && rows.length === this.#rows.length
    let text = ''
    if (!isSame) {
      const first = Math.max(0, differs < 0 ? last : Math.min(differs, last))
      const [old = '', row = ''] = [this.#rows[first], rows[first]]
      const kept = commonStart(old, row)
      text += this.#moveTo({ row: first, column: cellsOf(kept) })
      if (old.length > kept.length || this.#rows.length > first + 1) text += eraseBelow
      text += [row.slice(kept.length), ...rows.slice(first + 1)].join('\r\n')
      this.#cursor = { row: rows.length - 1, column: cellsOf(rows.at(-1) ?? '') }
      this.#rows = rows
    }
    text += this.#moveTo(cursor)
    if (text !== '') this.#screen.write(text)
  }

  /** Removes the rows from the screen. */
  erase(): void {
    if (this.#rows.length === 0) return
    this.#screen.write(this.#canMove ? `${this.#moveTo({ row: 0, column: 0 })}${eraseBelow}` : '\r\n')
    this.#rows = []
    this.#cursor = { row: 0, column: 0 }
  }

  /** Leaves the rows on the screen, with the cursor on the line after them. */
  finish(): void {
    const row = Math.max(0, this.#rows.length - 1)
    this.#screen.write(`${this.#canMove ? this.#moveTo({ row, column: cellsOf(this.#rows[row] ?? '') }) : ''}\r\n`)
    this.#rows = []
    this.#cursor = { row: 0, column: 0 }
  }

  /** Adjusts to a narrower screen, which has wrapped the rows into more rows. */
  resized(columns: number): void {
    const broken = (cells: number) => Math.floor(Math.max(0, cells - 1) / columns)
    const above = this.#rows.slice(0, this.#cursor.row).reduce((rows, row) => rows + broken(cellsOf(row)), 0)
    this.#cursor = { row: this.#cursor.row + above + Math.floor(this.#cursor.column / columns), column: this.#cursor.column % columns }
  }

  #moveTo({ row, column }: Place): string {
    const down = row - this.#cursor.row
    const vertical = down === 0 ? '' : `\x1b[${Math.abs(down)}${down < 0 ? 'A' : 'B'}`
    const horizontal = column === this.#cursor.column ? '' : column === 0 ? '\r' : `\x1b[${column + 1}G`
    this.#cursor = { row, column }
    return `${vertical}${horizontal}`
  }

  #append(rows: readonly string[]): void {
    const [before, now] = [this.#rows.join('\r\n'), rows.join('\r\n')]
    if (before !== now) this.#screen.write(now.startsWith(before) ? now.slice(before.length) : `\r\n${now}`)
    this.#rows = rows
  }
}

/** Returns the common prefix of two rows. If a row contains colors, the prefix is empty unless text was only appended. */
function commonStart(old: string, row: string): string {
  if (row.startsWith(old) && /[\x20-\x7em]$/.test(old)) return old
  if (old.includes('\x1b') || row.includes('\x1b')) return ''
  const before = charactersOf(old)
  const now = charactersOf(row)
  const differs = now.findIndex((character, at) => character !== before[at])
  return differs < 0 ? row : now.slice(0, differs).join('')
}
