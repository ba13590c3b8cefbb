import { setOwn } from '../declared-tools.ts'
import type { CallReading, Reading } from '../dialect.ts'
import { type MarkerSet, markerSet } from '../markers.ts'
import { readTypedValue } from '../typed-values.ts'
import { Match, Peek, Until } from '../waits.ts'
import { cutReason } from './cut.ts'
import { finishCall } from './json-calls.ts'

const key = '<arg_key>'
const keyEnd = '</arg_key>'
const value = '<arg_value>'
const valueTag = markerSet([value])
const valueEnd = '</arg_value>'

/** Reads `<arg_key>…</arg_key><arg_value>…</arg_value>` pairs up to `close`; the first `<arg_key>` has been read. */
export function* readArgPairs(reading: CallReading, written: string, close: string): Reading {
  const { cursor, tools } = reading
  const name = tools.resolve(written) ?? written
  const repairs: string[] = name === written ? [] : [`tool name read from "${written}"`]
  const args: Record<string, unknown> = {}
  const keyStops = markerSet([keyEnd, value, close])
  const pairEnds = markerSet([key, close])
  const valueStops = markerSet([valueEnd, key, keyEnd, close, reading.opener])
  const giveUp = (): 'done' => {
    reading.reject(reading.cut ? cutReason : 'The call could not be read: expected <arg_key> and <arg_value> pairs and a closing tag')
    return 'done'
  }
  for (;;) {
    const argument = new Until(keyStops)
    if (!argument.feed(cursor)) yield argument
    if (argument.marker === undefined || argument.marker === close) return giveUp()
    if (argument.marker === keyEnd) {
      const match = new Match(valueTag)
      if (!match.feed(cursor)) yield match
      if (match.matched === undefined) return giveUp()
    }
    const read = yield* readValue(reading, close, valueStops)
    const argumentName = argument.text.trim()
    setOwn(args, argumentName, readTypedValue(read.text, tools.property(name, argumentName)))
    if (!read.clean) repairs.push('closing tag of a value missing')
    if (read.end === 'open') return giveUp()
    if (read.end === 'close') break
    if (read.end === 'value') {
      const match = new Match(pairEnds)
      if (!match.feed(cursor)) yield match
      if (match.matched === undefined) {
        // At the end of the text every pair is whole; only the last tag is missing.
        if (!cursor.atEnd || reading.cut) return giveUp()
        repairs.push('closing tag missing')
        break
      }
      if (match.matched === close) break
    }
  }
  reading.call(finishCall(name, args, repairs))
  return 'done'
}

interface ReadValue {
  text: string
  clean: boolean
  /** What was read behind the text: the value's end, the next `<arg_key>`, the call's end, or nothing. */
  end: 'value' | 'key' | 'close' | 'open'
}

/**
 * A value may hold any tag: its own end counts if a key or the call's end follows. Another tag ends it if what comes next shows that
 * the value's own end was left out.
 */
function* readValue(reading: CallReading, close: string, stops: MarkerSet): Generator<Until | Peek, ReadValue> {
  const { cursor } = reading
  let text = ''
  let early: { text: string; marker: string } | undefined
  for (;;) {
    const until = new Until(stops)
    if (!until.feed(cursor)) yield until
    text += until.text
    const { marker } = until
    const real = early?.marker === close ? marker !== valueEnd : marker === keyEnd
    if (early !== undefined && (real || marker === undefined)) {
      cursor.unread(text.slice(early.text.length + early.marker.length) + (marker ?? ''))
      return { text: early.text.trimEnd(), clean: false, end: early.marker === close ? 'close' : 'key' }
    }
    if (marker === undefined) return { text, clean: false, end: 'open' }
    if (marker === valueEnd) {
      const peek = new Peek(markerSet([key, close]))
      if (!peek.feed(cursor)) yield peek
      if (peek.matched !== undefined || cursor.atEnd || peek.partial !== '') return { text, clean: true, end: 'value' }
    }
    early = marker === key || marker === close ? { text, marker } : undefined
    text += marker
  }
}
