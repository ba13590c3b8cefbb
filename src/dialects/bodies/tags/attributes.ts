import { setField } from '../../../core/messages.ts'
import type { CallReading, Wait } from '../../dialect.ts'
import { markerSet } from '../../reader/markers.ts'
import { Match, Peek, Until } from '../../reader/waits.ts'
import { decodeEntities } from './entities.ts'

export interface Attributes {
  values: Record<string, string>
  /** Whether the tag ends with `/>`. */
  empty: boolean
  repairs: string[]
}

const longestName = 256
const nameEnds = markerSet(['=', '/', '>', '<', '"', "'"])
const unquotedEnds = markerSet([' ', '\n', '\t', '/', '>', '<', '"'])
const tagEnds = markerSet(['/>', '>'])
const quoteMarks = markerSet(['"', "'"])
const closingQuotes = { '"': markerSet(['"']), "'": markerSet(["'"]) }

/** Reads a tag's attributes, from the end of its name to its `>` or `/>`. Undefined if other text follows. */
export function* readAttributes(reading: CallReading): Generator<Wait, Attributes | undefined> {
  const { cursor } = reading
  const values: Record<string, string> = {}
  const repairs: string[] = []
  for (;;) {
    const end = new Match(tagEnds)
    if (!end.feed(cursor)) yield end
    if (end.matched !== undefined) return { values, empty: end.matched === '/>', repairs }
    if (end.partial !== '') return undefined
    const name = new Until(nameEnds, longestName)
    if (!name.feed(cursor)) yield name
    const key = name.text.trim()
    if (name.marker !== '=' || key === '' || /\s/.test(key)) {
      if (name.marker !== undefined) cursor.unread(name.marker)
      return undefined
    }
    const quote = new Match(quoteMarks)
    if (!quote.feed(cursor)) yield quote
    const value = quote.matched === undefined ? yield* readUnquoted(reading) : yield* readQuoted(reading, quote.matched, repairs)
    if (value === undefined) return undefined
    setField(values, key, decodeEntities(value))
  }
}

function* readUnquoted(reading: CallReading): Generator<Wait, string | undefined> {
  const value = new Until(unquotedEnds, longestName)
  if (!value.feed(reading.cursor)) yield value
  const { marker } = value
  if (marker !== undefined) reading.cursor.unread(marker)
  return marker === undefined || marker === '<' || marker === '"' || value.text === '' ? undefined : value.text
}

/**
 * Reads a quoted value after its opening quote. Models don't escape quotes inside values. Therefore a quote ends the value only if the
 * tag's end or another attribute follows. In `value="test"" />`, the extra quote at the end is dropped.
 */
function* readQuoted(reading: CallReading, quote: string, repairs: string[]): Generator<Wait, string | undefined> {
  const { cursor } = reading
  const quotes = quote === '"' ? closingQuotes['"'] : closingQuotes["'"]
  let value = ''
  let inner = 0
  for (;;) {
    const until = new Until(quotes)
    if (!until.feed(cursor)) yield until
    if (until.marker === undefined) return undefined
    value += until.text
    if (yield* standsAtValueEnd(reading)) break
    const doubled = new Match(quotes, false)
    if (!doubled.feed(cursor)) yield doubled
    if (doubled.matched !== undefined) {
      if (yield* standsAtValueEnd(reading)) {
        if (inner % 2 === 1) {
          value += quote
          inner++
        } else repairs.push('doubled quote')
        break
      }
      cursor.unread(quote)
    }
    value += quote
    inner++
  }
  if (inner > 0) repairs.push('unescaped quotes')
  return value
}

/** Whether the end of the tag, or another attribute, is at the cursor. Does not move the cursor. */
function* standsAtValueEnd(reading: CallReading): Generator<Wait, boolean> {
  const { cursor } = reading
  const end = new Peek(tagEnds)
  if (!end.feed(cursor)) yield end
  if (end.matched !== undefined) return true
  const name = new Until(nameEnds, 64)
  if (!name.feed(cursor)) yield name
  let read = name.text + (name.marker ?? '')
  let ends = false
  if (name.marker === '=' && /^\s+[\p{L}_][\p{L}\p{N}_.:-]*\s*$/u.test(name.text)) {
    const quote = new Match(quoteMarks)
    if (!quote.feed(cursor)) yield quote
    ends = quote.matched !== undefined
    if (quote.matched !== undefined) read += quote.blanks + quote.matched
  }
  cursor.unread(read)
  return ends
}
