import type { CallReading, ReadBody, Reading, Wait } from '../../dialect.ts'
import { markerSet } from '../../reader/markers.ts'
import { Blanks, Match, Until } from '../../reader/waits.ts'
import { cutReason } from '../cut.ts'
import { readJsonValues } from '../json/json-body.ts'
import { finishCall } from '../json/json-calls.ts'
import { ValueFrame } from '../json/value-frame.ts'
import { readPythonCalls } from './python-calls.ts'

const longestName = 128
const bracket = markerSet(['['])
const nameEnds = markerSet(['(', '[', '<', '\n'])

/** Creates a reader for Python calls up to a closing marker. The calls may be in a list, `[f(a=1), g()]`, or follow each other. */
export function pythonBody(close: readonly string[]): ReadBody {
  return (reading) => readPythonBody(reading, close)
}

function* readPythonBody(reading: CallReading, close: readonly string[]): Reading {
  const { cursor, tools } = reading
  const ends = markerSet([...close, ',', ';'])
  const first = new Blanks()
  if (!first.feed(cursor)) yield first
  if (first.next === 123 || (first.next === 91 && (yield* listsObjects(reading)))) return readJsonValues(reading, { close }, [])
  let called = false
  for (;;) {
    const end = new Match(ends)
    if (!end.feed(cursor)) yield end
    if (end.matched !== undefined && close.includes(end.matched)) {
      return called ? 'done' : 'text'
    }
    if (end.matched === ',' || end.matched === ';') continue
    if (end.partial !== '' || cursor.atEnd) return called ? 'done' : 'text'
    const text = yield* frameCalls(reading)
    const read = text === undefined ? undefined : readPythonCalls(text, tools)
    if (!read?.ok) {
      if (read === undefined && !called) return 'text'
      reading.reject(
        reading.cut
          ? cutReason
          : `The call is not valid: ${read?.problem ?? 'expected a call'}. Expected name(argument=value) with python literals.`,
      )
      return 'done'
    }
    const after = new Match(markerSet(close))
    if (!after.feed(cursor)) yield after
    const closed = after.matched !== undefined || (after.partial !== '' && !reading.cut)
    if (!closed && reading.cut && cursor.atEnd) {
      reading.reject(cutReason)
      return 'done'
    }
    const missing = close.length > 0 && !closed && cursor.atEnd
    for (const call of read.calls) {
      reading.call(finishCall(call.name, call.arguments, [...(call.repairs ?? []), ...(missing ? ['closing tag missing'] : [])]))
    }
    called = true
    if (closed) return 'done'
  }
}

/** Whether the list at the cursor contains JSON objects. Does not move the cursor. */
export function* listsObjects(reading: CallReading): Generator<Wait, boolean> {
  const match = new Match(bracket, false)
  if (!match.feed(reading.cursor)) yield match
  const blanks = new Blanks()
  if (!blanks.feed(reading.cursor)) yield blanks
  reading.cursor.unread(`[${blanks.text}`)
  return blanks.next === 123
}

/** Reads the text of a list or of a call. Undefined if neither begins at the cursor. */
function* frameCalls(reading: CallReading): Generator<Wait, string | undefined> {
  const { cursor } = reading
  const blanks = new Blanks()
  if (!blanks.feed(cursor)) yield blanks
  const name = new Until(nameEnds, longestName)
  if (!name.feed(cursor)) yield name
  const begins = name.marker === '[' ? name.text.trim() === '' : name.marker === '(' && /^[\p{L}_][\p{L}\p{N}_.-]*\s*$/u.test(name.text)
  if (!begins || name.marker === undefined) {
    if (name.marker !== undefined) cursor.unread(name.marker)
    return undefined
  }
  cursor.unread(name.marker)
  const frame = new ValueFrame({ python: true })
  if (!frame.feed(cursor)) yield frame
  return name.text + frame.text
}
