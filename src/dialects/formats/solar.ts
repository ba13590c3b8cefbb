import { type NamedJsonOptions, readNamedJson, wrapperOf } from '../bodies/json/named-json.ts'
import type { PairTags } from '../bodies/tags/arg-pairs.ts'
import { callTag } from '../bodies/tags/tool-call-tag.ts'
import type { Envelope } from '../dialect.ts'

const begin = '<|tool_call:begin|>'
const nameMark = '<|tool_call:name|>'
const argumentsMark = '<|tool_call:args|>'
const end = '<|tool_call:end|>'
const named: NamedJsonOptions = {
  separators: [nameMark, argumentsMark],
  open: [begin],
  close: [end],
  nameOf: (head) => head.slice(head.indexOf(nameMark) + nameMark.length).replace(argumentsMark, ''),
}

const pairs: PairTags = {
  key: '<|tool_arg:start|>',
  value: '<|tool_arg:value|>',
  valueEnd: '<|tool_arg:end|>',
  open: '<|tool_call:start|>',
  close: '<|tool_call:end|>',
}

/**
 * Reads `<|tool_call:begin|>ID<|tool_call:name|>NAME<|tool_call:args|>{…}<|tool_call:end|>` as Solar Open writes it. Also reads Solar Open
 * 2's `<|tool_call:start|>NAME` with `<|tool_arg:start|>KEY<|tool_arg:value|>value<|tool_arg:end|>`.
 * https://huggingface.co/upstage/Solar-Open-100B
 */
export const solarEnvelopes: readonly Envelope[] = [
  { open: [begin], close: [end, '<|calls|>', '<|flush|>'], read: (reading) => readNamedJson(reading, named) },
  { open: ['<|tool_calls|>'], read: wrapperOf([begin]) },
  { open: [pairs.open], close: [pairs.close], read: callTag(pairs) },
]
