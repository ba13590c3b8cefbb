import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import { changedLines, type DiffLine } from '../../core/text/line-diff.ts'
import { editsIn } from '../../core/text/text-edits.ts'
import { visible } from '../../core/text/visible.ts'
import { shorten } from './terminal.ts'

/** The first lines of a call's result or changes, and the number of further lines. */
export interface ResultPreview {
  lines: DiffLine[]
  more: number
}

const mostLines = 2
const mostChanges = 6
const longestText = 40

/**
 * Returns the first two non-empty lines of a result. JSON is folded to one line. For a call that replaces texts, returns the first changed
 * lines.
 */
export function previewOf(args: JsonObject, result: string): ResultPreview {
  const changes = editsIn(args).edits.flatMap(({ before, after }) => changedLines(linesOf(before), linesOf(after)))
  const changed = changes.filter(({ kind }) => kind === 'removed' || kind === 'added')
  if (changed.length > 0) return { lines: changed.slice(0, mostChanges), more: Math.max(0, changed.length - mostChanges) }
  const json = parsedJson(result)
  if (json !== undefined) return { lines: [{ kind: 'same', text: visible(folded(json)) }], more: foldedLines(json) }
  const lines = diffLinesOf(result).filter(({ text }) => text.trim() !== '')
  return { lines: lines.slice(0, mostLines), more: Math.max(0, lines.length - mostLines) }
}

/** Returns the lines of a text. If the text is a diff, its lines are marked as removed or added. */
export function diffLinesOf(text: string): DiffLine[] {
  const isDiff = /^(diff --git |--- |Index: )|^@@ /m.test(text)
  return linesOf(text).map((line) => (isDiff ? diffLineOf(line) : { kind: 'same', text: line }))
}

/** Returns the lines of a text. Invisible characters are made visible. */
export function linesOf(text: string): string[] {
  return text.split('\n').map((line) => visible(line.replaceAll('\t', '    ')))
}

function diffLineOf(text: string): DiffLine {
  if (/^\+(?!\+\+ )/.test(text)) return { kind: 'added', text: text.slice(1) }
  return /^-(?!-- )/.test(text) ? { kind: 'removed', text: text.slice(1) } : { kind: 'same', text }
}

/** Parses a text that is a JSON object or list. Returns undefined for any other text. */
export function parsedJson(text: string): Json | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** Describes an object or list on one line. The contents of nested values are only counted. */
function folded(value: Json): string {
  if (Array.isArray(value)) {
    const more = value.length > 1 ? `, … ${value.length - 1} more` : ''
    return value.length === 0 ? '[]' : `[${isJsonObject(value[0]) ? folded(value[0]) : summary(value[0] ?? null)}${more}]`
  }
  if (!isJsonObject(value)) return summary(value)
  const fields = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}:${summary(item)}`)
  return `{${fields.join(',')}}`
}

function summary(value: Json): string {
  if (Array.isArray(value)) return value.length === 0 ? '[]' : `[… ${value.length}]`
  if (isJsonObject(value)) return Object.keys(value).length === 0 ? '{}' : `{… ${Object.keys(value).length}}`
  return shorten(JSON.stringify(value), longestText)
}

/** Returns the number of lines that folding hides, or 0 if nothing is hidden. */
function foldedLines(value: Json): number {
  return folded(value) === JSON.stringify(value) ? 0 : JSON.stringify(value, null, 2).split('\n').length - 1
}
