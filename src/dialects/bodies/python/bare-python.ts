import { isJsonObject } from '../../../core/messages.ts'
import type { DeclaredTools } from '../../declared-tools.ts'
import type { CallReading, Reading, TextToolCall, Wait } from '../../dialect.ts'
import { MarkerSet, markerSet, onceForEach } from '../../reader/markers.ts'
import { Blanks, Match, Until } from '../../reader/waits.ts'
import { readBareJson } from '../json/bare-json.ts'
import { finishCall, looseJson, nameRepairs } from '../json/json-calls.ts'
import { readJsonText } from '../json/json-text.ts'
import { ValueFrame } from '../json/value-frame.ts'
import { listsObjects } from './python-body.ts'
import { readPythonCalls } from './python-calls.ts'

/** Markers that start a list of calls. The bracket may be followed by quotes, because models also write a call as a string. */
const listStarts = markerSet(['[', "['", '["', '[`', "[('", '[("'])
const quotes = markerSet(['"', "'", '`'])
const separators = markerSet([',', ';'])
const nameEnds = markerSet(['(', '[', '{', '<', ',', ']', '"', "'", '=', ')', '`'])
const lineEnd = markerSet(['\n'])
/** Maximum length of an unfinished call that is held back, in characters. */
export const longestCall: number = 16 * 1024 * 1024

/**
 * Reads `[f(a=1), g()]`, starting at the bracket, if all functions are declared tools and all arguments are named. A list of objects is
 * read as JSON.
 */
export function* readBarePython(reading: CallReading): Reading {
  if (yield* listsObjects(reading)) return readBareJson(reading)
  if (!(yield* standsAtCall(reading))) return 'text'
  const text = yield* readFrame(reading)
  const calls = text === undefined ? undefined : namedCalls(text, reading.tools)
  for (const call of calls ?? []) reading.call(call)
  return calls === undefined ? 'text' : 'done'
}

/** Whether a list at the cursor begins with the name of a declared tool. */
function* standsAtCall({ cursor, tools, alone }: CallReading): Generator<Wait, boolean> {
  const start = new Match(listStarts, false)
  if (!start.feed(cursor)) yield start
  const begun = start.matched ?? ''
  if (!alone) return false
  const name = new Until(nameEnds, 128)
  if (!name.feed(cursor)) yield name
  const { marker = '', text } = name
  // True for the form `["f", {…}]`.
  const quoted = begun !== '[' && begun.endsWith(marker)
  const stands = marker !== '' && (marker === '(' || quoted) && tools.resolve(text.trim()) !== undefined
  cursor.unread(stands ? begun + text + marker : marker)
  return stands
}

/** The names of the declared tools, as models write them, each followed by a parenthesis or the end of the line. */
const callStarts = onceForEach((tools: DeclaredTools) => {
  const names = new Set(tools.names.flatMap((name) => [name, name.replaceAll('_', '\\_'), name.replace(/[^\p{L}\p{N}]/gu, '_')]))
  return new MarkerSet([...names].flatMap((name) => [`${name}(`, `${name}\n`]))
})

/**
 * Reads a line that contains only calls of declared tools, starting at its first letter or quote. Also reads a declared name on a line of
 * its own, if its arguments follow as JSON.
 */
export function* readPythonLine(reading: CallReading): Reading {
  const { cursor, tools } = reading
  const quote = new Match(quotes, false)
  if (!quote.feed(cursor)) yield quote
  const name = new Match(callStarts(tools), false)
  if (!name.feed(cursor)) yield name
  if (name.matched === undefined) {
    // Advances by one character, because only the start of a line is examined.
    const first = new Until(lineEnd, 0)
    if (quote.matched === undefined && name.partial === '' && !first.feed(cursor)) yield first
    return 'text'
  }
  if (name.matched.endsWith('\n')) return quote.matched === undefined ? readArgumentsBelow(reading, name.matched.trim()) : 'text'
  cursor.unread(name.matched)
  const text = yield* readCallsOfLine(reading, quote.matched)
  const calls = text === undefined ? undefined : namedCalls(text, tools)
  for (const call of calls ?? []) reading.call(call)
  return calls === undefined ? 'text' : 'done'
}

/** Reads a line of calls, without the quotes around them. Undefined if the line contains other text. */
function* readCallsOfLine(reading: CallReading, quote: string | undefined): Generator<Wait, string | undefined> {
  const { cursor, tools } = reading
  const closing = quote === undefined ? undefined : markerSet([quote])
  let calls = ''
  for (;;) {
    const text = yield* readCallFrame(reading)
    if (text === undefined) return undefined
    calls += text
    const closed = closing && new Match(closing, false)
    if (closed && !closed.feed(cursor)) yield closed
    if (closed && closed.matched === undefined) return undefined
    const rest = new Until(lineEnd, 8)
    if (!rest.feed(cursor)) yield rest
    cursor.unread(rest.text + (rest.marker ?? ''))
    if (/^[\s;,\\]*$/.test(rest.text) && (rest.marker !== undefined || (cursor.ended && !reading.cut))) return calls
    const separator = new Match(separators)
    if (!separator.feed(cursor)) yield separator
    if (separator.matched === undefined) return undefined
    const blanks = new Blanks()
    if (!blanks.feed(cursor)) yield blanks
    const next = new Match(callStarts(tools), false)
    if (quote !== undefined || !next.feed(cursor)) yield next
    if (next.matched === undefined) return undefined
    cursor.unread(next.matched)
    calls += ', '
  }
}

/** Reads a name and the parentheses after it. */
export function* readCallFrame(reading: CallReading): Generator<Wait, string | undefined> {
  const name = new Until(markerSet(['(', '\n']), 256)
  if (!name.feed(reading.cursor)) yield name
  if (name.marker !== '(') {
    reading.cursor.unread(name.marker ?? '')
    return undefined
  }
  reading.cursor.unread('(')
  const text = yield* readFrame(reading)
  return text === undefined ? undefined : name.text + text
}

function* readFrame(reading: CallReading): Generator<Wait, string | undefined> {
  const frame = new ValueFrame({ python: true, limit: longestCall })
  if (!frame.feed(reading.cursor)) yield frame
  return frame.state === 'complete' ? frame.text : undefined
}

function* readArgumentsBelow(reading: CallReading, written: string): Reading {
  const { cursor, tools } = reading
  const blanks = new Blanks()
  if (!blanks.feed(cursor)) yield blanks
  const name = tools.resolve(written)
  if (blanks.next !== 123 || name === undefined) return 'text'
  const frame = new ValueFrame({ limit: longestCall })
  if (!frame.feed(cursor)) yield frame
  const read = readJsonText(frame.text)
  if (frame.state !== 'complete' || !read.ok || !isJsonObject(read.value)) return 'text'
  const repairs = nameRepairs(written, name)
  reading.call(finishCall(name, read.value, read.strict ? repairs : [...repairs, looseJson]))
  return 'done'
}

/** Returns the calls in a complete text. Undefined unless all calls are of declared tools and all arguments are named. */
export function namedCalls(text: string, tools: DeclaredTools): TextToolCall[] | undefined {
  const read = readPythonCalls(text, tools)
  return read.ok && read.calls.every(({ name, repairs }) => tools.has(name) && !repairs?.includes('arguments by position'))
    ? read.calls
    : undefined
}
