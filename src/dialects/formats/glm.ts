import { readToolCallTag } from '../bodies/tags/tool-call-tag.ts'
import type { Dialect, PastCall } from '../dialect.ts'
import { describeToolsAsJson, plainTexts, promptWith, renderTextResults, writeJson } from '../render.ts'

/**
 * Reads `<tool_call>NAME<arg_key>KEY</arg_key><arg_value>value</arg_value></tool_call>`, as GLM-4.5 and later write it.
 * https://huggingface.co/zai-org/GLM-4.5
 */
export const glm: Dialect = {
  name: 'glm',
  envelopes: [{ open: ['<tool_call>'], close: ['</tool_call>', '</arg_value>'], read: readToolCallTag }],
  resultMarkers: ['<tool_response>', '<|observation|>'],
  prompt: promptWith(
    describeToolsAsJson,
    `To call a tool, write its name and the name and value of each argument, like this:

<tool_call>tool name
<arg_key>argument name</arg_key>
<arg_value>value</arg_value>
</tool_call>

Write text as it is, everything else as JSON. Use one <tool_call> for each call, not in a code block. Then stop and wait: the results come in the next message, in <tool_response></tool_response> tags. Never write those yourself.`,
  ),
  renderCalls: (calls) => calls.map(renderCall).join('\n'),
  renderResults: (results) => renderTextResults(glm, results),
}

function renderCall(call: PastCall): string {
  const texts = plainTexts(glm, call, ['<arg_key>', '</arg_key>', '<arg_value>'], (key) => key !== '' && key.trim() === key)
  if (texts === undefined || texts.length === 0)
    return `<tool_call>${writeJson({ name: call.name, arguments: call.arguments }, glm)}</tool_call>`
  const pairs = texts.map(([key, text]) => `<arg_key>${key}</arg_key>\n<arg_value>${text}</arg_value>\n`).join('')
  return `<tool_call>${call.name}\n${pairs}</tool_call>`
}
