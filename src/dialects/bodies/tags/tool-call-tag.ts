import type { CallReading, ReadBody, Reading } from '../../dialect.ts'
import { type MarkerSet, markerSet } from '../../reader/markers.ts'
import { Until } from '../../reader/waits.ts'
import { type JsonBodyOptions, readJsonValues } from '../json/json-body.ts'
import { finishCall, nameRepairs } from '../json/json-calls.ts'
import { argPairs, type PairTags, readArgPairs } from './arg-pairs.ts'
import { callTags, type Tags } from './call-tags.ts'
import { readSentinelCalls, sentinel } from './sentinel-calls.ts'
import { readTaggedCall, readTaggedCalls } from './tagged.ts'

/** Maximum number of characters between `<tool_call>` and the first tag or bracket. */
const longestLead = 256

const tags: Tags = {
  call: ['<function'],
  closeCall: ['</function>'],
  parameter: ['<parameter', '<param'],
  closeParameter: ['</parameter>', '</param>'],
  wrap: [],
  closeWrap: ['</tool_call>', '</seed:tool_call>'],
}
const functionTags = callTags(tags)

/** Opening and closing tags of a `<function=…>` call without a wrapper. */
export const functionStarts: readonly string[] = ['<function=', '<function>', '<function name']
export const functionEnds: readonly string[] = tags.closeCall

const functionTag = markerSet(['<function'])

/**
 * Reads the content of `<tool_call>`: JSON, a `<function=…>` element, a name with pairs of keys and values, or MiniMax's elements. Several
 * model families share this tag, and a model doesn't always use the form of its own template.
 */
export const readToolCallTag: ReadBody = callTag(argPairs)

/** Creates a reader like `readToolCallTag` for the tags of another family. */
export function callTag(pairs: PairTags): ReadBody {
  const { key, open, close } = pairs
  const stops = markerSet(['{', '[', '<function', 'function=', key, close, open, sentinel])
  const json = { close: [close], open: [open] }
  return (reading) => readCallTag(reading, pairs, stops, json)
}

function* readCallTag(reading: CallReading, pairs: PairTags, stops: MarkerSet, json: JsonBodyOptions): Reading {
  const { cursor, tools } = reading
  const { key, close, behindName = '' } = pairs
  const lead = new Until(stops, longestLead)
  if (!lead.feed(cursor)) yield lead
  const { marker } = lead
  const text = lead.text
    .replace(/<!--[\s\S]*?-->/g, '')
    .replace(behindName, '')
    .trim()
  if (marker === '{' || marker === '[') {
    cursor.unread(marker)
    return readJsonValues(reading, json, text === '' ? [] : ['text before the call left out'])
  }
  if (marker === '<function' || marker === 'function=') {
    if (marker === 'function=') cursor.unread('=')
    return readTaggedCalls(reading, functionTags, true)
  }
  if (marker === key) return text === '' || /\s/.test(text) ? 'text' : readArgPairs(reading, text, pairs)
  if (marker === sentinel && text === '') return readSentinelCalls(reading)
  if (marker !== close) {
    if (marker !== undefined) cursor.unread(marker)
    return 'text'
  }
  const name = tools.resolve(text)
  if (name !== undefined) {
    reading.call(finishCall(name, {}, nameRepairs(text, name)))
    return 'done'
  }
  // If there are words between the tags on the same line, the line is more likely a sentence about the tag than a call.
  if (text === '' || (/\s/.test(text) && !/^\s*\n/.test(lead.text))) return 'text'
  reading.reject(`Expected a call in ${pairs.open}, got text, and no tool is named so. Known tools: ${tools.names.join(', ') || 'none'}`)
  return 'done'
}

/** Reads a `<function=…>` call without a wrapper. */
export function readFunctionTag(reading: CallReading): Reading {
  cursorBackTo(reading, '<function')
  return readTaggedCall(reading, functionTags)
}

/** Reads a wrapper that contains `<function=…>` calls. */
export function* readWrappedFunctions(reading: CallReading): Reading {
  const first = new Until(functionTag, longestLead)
  if (!first.feed(reading.cursor)) yield first
  if (first.marker === undefined || first.text.trim() !== '') return 'text'
  return readTaggedCalls(reading, functionTags, true)
}

function cursorBackTo(reading: CallReading, beginning: string): void {
  reading.cursor.unread(reading.opener.slice(beginning.length))
}
