import type { BareForm, CallReading, Envelope, Reading, TextToolCall, Wait } from '../../dialect.ts'
import { markerSet } from '../../reader/markers.ts'
import { Blanks, Match, Until } from '../../reader/waits.ts'
import { argumentKeys, callsOfJson, listKeys, looseJson, nameKeys } from './json-calls.ts'
import { readJsonText } from './json-text.ts'
import { repairQuotes } from './quote-repair.ts'
import { ValueFrame } from './value-frame.ts'

/** Calls written as JSON without a marker. Models sometimes write this form even if the prompt asks for another. */
export const unmarkedJson: readonly BareForm[] = [{ starts: ['{'], read: readBareJson }]
export const fencedJson: Envelope = { open: ['```'], read: readFencedJson, inFence: true }

/** Keys that may precede a call's name. */
const otherKeys = ['type', 'id', 'tool_call_id', 'call_id', 'thought', 'thoughts', 'reasoning']
const firstKeys = new Set([...nameKeys, ...argumentKeys, ...listKeys, ...otherKeys, 'tool_call'])
const fencedEnds = markerSet(['```', ',', ';'])
const brackets = markerSet(['{', '['])
const brace = markerSet(['{'])
const quotes = markerSet(['"', "'"])
const colonSign = markerSet([':'])
const valueStarts = markerSet(['"', "'", '{'])
const callSeparators = markerSet([',', ';'])
const braceLine = markerSet(['\n}'])
const lineEnd = markerSet(['\n'])
const infoEnds = markerSet(['\n', '{', '['])
const keyEnds = markerSet(['"', "'", ':', '{', '}', '[', ']', ',', '<', '\n'])
const doubleEnds = markerSet(['"', '\n'])
const singleEnds = markerSet(["'", '\n'])
/** Maximum length of a value that names no declared tool, and of one that does, in characters. */
const longestUnnamed = 64 * 1024
const longestNamed = 16 * 1024 * 1024

/**
 * Reads an object or a list that may be an unmarked call, starting at its first bracket. Stops as soon as the first key, or the name, shows
 * that the value is not a call. If words precede the value on its line, only calls may follow it in the response.
 */
export function* readBareJson(reading: CallReading): Reading {
  if (reading.alone) {
    const calls = yield* readJsonCalls(reading)
    for (const call of calls ?? []) reading.call(call)
    return calls === undefined ? 'text' : 'done'
  }
  const all: TextToolCall[] = []
  for (;;) {
    const calls = yield* readJsonCalls(reading)
    if (calls === undefined) return 'text'
    all.push(...calls)
    const next = new Match(callSeparators)
    if (!next.feed(reading.cursor)) yield next
    const blanks = new Blanks()
    if (!blanks.feed(reading.cursor)) yield blanks
    if (blanks.next === 123 || blanks.next === 91) continue
    if (blanks.next !== -1 || reading.cut) return 'text'
    for (const call of all) reading.call(call)
    return 'done'
  }
}

/** Reads the calls at the cursor. Undefined if no call is there. */
export function* readJsonCalls(reading: CallReading): Generator<Wait, TextToolCall[] | undefined> {
  const { cursor, tools } = reading
  const head = yield* readHead(reading)
  if (head === undefined) return undefined
  const frame = new ValueFrame({ limit: head.named ? longestNamed : longestUnnamed })
  cursor.unread(head.text)
  if (!frame.feed(cursor)) yield frame
  if (frame.state === 'broken' && head.named) return yield* readBroken(reading, frame.text, head.text.includes('\n'))
  if (frame.state !== 'complete') return undefined
  const read = readJsonText(frame.text)
  const calls = read.ok ? callsOfJson(read.value, tools, 'bare') : undefined
  if (!read.ok || !calls?.ok) return undefined
  if (read.strict) return calls.calls
  return calls.calls.map((call) => ({ ...call, repairs: [...(call.repairs ?? []), looseJson] }))
}

/**
 * Reads a call of a declared tool whose quotes are ambiguous. If the first key is on the line of the opening bracket, the call ends with
 * this line, otherwise with the next line that starts with `}`.
 */
function* readBroken(reading: CallReading, begun: string, severalLines: boolean): Generator<Wait, TextToolCall[] | undefined> {
  const { cursor, tools } = reading
  const rest = new Until(severalLines ? braceLine : lineEnd, longestNamed)
  if (!rest.feed(cursor)) yield rest
  if (rest.marker === '\n') cursor.unread('\n')
  const call = repairQuotes(`${begun}${rest.text}${severalLines ? (rest.marker ?? '') : ''}`.trim(), tools)
  return call === undefined || (reading.cut && cursor.atEnd) ? undefined : [{ ...call, repairs: ['unescaped quotes'] }]
}

/** Reads from an opening fence to the closing fence, if the content begins with a call. */
function* readFencedJson(reading: CallReading): Reading {
  const { cursor } = reading
  const info = new Until(infoEnds, 32)
  if (!info.feed(cursor)) yield info
  if (info.marker === undefined || !/^[\w+-]*\s*$/.test(info.text)) return 'text'
  if (info.marker !== '\n') cursor.unread(info.marker)
  for (let called = false; ; called = true) {
    const match = new Match(fencedEnds)
    if (!match.feed(cursor)) yield match
    if (match.matched === '```') return called ? 'done' : 'text'
    const blanks = new Blanks()
    if (!blanks.feed(cursor)) yield blanks
    if (blanks.next !== 123 && blanks.next !== 91) return called && cursor.atEnd ? 'done' : 'text'
    const calls = yield* readJsonCalls(reading)
    if (calls === undefined) return 'text'
    for (const call of calls) reading.call(call)
  }
}

interface HeadRead {
  text: string
  /** Whether the name of a declared tool has been read. */
  named: boolean
}

/** Reads the first key, and its value if that is the tool's name. Undefined if this is not a call. */
function* readHead(reading: CallReading): Generator<Wait, HeadRead | undefined> {
  const { cursor } = reading
  let text = ''
  const first = new Match(brackets, false)
  if (!first.feed(cursor)) yield first
  text += first.matched ?? ''
  if (first.matched === '[') {
    const inner = new Match(brace)
    if (!inner.feed(cursor)) yield inner
    if (inner.matched === undefined) return undefined
    text += `${inner.blanks}{`
  }
  const blanks = new Blanks()
  if (!blanks.feed(cursor)) yield blanks
  text += blanks.text
  const quoted = blanks.next === 34 || blanks.next === 39
  if (quoted) {
    const quote = new Match(quotes, false)
    if (!quote.feed(cursor)) yield quote
    text += quote.matched ?? ''
  }
  const key = new Until(keyEnds, 32)
  if (!key.feed(cursor)) yield key
  text += key.text + (key.marker ?? '')
  const name = key.text.trim()
  const byTool = reading.tools.has(name)
  if (!(byTool || firstKeys.has(name)) || !(quoted ? key.marker === '"' || key.marker === "'" : key.marker === ':')) {
    // The marker may start another call, so it is read again.
    if (key.marker === '{' || key.marker === '[' || key.marker === '<' || key.marker === '\n') cursor.unread(key.marker)
    return undefined
  }
  if (byTool || !nameKeys.includes(name)) return { text, named: byTool }
  if (quoted) {
    const colon = new Match(colonSign)
    if (!colon.feed(cursor)) yield colon
    if (colon.matched === undefined) return undefined
    text += `${colon.blanks}:`
  }
  const opening = new Match(valueStarts)
  if (!opening.feed(cursor)) yield opening
  if (opening.matched === undefined) return undefined
  text += opening.blanks + opening.matched
  // In `{"function": {"name": …}}`, the name is in the inner object.
  if (opening.matched === '{') return { text, named: false }
  const value = new Until(opening.matched === '"' ? doubleEnds : singleEnds, 128)
  if (!value.feed(cursor)) yield value
  text += value.text + (value.marker ?? '')
  return value.marker === opening.matched && reading.tools.resolve(value.text) !== undefined ? { text, named: true } : undefined
}
