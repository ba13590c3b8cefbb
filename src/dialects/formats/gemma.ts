import { cutReason } from '../bodies/cut.ts'
import { readJsonText } from '../bodies/json/json-text.ts'
import { closeNamedCall } from '../bodies/json/named-json.ts'
import type { CallReading, Envelope, Reading, Wait } from '../dialect.ts'
import { markerSet } from '../reader/markers.ts'
import { Match, Until } from '../reader/waits.ts'

const callLabel = markerSet(['call:'])

/**
 * `<|tool_call>call:NAME{key:<|"|>text<|"|>,other:1}<tool_call|>` of Gemma 4, and FunctionGemma's `<start_function_call>` with `<escape>`.
 * https://ai.google.dev/gemma/docs/functiongemma/formatting-and-best-practices
 */
export const gemmaEnvelopes: readonly Envelope[] = [
  { open: ['<|tool_call>'], close: ['<tool_call|>'], read: (reading) => readCall(reading, '<|"|>', '<tool_call|>') },
  {
    open: ['<start_function_call>'],
    close: ['<end_function_call>'],
    read: (reading) => readCall(reading, '<escape>', '<end_function_call>'),
  },
]

function* readCall(reading: CallReading, quote: string, close: string): Reading {
  const { cursor } = reading
  const call = new Match(callLabel)
  if (!call.feed(cursor)) yield call
  if (call.matched === undefined) return 'text'
  const name = new Until(markerSet(['{', close]), 128)
  if (!name.feed(cursor)) yield name
  if (name.marker !== '{') return 'text'
  const text = yield* readBraces(reading, quote)
  const read = text === undefined ? undefined : readJsonText(text)
  if (!read?.ok) {
    reading.reject(text === undefined ? cutReason : `The arguments could not be read: ${read?.problem}`)
    return 'done'
  }
  return closeNamedCall(reading, name.text.trim(), read.value, [close], [])
}

/** Reads up to the brace that balances the one just read. What stands between two `quote` markers becomes a JSON string. */
function* readBraces(reading: CallReading, quote: string): Generator<Wait, string | undefined> {
  const stops = markerSet([quote, '{', '}'])
  let text = '{'
  for (let depth = 1; depth > 0; ) {
    const until = new Until(stops)
    if (!until.feed(reading.cursor)) yield until
    const { marker } = until
    if (marker === undefined) return undefined
    text += until.text
    if (marker === quote) {
      const string = new Until(markerSet([quote]))
      if (!string.feed(reading.cursor)) yield string
      if (string.marker === undefined) return undefined
      text += JSON.stringify(string.text)
    } else {
      text += marker
      depth += marker === '{' ? 1 : -1
    }
  }
  return text
}
