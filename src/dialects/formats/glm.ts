import { readToolCallTag } from '../bodies/tags/tool-call-tag.ts'
import type { Dialect, PastCall } from '../dialect.ts'
import { defuse, describeToolsAsJson, markersOf, writeJson, writeText } from '../render.ts'

/**
 * `<tool_call>NAME<arg_key>KEY</arg_key><arg_value>value</arg_value></tool_call>`, as GLM-4.5 and later write it.
 * https://huggingface.co/zai-org/GLM-4.5
 */
export const glm: Dialect = {
  name: 'glm',
  envelopes: [{ open: ['<tool_call>'], close: ['</tool_call>', '</arg_value>'], read: readToolCallTag }],
  resultMarkers: ['<tool_response>', '<|observation|>'],
  prompt: (tools) =>
    tools.length === 0
      ? describeToolsAsJson(tools)
      : `${describeToolsAsJson(tools)}

To call a tool, write its name and the name and value of each argument, like this:

<tool_call>tool name
<arg_key>argument name</arg_key>
<arg_value>value</arg_value>
</tool_call>

Write text as it is, everything else as JSON. Use one <tool_call> for each call, not in a code block. Then stop and wait: the results come in the next message, in <tool_response></tool_response> tags. Never write those yourself.`,
  renderCalls: (calls) => calls.map(renderCall).join('\n'),
  renderResults: (results) =>
    results
      .map(({ content, isError }) => `<tool_response>\n${isError ? 'Error: ' : ''}${defuse(content, glm)}\n</tool_response>`)
      .join('\n'),
}

function renderCall({ name, arguments: args }: PastCall): string {
  const values = Object.entries(args).map(([key, value]) => [key, writeText(value)] as const)
  const markers = [...markersOf(glm), '<arg_key>', '</arg_key>', '<arg_value>']
  const safe = (text: string): boolean => !markers.some((marker) => text.includes(marker))
  // Nothing can be escaped in this form: what would be taken for a tag is written as JSON, which the tag may hold too.
  const plain = values.every(([key, text]) => key.trim() === key && key !== '' && safe(key) && safe(text))
  if (!plain) return `<tool_call>${writeJson({ name, arguments: args }, glm)}</tool_call>`
  const pairs = values.map(([key, text]) => `<arg_key>${key}</arg_key>\n<arg_value>${text}</arg_value>\n`).join('')
  return values.length === 0
    ? `<tool_call>${writeJson({ name, arguments: {} }, glm)}</tool_call>`
    : `<tool_call>${name}\n${pairs}</tool_call>`
}
