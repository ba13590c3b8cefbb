import { cellsOf } from '../editor/layout.ts'
import type { Style } from '../style.ts'
import { readInline, type Span } from './inline.ts'

/** Whether a line may belong to a table. */
export function looksLikeTable(line: string): boolean {
  return /^\s*\|/.test(line)
}

const delimiter = /^\s*(?:\|\s*)?:?-+:?\s*(?:\|\s*:?-+:?\s*)*(?:\|\s*)?$/

/**
 * Lays out a table in columns that are as wide as their widest cell. Returns undefined if the lines are not a table, or if the table does
 * not fit.
 */
export function layOutTable(lines: readonly string[], columns: number): Span[][] | undefined {
  const [head = '', rule = '', ...body] = lines
  if (!delimiter.test(rule)) return undefined
  const alignments = cellsIn(rule).map((cell) => (cell.endsWith(':') ? (cell.startsWith(':') ? 'center' : 'right') : 'left'))
  // Even an empty column takes one character, and its separator three.
  if (alignments.length * 4 - 1 > columns) return undefined
  const rows = [head, ...body].map((line, at) => cellsIn(line).map((cell) => readInline(cell, '', true, at === 0 ? ['bold'] : []).spans))
  const widths = alignments.map((_, column) => rows.reduce((most, row) => Math.max(most, widthOf(row[column] ?? [])), 1))
  if (widths.reduce((sum, width) => sum + width + 3, -1) > columns) return undefined
  const shown = rows.map((row) =>
    widths.flatMap((width, column) => [
      ...(column === 0 ? [] : [dim(' │ ')]),
      ...padded(row[column] ?? [], width, alignments[column] ?? 'left'),
    ]),
  )
  const line = [dim(widths.map((width) => '─'.repeat(width)).join('─┼─'))]
  return [...shown.slice(0, 1), line, ...shown.slice(1)]
}

function cellsIn(line: string): string[] {
  const inside = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '')
  return inside.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'))
}

function widthOf(spans: readonly Span[]): number {
  return spans.reduce((sum, { text }) => sum + cellsOf(text), 0)
}

function padded(spans: readonly Span[], width: number, alignment: string): Span[] {
  const room = Math.max(0, width - widthOf(spans))
  const left = alignment === 'right' ? room : alignment === 'center' ? Math.floor(room / 2) : 0
  const space = (count: number): Span[] => (count === 0 ? [] : [{ text: ' '.repeat(count), styles: [] }])
  return [...space(left), ...spans, ...space(room - left)]
}

function dim(text: string): Span {
  const styles: Style[] = ['dim']
  return { text, styles }
}
