import { fencedJson, readBareJson } from '../bodies/json/bare-json.ts'
import { jsonBody } from '../bodies/json/json-body.ts'
import { pythonBody } from '../bodies/python/python-body.ts'
import type { CallReading, Dialect, Envelope, Reading } from '../dialect.ts'
import { markerSet } from '../reader/markers.ts'
import { Until } from '../reader/waits.ts'
import { describeToolsAsJson, promptWith, renderJsonResults, writeJson } from '../render.ts'
import { jsonEnvelope } from './hermes.ts'

const pythonTagEnds = ['<|eom_id|>', '<|eot_id|>']
const pythonTagStarts = markerSet(['{', '[', '('])
const readJson = jsonBody({ close: [] })
const readPython = pythonBody([])

/**
 * Reads `<|python_tag|>` of Llama 3.1, followed by `{"name", "parameters"}` or by `NAME.call(argument="…")`. Semicolons separate several
 * calls. The token may also be followed by a program, which is not a call.
 */
export const pythonTag: Envelope = { open: ['<|python_tag|>'], close: pythonTagEnds, read: readPythonTag }

function* readPythonTag(reading: CallReading): Reading {
  const { cursor, tools } = reading
  const lead = new Until(pythonTagStarts, 128)
  if (!lead.feed(cursor)) yield lead
  const { text, marker } = lead
  cursor.unread(text + (marker ?? ''))
  if (marker === '(') return tools.resolve(text.trim()) === undefined ? 'text' : readPython(reading)
  return marker === undefined || text.trim() !== '' ? 'text' : readJson(reading)
}

/**
 * Reads a call that is only JSON, with or without a code fence: `{"name", "arguments"}` and its variants. Also reads Llama's
 * `<|python_tag|>`. https://www.llama.com/docs/model-cards-and-prompt-formats/llama3_1/
 */
export const json: Dialect = {
  name: 'json',
  envelopes: [fencedJson, pythonTag, jsonEnvelope('<TOOLCALL>', '</TOOLCALL>')],
  bare: [{ starts: ['{', '['], read: readBareJson }],
  resultMarkers: ['<tool_response>'],
  prompt: promptWith(
    describeToolsAsJson,
    `To call a tool, answer with a JSON object of its name and arguments, and nothing else:

{"name": "tool name", "arguments": {"parameter": "value"}}

To call several, answer with a list of such objects. Then stop and wait: the results come in the next message. To answer without a tool, write plain text.`,
  ),
  renderCalls: (calls) => {
    const written = calls.map(({ name, arguments: args }) => writeJson({ name, arguments: args }, json))
    return written.length === 1 ? (written[0] ?? '') : `[${written.join(',\n')}]`
  },
  renderResults: (results) => renderJsonResults(json, results),
}
