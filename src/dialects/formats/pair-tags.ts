import { wrapperOf } from '../bodies/json/named-json.ts'
import type { PairTags } from '../bodies/tags/arg-pairs.ts'
import { callTag } from '../bodies/tags/tool-call-tag.ts'
import type { Envelope } from '../dialect.ts'

/** LongCat's tags, which may also contain JSON: https://huggingface.co/meituan-longcat/LongCat-Flash-Chat */
const longcat: PairTags = {
  key: '<longcat_arg_key>',
  keyEnd: '</longcat_arg_key>',
  value: '<longcat_arg_value>',
  valueEnd: '</longcat_arg_value>',
  open: '<longcat_tool_call>',
  close: '</longcat_tool_call>',
}

/** Hunyuan 3's tags: https://huggingface.co/tencent */
const hunyuan: PairTags = {
  key: '<arg_key:opensource>',
  keyEnd: '</arg_key:opensource>',
  value: '<arg_value:opensource>',
  valueEnd: '</arg_value:opensource>',
  open: '<tool_call:opensource>',
  close: '</tool_call:opensource>',
  behindName: '<tool_sep:opensource>',
}

/** Reads calls in GLM's form with the tags of other families: `<longcat_tool_call>NAME<longcat_arg_key>KEY</longcat_arg_key>…`. */
export const pairTagEnvelopes: readonly Envelope[] = [
  ...[longcat, hunyuan].map((tags) => ({ open: [tags.open], close: [tags.close], read: callTag(tags) })),
  { open: ['<tool_calls:opensource>'], close: ['</tool_calls:opensource>'], read: wrapperOf([hunyuan.open]) },
]
