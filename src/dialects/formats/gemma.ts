import { cutReason } from '../bodies/cut.ts'
import { nameRepairs } from '../bodies/json/json-calls.ts'
import { readBareObject, readJsonText } from '../bodies/json/json-text.ts'
import { closeNamedCall } from '../bodies/json/named-json.ts'
import type { DeclaredTools } from '../declared-tools.ts'
import type { CallReading, Envelope, Reading, Wait } from '../dialect.ts'
import { markerSet } from '../reader/markers.ts'
import { Match, Until } from '../reader/waits.ts'

const callLabel = markerSet(['call:'])

/**
 * Reads `<|tool_call>call:NAME{key:<|"|>text<|"|>,other:1}<tool_call|>`, as Gemma 4 writes it. Gemma sometimes omits the quotes. Also reads
 * FunctionGemma's `<start_function_call>`, whose quotes are `<escape>`.
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
  const { cursor, tools } = reading
  const call = new Match(callLabel)
  if (!call.feed(cursor)) yield call
  const head = new Until(markerSet(['{', close]), 128)
  if (!head.feed(cursor)) yield head
  const written = head.text.trim()
  const name = withoutNamespace(written, tools)
  // Without the label `call:`, this is a call only if the tool is declared.
  if (head.marker !== '{' || (call.matched === undefined && name === undefined)) {
    if (head.marker === close) cursor.unread(close)
    return 'text'
  }
  const text = yield* readBraces(reading, quote)
  if (text === undefined) {
    reading.reject(cutReason)
    return 'done'
  }
  const read = readJsonText(text)
  const value = read.ok ? read.value : readBareObject(text, name === undefined ? undefined : tools.properties(name))
  if (value === undefined) {
    const end = new Match(markerSet([close]))
    if (!end.feed(cursor)) yield end
    reading.reject(`The arguments could not be read: ${read.ok ? '' : read.problem}`)
    return 'done'
  }
  const repairs = name === undefined || name === written ? [] : nameRepairs(written, name)
  return closeNamedCall(reading, name ?? written, value, [close], read.ok ? repairs : [...repairs, 'texts without quotes'])
}

/** Returns the declared tool that a name refers to. Ignores namespaces before the name: `call:google:mcp:calendar:list_events`. */
function withoutNamespace(written: string, tools: DeclaredTools): string | undefined {
  for (let rest = written.replace(/^[:\s-]+/, ''); ; ) {
    const name = tools.resolve(rest)
    if (name !== undefined) return name
    const at = rest.search(/[:./]/)
    if (at === -1) return undefined
    rest = rest.slice(at + 1)
  }
}

/**
 * Reads up to the brace that balances the opening brace, which has just been read. Text between two `quote` markers becomes a JSON string.
 */
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
