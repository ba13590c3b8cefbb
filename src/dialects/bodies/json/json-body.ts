import type { CallReading, ReadBody, Reading, Wait } from '../../dialect.ts'
import { type MarkerSet, markerSet, onceForEach } from '../../reader/markers.ts'
import { Blanks, Match, Peek, Until } from '../../reader/waits.ts'
import { cutReason } from '../cut.ts'
import { callsOfJson, finishCall, type JsonCalls, looseJson } from './json-calls.ts'
import { readJsonText } from './json-text.ts'
import { repairQuotes } from './quote-repair.ts'
import { ValueFrame } from './value-frame.ts'

export interface JsonBodyOptions {
  /** Markers that end the body. If the list is empty, the body ends with its value. */
  close: readonly string[]
  /** Markers that start the next call. If such a marker appears inside the body, the text was not a call. */
  open?: readonly string[]
}

/** Maximum length of the text between a marker and the first bracket after it, in characters. */
const longestLead = 256
/** How the next value can begin. A single `[` is not listed, because a marker may start with it. */
const nextValues = markerSet(['{', '[{', '[ {', '[\n'])
const separators = markerSet([',', ';'])

/** Creates a reader for one or several `{"name", "arguments"}` objects, or a list of them, up to a closing marker. */
export function jsonBody(options: JsonBodyOptions): ReadBody {
  const lead = markerSet(leadMarkers(options))
  return (reading) => readJsonBody(reading, options, lead)
}

function* readJsonBody(reading: CallReading, options: JsonBodyOptions, leads: MarkerSet): Reading {
  const { cursor } = reading
  const lead = new Until(leads, longestLead)
  if (!lead.feed(cursor)) yield lead
  if (lead.marker !== '{' && lead.marker !== '[') {
    if (lead.marker !== undefined && options.close.includes(lead.marker)) {
      if (lead.text.trim() === '') return 'text'
      reading.reject('Expected a JSON object with "name" and "arguments" in the call, got text')
      return 'done'
    }
    if (lead.marker !== undefined) cursor.unread(lead.marker)
    return 'text'
  }
  cursor.unread(lead.marker)
  return readJsonValues(reading, options, lead.text.trim() === '' ? [] : ['text before the call left out'])
}

/** Markers that end the text before a value. A bracket also ends the text, so markers that start with one are left out. */
function leadMarkers({ close, open = [] }: JsonBodyOptions): string[] {
  return ['{', '[', ...[...close, ...open].filter((marker) => !marker.startsWith('[') && !marker.startsWith('{'))]
}

interface ReadText {
  strict: boolean
  calls?: JsonCalls
  problem: string
}

const unread: ReadText = { strict: false, problem: '' }

/** Reads the calls whose first bracket is at the cursor. */
export function* readJsonValues(reading: CallReading, options: JsonBodyOptions, repairs: readonly string[]): Reading {
  const { cursor, tools } = reading
  for (;;) {
    const frame = new ValueFrame()
    if (!frame.feed(cursor)) yield frame
    let { text } = frame
    let read = frame.state === 'complete' ? readValue(text) : unread
    let closed = false
    const found = [...repairs]
    const report = (): void => {
      if (!read.calls?.ok) return
      for (const call of read.calls.calls) reading.call(finishCall(call.name, call.arguments, [...(call.repairs ?? []), ...found]))
    }
    let next = false
    if (frame.state === 'complete' && read.calls?.ok) {
      if (!read.strict) found.push(looseJson)
      // No closing marker will follow, so the call is complete.
      if (options.close.length === 0) report()
      const after = { closed: false, extra: '' }
      yield* readAfter(reading, options, after)
      closed = after.closed
      if (after.extra !== '') found.push(`extra "${after.extra}" left out`)
      if (!closed) next = yield* standsAtNextCall(reading)
      if (options.close.length === 0) {
        if (next) continue
        return 'done'
      }
    } else {
      // The quotes or brackets don't match, so only the closing marker shows where the call ends.
      const open = options.open ?? []
      const rest = new Until(markerSet([...options.close, ...open]))
      if (frame.state !== 'open' && options.close.length > 0 && !rest.feed(cursor)) yield rest
      text += rest.text
      closed = rest.marker !== undefined && options.close.includes(rest.marker)
      if (rest.marker !== undefined && !closed) cursor.unread(rest.marker)
      if (frame.state === 'open') {
        const whole = beforeClose(text, options.close)
        closed = whole !== text
        text = whole
      }
      if (reading.cut && !closed) {
        reading.reject(cutReason)
        return 'done'
      }
      if (frame.state !== 'complete' || rest.text !== '') read = readValue(text.trim())
      if (!read.calls?.ok) {
        const repaired = repairQuotes(text.trim(), tools)
        if (repaired === undefined) return giveUp(reading, read, found, frame.state === 'open')
        read = { strict: false, calls: { ok: true, calls: [repaired] }, problem: '' }
        found.push('unescaped quotes')
      } else if (!read.strict) found.push(looseJson)
    }
    if (!closed && !next) {
      if (reading.cut) {
        reading.reject(cutReason)
        return 'done'
      }
      found.push('closing tag missing')
    }
    report()
    if (closed || !next) return 'done'
  }

  function readValue(text: string): ReadText {
    const value = readJsonText(text)
    if (!value.ok) return { strict: false, problem: value.problem }
    const calls = callsOfJson(value.value, tools, 'marked')
    return { strict: value.strict, calls, problem: calls.ok ? '' : calls.problem }
  }
}

function giveUp(reading: CallReading, read: { problem: string }, found: readonly string[], open: boolean): 'done' | 'text' {
  if (found.length > 0) return 'text'
  reading.reject(
    open
      ? 'The call was not finished. Send the whole call again.'
      : `The call is not valid: ${read.problem}. Expected {"name": "…", "arguments": {…}} as JSON, quotes inside strings escaped.`,
  )
  return 'done'
}

const endsOf = onceForEach(({ close }: JsonBodyOptions) => markerSet(['}', ']', ...close]))

/** Reads extra brackets and the closing marker after a value. */
function* readAfter(
  reading: CallReading,
  options: JsonBodyOptions,
  after: { closed: boolean; extra: string },
): Generator<Blanks | Match, void> {
  const { cursor } = reading
  const ends = endsOf(options)
  for (;;) {
    const match = new Match(ends)
    if (!match.feed(cursor)) yield match
    if (match.matched === '}' || match.matched === ']') after.extra += match.matched
    else {
      // At the end of the text, a partial closing marker counts as complete.
      after.closed = match.matched !== undefined || (match.partial !== '' && !reading.cut)
      return
    }
  }
}

/** Returns true if another value follows in the same body. If so, reads the text before that value. */
function* standsAtNextCall(reading: CallReading): Generator<Wait, boolean> {
  const { cursor } = reading
  const match = new Match(separators)
  if (!match.feed(cursor)) yield match
  const blanks = new Blanks()
  if (!blanks.feed(cursor)) yield blanks
  const next = new Peek(nextValues, false)
  if (!next.feed(cursor)) yield next
  if (next.matched !== undefined) return true
  cursor.unread(match.matched === undefined ? blanks.text : match.blanks + match.matched + blanks.text)
  return false
}

/** Returns the text before the last closing marker. Used if a string is unclosed, so that the marker is part of the string. */
function beforeClose(text: string, close: readonly string[]): string {
  let end = -1
  for (const marker of close) end = Math.max(end, text.lastIndexOf(marker))
  return end < 0 ? text : text.slice(0, end)
}
