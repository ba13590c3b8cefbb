import { fencedJson, readBareJson } from '../bodies/json/bare-json.ts'
import { jsonBody } from '../bodies/json/json-body.ts'
import type { Dialect } from '../dialect.ts'
import { describeToolsAsJson, promptWith, renderJsonResults, writeJson } from '../render.ts'
import { jsonEnvelope } from './hermes.ts'

/**
 * A call as nothing but JSON, bare or in a code fence: `{"name", "arguments"}` and its relatives, and Llama's `<|python_tag|>`.
 * https://www.llama.com/docs/model-cards-and-prompt-formats/llama3_1/
 */
export const json: Dialect = {
  name: 'json',
  envelopes: [
    fencedJson,
    { open: ['<|python_tag|>'], close: ['<|eom_id|>', '<|eot_id|>'], read: jsonBody({ close: [] }) },
    jsonEnvelope('<TOOLCALL>', '</TOOLCALL>'),
  ],
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
