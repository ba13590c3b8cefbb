import { unmarkedJson } from '../bodies/json/bare-json.ts'
import { jsonBody } from '../bodies/json/json-body.ts'
import { readToolCallTag } from '../bodies/tags/tool-call-tag.ts'
import type { Dialect, Envelope } from '../dialect.ts'
import { describeToolsAsJson, promptWith, renderJsonCalls, renderJsonResults } from '../render.ts'

export function jsonEnvelope(open: string, close: string): Envelope {
  return { open: [open], close: [close], read: jsonBody({ close: [close], open: [open] }) }
}

/**
 * Reads `<tool_call>{"name", "arguments"}</tool_call>`, as Hermes and Qwen write it. Also reads the same JSON between the markers of
 * Granite, Nemotron and LM Studio. https://github.com/NousResearch/Hermes-Function-Calling
 */
export const hermes: Dialect = {
  name: 'hermes',
  envelopes: [
    { open: ['<tool_call>'], close: ['</tool_call>'], read: readToolCallTag },
    jsonEnvelope('<tool_calls>', '</tool_calls>'),
    jsonEnvelope('<function_call>', '</function_call>'),
    jsonEnvelope('<TOOLCALL>', '</TOOLCALL>'),
    jsonEnvelope('[TOOL_REQUEST]', '[END_TOOL_REQUEST]'),
    { open: ['<|tool_call|>'], close: ['<|/tool_call|>'], read: jsonBody({ close: [] }) },
  ],
  bare: unmarkedJson,
  resultMarkers: ['<tool_response>'],
  prompt: promptWith(
    describeToolsAsJson,
    `To call a tool, write a JSON object with its name and arguments in <tool_call></tool_call> tags, like this:

<tool_call>
{"name": "tool name", "arguments": {"parameter": "value"}}
</tool_call>

Use the tags as they are, not in a code block; one pair for each call. Then stop and wait: the results come in the next message, in <tool_response></tool_response> tags. Never write those yourself.`,
  ),
  renderCalls: (calls) => renderJsonCalls(hermes, calls),
  renderResults: (results) => renderJsonResults(hermes, results),
}
