import { setField } from '../../../core/messages.ts'
import type { CallReading, Reading, Wait } from '../../dialect.ts'
import { markerSet, onceForEach } from '../../reader/markers.ts'
import { Match, Until } from '../../reader/waits.ts'
import { readTypedValue } from '../../typed-values.ts'
import { cutReason } from '../cut.ts'
import { finishCall, nameRepairs } from '../json/json-calls.ts'

/** The tags of a call that is written as pairs of keys and values. */
export interface PairTags {
  readonly key: string
  /** Closing tag of a key. Default: the opening tag of the value ends the key. */
  readonly keyEnd?: string
  readonly value: string
  readonly valueEnd: string
  readonly open: string
  readonly close: string
  /** A tag that may separate the call's name from its first key. */
  readonly behindName?: string
}

/** GLM's tags. */
export const argPairs: PairTags = {
  key: '<arg_key>',
  keyEnd: '</arg_key>',
  value: '<arg_value>',
  valueEnd: '</arg_value>',
  open: '<tool_call>',
  close: '</tool_call>',
}

const keyStops = onceForEach((tags: PairTags) => markerSet([...(tags.keyEnd === undefined ? [] : [tags.keyEnd]), tags.value, tags.close]))
const valueTag = onceForEach((tags: PairTags) => markerSet([tags.value]))
const valueStops = onceForEach(({ key, value, keyEnd = value, valueEnd, open, close }: PairTags) =>
  markerSet([valueEnd, key, keyEnd, close, open]),
)
const pairEnds = onceForEach(({ key, close }: PairTags) => markerSet([key, close]))

/** Reads `<arg_key>…</arg_key><arg_value>…</arg_value>` pairs up to the call's end. The first key's tag has been read. */
export function* readArgPairs(reading: CallReading, written: string, pairTags: PairTags = argPairs): Reading {
  const { tools } = reading
  const name = tools.resolve(written) ?? written
  const repairs = nameRepairs(written, name)
  const args: Record<string, unknown> = {}
  const giveUp = (): 'done' => {
    reading.reject(
      reading.cut ? cutReason : `The call could not be read: expected ${pairTags.key} and ${pairTags.value} pairs and a closing tag`,
    )
    return 'done'
  }
  for (;;) {
    const argument = yield* readKey(reading, pairTags)
    if (argument === undefined) return giveUp()
    const read = yield* readValue(reading, pairTags)
    setField(args, argument, readTypedValue(read.text, tools.property(name, argument)))
    if (!read.clean) repairs.push('closing tag of a value missing')
    if (read.end === 'open') return giveUp()
    if (read.end === 'close') break
    if (read.end === 'text') {
      // Every pair is complete here, and only the call's closing tag is missing.
      if (reading.cut) return giveUp()
      repairs.push('closing tag missing')
      break
    }
  }
  reading.call(finishCall(name, args, repairs))
  return 'done'
}

/** Reads the name of an argument, up to its value. */
function* readKey(reading: CallReading, pairTags: PairTags): Generator<Wait, string | undefined> {
  const name = new Until(keyStops(pairTags))
  if (!name.feed(reading.cursor)) yield name
  if (name.marker !== undefined && name.marker === pairTags.keyEnd) {
    const match = new Match(valueTag(pairTags))
    if (!match.feed(reading.cursor)) yield match
    if (match.matched === undefined) return undefined
  } else if (name.marker !== pairTags.value) return undefined
  return name.text.trim()
}

interface ReadValue {
  text: string
  clean: boolean
  /** What follows the value: the next key, the call's closing tag, or the end of the text. `'open'`: the end of the value was not found. */
  end: 'key' | 'close' | 'text' | 'open'
}

/**
 * Reads a value, which may contain any tag. The value's closing tag counts only if a key or the call's end follows. If the closing tag is
 * missing, the next key or the call's closing tag ends the value.
 */
function* readValue({ cursor }: CallReading, pairTags: PairTags): Generator<Wait, ReadValue> {
  const { key, value, keyEnd = value, valueEnd, close } = pairTags
  let text = ''
  let early: { text: string; marker: string } | undefined
  for (;;) {
    const until = new Until(valueStops(pairTags))
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
      const after = new Match(pairEnds(pairTags))
      if (!after.feed(cursor)) yield after
      if (after.matched !== undefined) return { text, clean: true, end: after.matched === key ? 'key' : 'close' }
      if (cursor.atEnd) return { text, clean: true, end: 'text' }
    }
    early = marker === key || marker === close ? { text, marker } : undefined
    text += marker
  }
}
