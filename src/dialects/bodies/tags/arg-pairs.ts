import { setField } from '../../../core/messages.ts'
import type { CallReading, Reading, Wait } from '../../dialect.ts'
import { markerSet } from '../../reader/markers.ts'
import { Match, Until } from '../../reader/waits.ts'
import { readTypedValue } from '../../typed-values.ts'
import { cutReason } from '../cut.ts'
import { finishCall, nameRepairs } from '../json/json-calls.ts'
import { blankGap, form, nameGap, Usual } from '../usual.ts'

const key = '<arg_key>'
const keyEnd = '</arg_key>'
const value = '<arg_value>'
const valueEnd = '</arg_value>'
const close = '</tool_call>'
const usualKey = form`${nameGap}</arg_key>${blankGap}<arg_value>`
const keyStops = markerSet([keyEnd, value, close])
const valueTag = markerSet([value])
const valueStops = markerSet([valueEnd, key, keyEnd, close, '<tool_call>'])
const pairEnds = markerSet([key, close])

/** Reads `<arg_key>…</arg_key><arg_value>…</arg_value>` pairs up to `</tool_call>`; the first `<arg_key>` has been read. */
export function* readArgPairs(reading: CallReading, written: string): Reading {
  const { cursor, tools } = reading
  const name = tools.resolve(written) ?? written
  const repairs = nameRepairs(written, name)
  const args: Record<string, unknown> = {}
  const giveUp = (): 'done' => {
    reading.reject(reading.cut ? cutReason : 'The call could not be read: expected <arg_key> and <arg_value> pairs and a closing tag')
    return 'done'
  }
  for (;;) {
    const usual = new Usual(usualKey)
    if (!usual.feed(cursor)) yield usual
    const argument = usual.fits ? usual.name : yield* readKey(reading)
    if (argument === undefined) return giveUp()
    const read = yield* readValue(reading)
    setField(args, argument, readTypedValue(read.text, tools.property(name, argument)))
    if (!read.clean) repairs.push('closing tag of a value missing')
    if (read.end === 'open') return giveUp()
    if (read.end === 'close') break
    if (read.end === 'text') {
      // At the end of the text every pair is whole; only the last tag is missing.
      if (reading.cut) return giveUp()
      repairs.push('closing tag missing')
      break
    }
  }
  reading.call(finishCall(name, args, repairs))
  return 'done'
}

/** Reads the name of an argument, up to its value. */
function* readKey(reading: CallReading): Generator<Wait, string | undefined> {
  const name = new Until(keyStops)
  if (!name.feed(reading.cursor)) yield name
  if (name.marker === keyEnd) {
    const match = new Match(valueTag)
    if (!match.feed(reading.cursor)) yield match
    if (match.matched === undefined) return undefined
  } else if (name.marker !== value) return undefined
  return name.text.trim()
}

interface ReadValue {
  text: string
  clean: boolean
  /** What was read behind the value: the next `<arg_key>`, the call's end, the end of the text, or nothing, since the value has no end. */
  end: 'key' | 'close' | 'text' | 'open'
}

/**
 * A value may hold any tag: its own end counts if a key or the call's end follows. Another tag ends it if what comes next shows that
 * the value's own end was left out.
 */
function* readValue(reading: CallReading): Generator<Wait, ReadValue> {
  const { cursor } = reading
  let text = ''
  let early: { text: string; marker: string } | undefined
  for (;;) {
    const until = new Until(valueStops)
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
      const after = new Match(pairEnds)
      if (!after.feed(cursor)) yield after
      if (after.matched !== undefined) return { text, clean: true, end: after.matched === key ? 'key' : 'close' }
      if (cursor.atEnd) return { text, clean: true, end: 'text' }
    }
    early = marker === key || marker === close ? { text, marker } : undefined
    text += marker
  }
}
