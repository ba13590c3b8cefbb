import { readNamedArguments } from '../bodies/json/named-json.ts'
import type { CallReading, Envelope, Reading } from '../dialect.ts'
import { markerSet } from '../reader/markers.ts'
import { Blanks, Until } from '../reader/waits.ts'

const lineEnd = markerSet(['\n', '{'])

/**
 * Reads `>>>NAME` with the arguments in the next line, as functionary v3.2 writes it. `>>>all` starts text.
 * https://huggingface.co/meetkai/functionary-small-v3.2
 */
export const functionaryEnvelopes: readonly Envelope[] = [{ open: ['>>>'], read: readRecipient, lineStart: true }]

function* readRecipient(reading: CallReading): Reading {
  const { cursor, tools } = reading
  const line = new Until(lineEnd, 128)
  if (!line.feed(cursor)) yield line
  const written = line.text.trim()
  if (written === 'all' && line.marker === '\n') return 'done'
  if (line.marker === '{') cursor.unread('{')
  const blanks = new Blanks()
  if (!blanks.feed(cursor)) yield blanks
  // A quotation in Markdown may begin in the same way.
  const name = line.marker === undefined || blanks.next !== 123 ? undefined : tools.resolve(written)
  return name === undefined ? 'text' : readNamedArguments(reading, name, [])
}
