import { headOf } from '../../tools/result-text.ts'
import { foundText, partText } from '../run-texts.ts'

/** The part of a text to read. Characters are UTF-16 code units, counted from 0. Lines are counted from 1. */
export interface TextRange {
  offset?: number
  line?: number
  /** Maximum number of characters. */
  length?: number
  /** Maximum number of lines. */
  lines?: number
}

/** How many characters a search shows before and after each match. */
const around = 160
const mostShown = 10
/** A search stops counting at this number of matches. */
const mostCounted = 1_000
/** Bytes reserved for numbers: later positions in a text have more digits. */
const numberSlack = 16

/**
 * Returns a part of the text, with its position and an instruction for reading the rest. The part has at most `partBytes` bytes (UTF-8),
 * but at least one character, so that the model always makes progress. The returned text has at most `maxBytes` bytes in total.
 */
export function readPart(text: string, range: TextRange, partBytes: number, maxBytes: number = Number.POSITIVE_INFINITY): string {
  const from = startOf(text, range)
  const { length = text.length, lines = Number.POSITIVE_INFINITY } = range
  const place = { from, line: lineOf(text, from), of: text.length, lines: lineOf(text, text.length) }
  // The text around a part contains the number of remaining characters, so this surrounding text is longest for the shortest part.
  const frameBytes = Buffer.byteLength(partText({ ...place, part: ' ' }))
  const room = Math.max(4, Math.min(partBytes, maxBytes - frameBytes - numberSlack))
  const part = headOf(text.slice(from, wholeEnd(text, Math.min(from + length, lineStart(text, lines + 1, from)))), room)
  return partText({ ...place, part })
}

/**
 * Returns the places where the text contains `wanted`, ignoring case, each with the text around it. The result has at most `maxBytes`
 * bytes, but always shows the first match.
 */
export function searchText(text: string, wanted: string, range: TextRange, maxBytes: number): string {
  const from = startOf(text, range)
  const pattern = new RegExp(wanted.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'), 'gi')
  const shown: string[] = []
  let isFull = false
  let count = 0
  let bytes = Buffer.byteLength(foundText({ wanted, from, count: mostCounted, mostCounted, shown, next: text.length, of: text.length }))
  let next = from
  let line = { at: 0, number: 1 }
  pattern.lastIndex = from
  for (let match = pattern.exec(text); match !== null && count <= mostCounted; match = pattern.exec(text)) {
    const { index } = match
    count++
    // Skips a match that is visible in the text around another match.
    if (isFull || index < next) continue
    const end = Math.min(text.length, index + match[0].length + around)
    const found = text.slice(Math.max(next, index - around), end).toWellFormed()
    line = { at: index, number: line.number + lineOf(text.slice(line.at, index), index) - 1 }
    const told = `Line ${line.number}, character ${index}:\n${found}`
    bytes += Buffer.byteLength(told) + 2
    isFull = shown.length > 0 && (shown.length >= mostShown || bytes > maxBytes)
    if (isFull) continue
    shown.push(told)
    next = end
  }
  return foundText({ wanted, from, count, mostCounted, shown, ...(isFull ? { next } : {}), of: text.length })
}

function startOf(text: string, { offset, line = 1 }: TextRange): number {
  return offset === undefined ? lineStart(text, line, 0) : Math.min(offset, text.length)
}

/** Moves an end position that would split a surrogate pair. */
function wholeEnd(text: string, end: number): number {
  const next = text.charCodeAt(end)
  return next >= 0xdc00 && next <= 0xdfff ? end + 1 : end
}

/** The position of the n-th line, counted from `at`, or the end of the text if there are fewer lines. */
function lineStart(text: string, line: number, at: number): number {
  let start = at
  for (let n = 1; n < line; n++) {
    const end = text.indexOf('\n', start)
    if (end === -1) return text.length
    start = end + 1
  }
  return start
}

/** The number of the line that contains this position. */
function lineOf(text: string, position: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at !== -1 && at < position; at = text.indexOf('\n', at + 1)) line++
  return line
}
