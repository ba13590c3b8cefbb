import { functionEnds, functionStarts, readFunctionTag, readToolCallTag, readWrappedFunctions } from '../bodies/tags/tool-call-tag.ts'
import type { Dialect, PastCall } from '../dialect.ts'
import { describeTools, plainKey, plainTexts, promptWith, renderJsonCall, renderTextResults } from '../render.ts'
import { jsonEnvelope } from './hermes.ts'

/**
 * Reads `<tool_call><function=NAME><parameter=KEY>value</parameter></function></tool_call>`, as Qwen3-Coder, Seed-OSS and Step write it.
 * The wrapper is optional. Values are written verbatim. https://huggingface.co/Qwen/Qwen3-Coder-480B-A35B-Instruct
 */
export const qwenCoder: Dialect = {
  name: 'qwen-coder',
  envelopes: [
    { open: ['<tool_call>'], close: ['</tool_call>'], read: readToolCallTag },
    { open: ['<seed:tool_call>'], close: ['</seed:tool_call>'], read: readWrappedFunctions },
    { open: functionStarts, close: functionEnds, read: readFunctionTag },
    jsonEnvelope('<tool_calls>', '</tool_calls>'),
  ],
  resultMarkers: ['<tool_response>'],
  prompt: promptWith(
    describeTools,
    `To call a tool, write this, each value on lines of its own, exactly as it is meant, unescaped:

<tool_call>
<function=TOOL_NAME>
<parameter=PARAMETER_NAME>
value
</parameter>
</function>
</tool_call>

Write lists and objects as JSON. Use one <tool_call> for each call, not in a code block. Then stop and wait: the results come in the next message, in <tool_response></tool_response> tags. Never write those yourself.`,
  ),
  renderCalls: (calls) => calls.map(renderCall).join('\n'),
  renderResults: (results) => renderTextResults(qwenCoder, results),
}

function renderCall(call: PastCall): string {
  const fits = (key: string, text: string) => plainKey.test(key) && !text.includes('\r')
  const texts = plainTexts(qwenCoder, call, ['<parameter', '</parameter>'], fits)
  if (texts === undefined) return renderJsonCall(qwenCoder, call)
  const parameters = texts.map(([key, text]) => `<parameter=${key}>\n${text}\n</parameter>\n`).join('')
  return `<tool_call>\n<function=${call.name}>\n${parameters}</function>\n</tool_call>`
}
