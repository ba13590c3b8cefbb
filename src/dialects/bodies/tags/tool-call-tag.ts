import type { CallReading, Reading } from '../../dialect.ts'
import { markerSet } from '../../reader/markers.ts'
import { Until } from '../../reader/waits.ts'
import { readJsonValues } from '../json/json-body.ts'
import { finishCall, nameRepairs } from '../json/json-calls.ts'
import { form, nameGap } from '../usual.ts'
import { readArgPairs } from './arg-pairs.ts'
import { callTags, type Tags } from './call-tags.ts'
import { readTaggedCall, readTaggedCalls } from './tagged.ts'

/** Longest text before what shows how the call is written. */
const longestLead = 256

const tags: Tags = {
  call: ['<function'],
  closeCall: ['</function>'],
  parameter: ['<parameter'],
  closeParameter: ['</parameter>'],
  wrap: [],
  closeWrap: ['</tool_call>', '</seed:tool_call>'],
  usualHead: form`=${nameGap}>`,
}
const functionTags = callTags(tags)

/** What begins a `<function=…>` call outside any wrapper, and what may be left over behind one. */
export const functionStarts: readonly string[] = ['<function=', '<function>', '<function name']
export const functionEnds: readonly string[] = tags.closeCall

const close = '</tool_call>'
const stops = markerSet(['{', '[', '<function', 'function=', '<arg_key>', close, '<tool_call>'])
const functionTag = markerSet(['<function'])
const jsonOptions = { close: [close], open: ['<tool_call>'] }

/**
 * Reads what stands in `<tool_call>`: JSON, a `<function=…>` element, or a name with `<arg_key>` pairs. Several families of models share the
 * tag, and a model's template does not always use its own form.
 */
export function* readToolCallTag(reading: CallReading): Reading {
  const { cursor, tools } = reading
  const lead = new Until(stops, longestLead)
  if (!lead.feed(cursor)) yield lead
  const text = lead.text.replace(/<!--[\s\S]*?-->/g, '').trim()
  switch (lead.marker) {
    case '{':
    case '[':
      cursor.unread(lead.marker)
      return readJsonValues(reading, jsonOptions, text === '' ? [] : ['text before the call left out'])
    case 'function=':
      cursor.unread('=')
      return readTaggedCalls(reading, functionTags, true)
    case '<function':
      return readTaggedCalls(reading, functionTags, true)
    case '<arg_key>':
      return text === '' || /\s/.test(text) ? 'text' : readArgPairs(reading, text)
    case close: {
      const name = tools.resolve(text)
      if (name !== undefined) {
        reading.call(finishCall(name, {}, nameRepairs(text, name)))
        return 'done'
      }
      // Between tags within a line, words are more likely a sentence about the tag than a call.
      if (text === '' || (/\s/.test(text) && !/^\s*\n/.test(lead.text))) return 'text'
      reading.reject(`Expected a call in <tool_call>, got text, and no tool is named so. Known tools: ${tools.names.join(', ') || 'none'}`)
      return 'done'
    }
    default:
      if (lead.marker !== undefined) cursor.unread(lead.marker)
      return 'text'
  }
}

/** Reads a `<function=…>` call outside any wrapper. */
export function readFunctionTag(reading: CallReading): Reading {
  cursorBackTo(reading, '<function')
  return readTaggedCall(reading, functionTags)
}

/** Reads a wrapper that holds `<function=…>` calls. */
export function* readWrappedFunctions(reading: CallReading): Reading {
  const first = new Until(functionTag, longestLead)
  if (!first.feed(reading.cursor)) yield first
  if (first.marker === undefined || first.text.trim() !== '') return 'text'
  return readTaggedCalls(reading, functionTags, true)
}

/** Gives back what the opening marker has of the tag beyond its `beginning`. */
function cursorBackTo(reading: CallReading, beginning: string): void {
  reading.cursor.unread(reading.opener.slice(beginning.length))
}
