import { jsonBody } from '../bodies/json/json-body.ts'
import { type NamedJsonOptions, readNamedJson } from '../bodies/json/named-json.ts'
import type { CallReading, Dialect, Reading } from '../dialect.ts'
import { markerSet } from '../reader/markers.ts'
import { Blanks, Peek } from '../reader/waits.ts'
import { describeToolsAsJson, promptWith, writeJson } from '../render.ts'

const open = '[TOOL_CALLS]'
const close = '[/TOOL_CALLS]'
const again = markerSet([open])
const readList = jsonBody({ close: [], open: [open] })
const named: NamedJsonOptions = { separators: ['[ARGS]', '[CALL_ID]'], close: [], open: [open], bareName: true, orElse: readList }

/**
 * Reads `[TOOL_CALLS]` in its three forms: a list of JSON calls, `NAME[ARGS]{…}`, and `NAME[CALL_ID]ID[ARGS]{…}`.
 * https://docs.mistral.ai/capabilities/function_calling/
 */
export const mistral: Dialect = {
  name: 'mistral',
  envelopes: [{ open: [open], close: [close], read: readToolCalls }],
  resultMarkers: ['[TOOL_RESULTS]'],
  prompt: promptWith(
    describeToolsAsJson,
    `To call tools, write [TOOL_CALLS] and a JSON list of calls, like this:

[TOOL_CALLS][{"name": "tool name", "arguments": {"parameter": "value"}}]

Write it as it is, not in a code block. Then stop and wait: the results come in the next message, as [TOOL_RESULTS]. Never write those yourself.`,
  ),
  renderCalls: (calls) => `${open}[${calls.map(({ name, arguments: args }) => writeJson({ name, arguments: args }, mistral)).join(', ')}]`,
  renderResults: (results) =>
    results
      .map(
        ({ name, content, isError }) =>
          `[TOOL_RESULTS]${writeJson({ name, ...(isError ? { error: content } : { content }) }, mistral)}[/TOOL_RESULTS]`,
      )
      .join(''),
}

function* readToolCalls(reading: CallReading): Reading {
  const { cursor } = reading
  const blanks = new Blanks()
  if (!blanks.feed(cursor)) yield blanks
  if (blanks.next !== 91 && blanks.next !== 123) return readNamedJson(reading, named)
  const next = new Peek(again)
  if (!next.feed(cursor)) yield next
  if (next.matched === undefined) return readList(reading)
  cursor.unread(blanks.text)
  return 'text'
}
