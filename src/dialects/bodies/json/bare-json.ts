import type { BareForm, CallReading, Envelope, Reading, TextToolCall, Wait } from '../../dialect.ts'
import { markerSet } from '../../reader/markers.ts'
import { Blanks, Match, Until } from '../../reader/waits.ts'
import { argumentKeys, callsOfJson, listKeys, looseJson, nameKeys } from './json-calls.ts'
import { readJsonText } from './json-text.ts'
import { repairQuotes } from './quote-repair.ts'
import { ValueFrame } from './value-frame.ts'

/** A call as bare JSON: a model that is asked for another form writes that now and then. */
export const unmarkedJson: readonly BareForm[] = [{ starts: ['{'], read: readBareJson }]
export const fencedJson: Envelope = { open: ['```'], read: readFencedJson, inFence: true }

/** Keys that may come before a call's name. */
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
/** How much is held back before the value has shown that it names a declared tool, and after. */
const longestUnnamed = 64 * 1024
const longestNamed = 16 * 1024 * 1024

/**
 * Reads an object or a list that may be an unmarked call, of which the first bracket stands at the cursor. It must soon look like one:
 * with the first key that no call begins with, or the first name that no tool has, it is text. With words before it in its line it is a
 * call only if nothing but further calls comes behind it.
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

/** The calls that stand at the cursor, if they do. */
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
 * A call of a declared tool in which quotes can't be told apart: it ends with its line, or, when it was begun over several lines, with
 * the first line that begins with a brace.
 */
function* readBroken(reading: CallReading, begun: string, severalLines: boolean): Generator<Wait, TextToolCall[] | undefined> {
  const { cursor, tools } = reading
  const rest = new Until(severalLines ? braceLine : lineEnd, longestNamed)
  if (!rest.feed(cursor)) yield rest
  if (rest.marker === '\n') cursor.unread('\n')
  const call = repairQuotes(`${begun}${rest.text}${severalLines ? (rest.marker ?? '') : ''}`.trim(), tools)
  return call === undefined || (reading.cut && cursor.atEnd) ? undefined : [{ ...call, repairs: ['unescaped quotes'] }]
}

/** Reads what stands behind an opening fence, up to the closing one, if it begins with a call. */
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
  /** The name of a declared tool has been read. */
  named: boolean
}

/** Reads up to the first key, and its value if that must be a tool's name. Undefined when this is no call. */
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
    // A bracket here may begin a call of its own.
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
  // `{"function": {"name": …}}` names its tool later.
  if (opening.matched === '{') return { text, named: false }
  const value = new Until(opening.matched === '"' ? doubleEnds : singleEnds, 128)
  if (!value.feed(cursor)) yield value
  text += value.text + (value.marker ?? '')
  return value.marker === opening.matched && reading.tools.resolve(value.text) !== undefined ? { text, named: true } : undefined
}
