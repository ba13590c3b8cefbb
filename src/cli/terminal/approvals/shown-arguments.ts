import { isJsonObject, type Json } from '../../../core/messages.ts'
import { type DiffLine, diffLines } from '../../../core/text/line-diff.ts'
import type { TextEdit } from '../../../core/text/text-edits.ts'
import { visible } from '../../../core/text/visible.ts'
import { wrap } from '../rows.ts'

/**
 * The marks at the start of a row. `lineBar` marks each line of a text with several lines. `restBar` marks the continuation of a line that
 * is longer than a row.
 */
const lineBar = '│'
const restBar = '┊'
const shownTab = '⇥   '

/**
 * Formats JSON in indented rows of up to `columns` cells. If a text has several lines, each line is shown in its own row after a bar. A bar
 * character inside a text is shown as its code, so that no value can imitate these rows.
 */
export function rowsOf(value: Json, columns: number): string[] {
  return [...rowsIn(value, '', '', '', columns)]
}

function* rowsIn(value: Json, indent: string, before: string, behind: string, columns: number): Iterable<string> {
  const row = (text: string, mark = '') => wrap(`${indent}${unlikeBars(visible(text))}${mark}`, columns)
  if (typeof value === 'string' && value.includes('\n')) {
    const lines = value.split('\n')
    yield* row(before, `‹${lines.length} lines›`)
    for (const line of lines) yield* barred(line, columns)
  } else if (Array.isArray(value) && value.length > 0) {
    yield* row(`${before}[`)
    for (const [at, item] of value.entries()) yield* rowsIn(item, `${indent}  `, '', at < value.length - 1 ? ',' : '', columns)
    yield* row(`]${behind}`)
  } else if (isJsonObject(value) && Object.keys(value).length > 0) {
    yield* row(`${before}{`)
    const fields = Object.entries(value)
    for (const [at, [key, item]] of fields.entries()) {
      yield* rowsIn(item, `${indent}  `, `${JSON.stringify(key)}: `, at < fields.length - 1 ? ',' : '', columns)
    }
    yield* row(`}${behind}`)
  } else yield* row(`${before}${asJson(value)}${behind}`)
}

/** Formats a changed text as the rows of a diff, up to `columns` cells wide. The diff contains every line of both texts. */
export function diffRowsOf({ before, after }: TextEdit, columns: number): DiffLine[] {
  // Leaves room for the diff mark and `restBar`.
  const width = Math.max(1, columns - 3)
  return diffLines(before.split('\n'), after.split('\n')).flatMap(({ kind, text }) =>
    wrap(shownLine(text), width).map((row, at) => ({ kind, text: at === 0 ? row : `${restBar}${row}` })),
  )
}

function* barred(line: string, columns: number): Iterable<string> {
  for (const [at, row] of wrap(shownLine(line), Math.max(1, columns - 1)).entries()) yield `${at === 0 ? lineBar : restBar}${row}`
}

function shownLine(line: string): string {
  return line
    .split('\t')
    .map((part) => unlikeBars(visible(part)))
    .join(shownTab)
}

function unlikeBars(text: string): string {
  return text.replace(/[│┊⇥]/g, (found) => `‹U+${found.charCodeAt(0).toString(16).toUpperCase()}›`)
}

/**
 * Formats JSON on one line. A number that JSON can't represent is shown unchanged; `JSON.stringify` would replace it by `null` or another
 * number.
 */
export function asJson(value: Json): string {
  const asItIs = (_key: string, item: unknown) =>
    typeof item === 'number' && (!Number.isFinite(item) || Object.is(item, -0)) ? `‹${Object.is(item, -0) ? '-0' : item}›` : item
  return JSON.stringify(value, asItIs)
}
