import { setOwn } from '../declared-tools.ts'
import type { CallReading, Reading, Wait } from '../dialect.ts'
import { MarkerSet, markerSet } from '../markers.ts'
import { readTypedValue } from '../typed-values.ts'
import { Match, Until } from '../waits.ts'
import { cutReason } from './cut.ts'
import { decodeEntities } from './entities.ts'
import { finishCall } from './json-calls.ts'

const longestName = 128
const tagStart = markerSet(['<'])
const tagEnd = markerSet(['>', '<', '\n'])

/**
 * Reads `<TOOL><PARAMETER>value</PARAMETER></TOOL>`, of which the first tag, a declared tool's name, has been read. It is a call only if it
 * is closed and holds nothing but parameters that the tool has.
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
      // Another call may begin here.
      cursor.unread(`<${tag.text}${tag.marker ?? ''}`)
      return 'text'
    }
    const value = yield* readValue(reading, tag.text)
    if (value === undefined) {
      reading.reject(reading.cut ? cutReason : `Expected </${tag.text}> and </${name}> behind the value of ${tag.text}`)
      return 'done'
    }
    setOwn(args, tag.text, readTypedValue(decodeEntities(value), property))
  }
  reading.call(finishCall(name, args, []))
  return 'done'
}

/** A value may hold any tag, its own closing tag included: that counts only if another tag, or the call's end, comes behind it. */
function* readValue({ cursor }: CallReading, parameter: string): Generator<Wait, string | undefined> {
  const closing = new MarkerSet([`</${parameter}>`])
  let text = ''
  for (;;) {
    const until = new Until(closing)
    if (!until.feed(cursor)) yield until
    if (until.marker === undefined) return undefined
    text += until.text
    const next = new Match(tagStart)
    if (!next.feed(cursor)) yield next
    if (next.matched !== undefined) {
      cursor.unread(`${next.blanks}<`)
      return text.replace(/^\r?\n|\r?\n$/g, '')
    }
    if (cursor.atEnd) return undefined
    text += `</${parameter}>`
  }
}
