import { stripVTControlCharacters } from 'node:util'
import { visible } from '../../../core/text/visible.ts'
import { charactersOf } from './edited-text.ts'

const plain = /^[\x20-\x7e]*$/
const noWidth = /^[\p{Mn}\p{Me}\p{Cf}]+$/u
/** Matches wide and full-width characters and emoji: https://www.unicode.org/reports/tr11 */
const wide =
  /^[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{20000}-\u{3FFFD}]|^\p{Emoji_Presentation}|\uFE0F/u
const tab = '    '

/** Returns the number of cells that a text takes on the screen. Colors take no cells. */
export function cellsOf(text: string): number {
  if (plain.test(text)) return text.length
  const shown = stripVTControlCharacters(text)
  if (plain.test(shown)) return shown.length
  let cells = 0
  for (const character of charactersOf(shown)) cells += widthOf(character)
  return cells
}

function widthOf(character: string): number {
  if (noWidth.test(character)) return 0
  return wide.test(character) ? 2 : 1
}

export interface Place {
  row: number
  column: number
}

/** A text as rows on the screen, and the cursor's position in them. */
export interface Layout {
  rows: string[]
  cursor: Place
}

/** A cache of the rows of each line, for one width. */
export type KnownRows = Map<string, readonly string[]>

/**
 * Lays out `text` in rows of up to `columns` cells. The first row follows `prompt`. If the prompt is short, the other rows are indented to
 * its width. Makes invisible characters visible. `known` caches the rows of each line, so that only the changed line of a long text is laid
 * out again.
 */
export function layOut(text: string, at: number, prompt: string, columns: number, known: KnownRows = new Map()): Layout {
  const promptCells = cellsOf(prompt)
  const indent = promptCells <= 4 ? ' '.repeat(promptCells) : ''
  const rows: string[] = []
  let cursor: Place | undefined
  let from = 0
  const before = new Map(known)
  known.clear()
  for (const line of text.split('\n')) {
    const cursorIn = at >= from && at <= from + line.length ? at - from : -1
    const isKnown = from > 0 && cursorIn < 0
    const found = isKnown ? before.get(line) : undefined
    const laidOut = found === undefined ? layOutLine(line, cursorIn, from === 0 ? prompt : indent, indent, columns) : { rows: found }
    if (isKnown) known.set(line, laidOut.rows)
    if (laidOut.cursor !== undefined) cursor = { row: rows.length + laidOut.cursor.row, column: laidOut.cursor.column }
    for (const row of laidOut.rows) rows.push(row)
    from += line.length + 1
  }
  return { rows, cursor: cursor ?? { row: rows.length - 1, column: cellsOf(rows.at(-1) ?? '') } }
}

function layOutLine(
  line: string,
  cursorIn: number,
  begin: string,
  indent: string,
  columns: number,
): { rows: readonly string[]; cursor?: Place | undefined } {
  const rows: string[] = []
  let cursor: Place | undefined
  let row = begin
  let cells = cellsOf(begin)
  let read = 0
  for (const character of plain.test(line) ? line : charactersOf(line)) {
    if (read === cursorIn) cursor = { row: rows.length, column: cells }
    const shown = character === '\t' ? tab : visible(character)
    const width = shown === character ? widthOf(character) : cellsOf(shown)
    if (cells + width > columns && cells > indent.length) {
      rows.push(row)
      row = indent
      cells = indent.length
      if (read === cursorIn) cursor = { row: rows.length, column: cells }
    }
    row += shown
    cells += width
    read += character.length
  }
  if (read === cursorIn) cursor = { row: rows.length, column: cells }
  return { rows: [...rows, row], cursor }
}

/** Returns at most `most` rows, including the row of the cursor. */
export function withinRows({ rows, cursor }: Layout, most: number): Layout {
  if (rows.length <= most) return { rows, cursor }
  const first = Math.min(Math.max(0, cursor.row - most + 1), rows.length - most)
  return { rows: rows.slice(first, first + most), cursor: { row: cursor.row - first, column: cursor.column } }
}
