import { type NamedJsonOptions, readNamedJson, wrapperOf } from '../bodies/json/named-json.ts'
import type { Envelope } from '../dialect.ts'

const begin = '<|tool_call_begin|>'
const end = '<|tool_call_end|>'
const sectionBegins = ['<|tool_calls_section_begin|>', '<|tool_call_section_begin|>']
const sectionEnds = ['<|tool_calls_section_end|>', '<|tool_call_section_end|>']
const named: NamedJsonOptions = { separators: ['<|tool_call_argument_begin|>'], open: [begin], close: [end, ...sectionEnds] }

/**
 * Reads `<|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>{…}<|tool_call_end|>`, as Kimi K2 writes it. The tokens around the
 * calls may be written `tool_calls_section` or `tool_call_section`.
 * https://huggingface.co/moonshotai/Kimi-K2-Instruct/blob/main/docs/tool_call_guidance.md
 */
export const kimiEnvelopes: readonly Envelope[] = [
  {
    open: [begin],
    close: [end, ...sectionEnds],
    read: (reading) => readNamedJson(reading, named),
  },
  { open: sectionBegins, read: wrapperOf([begin]) },
]
