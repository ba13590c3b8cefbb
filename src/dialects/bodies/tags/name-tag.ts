import { setField } from '../../../core/messages.ts'
import type { CallReading, Reading, Wait } from '../../dialect.ts'
import { MarkerSet, markerSet } from '../../reader/markers.ts'
import { Match, Until } from '../../reader/waits.ts'
import { readTypedValue } from '../../typed-values.ts'
import { cutReason } from '../cut.ts'
import { finishCall } from '../json/json-calls.ts'
import { decodeEntities } from './entities.ts'

const longestName = 128
/** Maximum length of a value, in characters, if words precede the call on its line: the tags may be part of the sentence. */
const longestInProse = 4096
const longestValue = 2 ** 18
const tagStart = markerSet(['<'])
const tagEnd = markerSet(['>', '<', '\n'])

/**
 * Reads `<TOOL><PARAMETER>value</PARAMETER></TOOL>`. The first tag, which is the name of a declared tool, has been read. The element is a
 * call only if it is closed and contains nothing but parameters that the tool declares.
 */
export function* readNameTag(reading: CallReading): Reading {
  const { cursor, tools } = reading
  const name = reading.opener.slice(1, -1)
  const args: Record<string, unknown> = {}
  for (;;) {
    const start = new Match(tagStart)
    if (!start.feed(cursor)) yield start
    if (start.matched === undefined) return 'text'
    const tag = new Until(tagEnd, longestName)
    if (!tag.feed(cursor)) yield tag
    if (tag.marker === '>' && tag.text === `/${name}`) break
    const property = tag.marker === '>' ? tools.property(name, tag.text) : undefined
    if (property === undefined) {
      // The tag may start another call, so it is read again.
      cursor.unread(`<${tag.text}${tag.marker ?? ''}`)
      return 'text'
    }
    const value = yield* readValue(reading, tag.text)
    if (value === 'no call') return 'text'
    if (value === undefined) {
      reading.reject(reading.cut ? cutReason : `Expected </${tag.text}> and </${name}> after the value of ${tag.text}`)
      return 'done'
    }
    setField(args, tag.text, readTypedValue(decodeEntities(value.text), property))
  }
  reading.call(finishCall(name, args, []))
  return 'done'
}

/**
 * Reads a value, which may contain any tag. The value's closing tag counts only if another tag follows. Undefined if the call is
 * incomplete.
 */
function* readValue({ cursor, tools, alone }: CallReading, parameter: string): Generator<Wait, { text: string } | 'no call' | undefined> {
  const closing = `</${parameter}>`
  const stops = new MarkerSet(alone ? [closing] : [closing, ...tools.names.map((name) => `<${name}>`)])
  const longest = alone ? longestValue : longestInProse
  let text = ''
  for (;;) {
    const until = new Until(stops, Math.max(longest - text.length, 0))
    if (!until.feed(cursor)) yield until
    text += until.text
    if (until.marker !== closing) {
      // A real call may follow, so the text is read again.
      if (!alone) cursor.unread(text + (until.marker ?? ''))
      return alone && text.length <= longest ? undefined : 'no call'
    }
    const next = new Match(tagStart)
    if (!next.feed(cursor)) yield next
    if (next.matched !== undefined) {
      cursor.unread(`${next.blanks}<`)
      return { text: text.replace(/^\r?\n|\r?\n$/g, '') }
    }
    if (cursor.atEnd) return undefined
    text += closing
  }
}
