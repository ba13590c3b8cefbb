import { closeNamedCall, readNamedArguments } from '../bodies/json/named-json.ts'
import type { CallReading, Envelope, Reading } from '../dialect.ts'
import { markerSet } from '../reader/markers.ts'
import { Blanks, Until } from '../reader/waits.ts'

const recipient = /(?:^|\s|>)to=functions\.([\w.-]+)/
const message = '<|message|>'
const stops = markerSet([message, '{', '<|end|>', '<|return|>', '<|call|>'])

/**
 * Reads `<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{…}<|call|>`. The recipient may also precede the channel, and
 * some of the special tokens may be missing. https://cookbook.openai.com/articles/openai-harmony
 */
export const harmonyEnvelopes: readonly Envelope[] = [
  { open: ['<|channel|>', '<|start|>assistant'], close: ['<|call|>'], read: readHeader },
  ...['', 'commentary ', 'analysis ', 'assistant '].map(
    (lead): Envelope => ({ open: [`${lead}to=functions.`], close: ['<|call|>'], read: readHeader, lineStart: true }),
  ),
]

function* readHeader(reading: CallReading): Reading {
  const { cursor } = reading
  const head = new Until(stops, 256)
  if (!head.feed(cursor)) yield head
  const name = recipient.exec(reading.opener + head.text)?.[1]
  if (head.marker !== undefined && head.marker !== message) cursor.unread(head.marker)
  if (name === undefined || (head.marker !== message && head.marker !== '{')) return 'text'
  const blanks = new Blanks()
  if (!blanks.feed(cursor)) yield blanks
  if (blanks.next === 123) return readNamedArguments(reading, name, [])
  // If the message is empty, the call has no arguments.
  const empty = blanks.next === -1 ? !reading.cut : blanks.next === 60
  return empty ? closeNamedCall(reading, name, {}, ['<|call|>'], []) : 'text'
}
