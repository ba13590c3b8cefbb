import { type NamedJsonOptions, readNamedJson, wrapperOf } from './bodies/named-json.ts'
import type { Envelope } from './dialect.ts'

const begin = '<|tool_call_begin|>'
const end = '<|tool_call_end|>'
const sectionEnd = '<|tool_calls_section_end|>'
const named: NamedJsonOptions = { separators: ['<|tool_call_argument_begin|>'], open: [begin], close: [end, sectionEnd] }

/**
 * `<|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>{…}<|tool_call_end|>`, in a section of its own.
 * https://huggingface.co/moonshotai/Kimi-K2-Instruct/blob/main/docs/tool_call_guidance.md
 */
export const kimiEnvelopes: readonly Envelope[] = [
  {
    open: [begin],
    close: [end, sectionEnd],
    read: (reading) => readNamedJson(reading, named),
  },
  { open: ['<|tool_calls_section_begin|>'], read: wrapperOf([begin]) },
]
