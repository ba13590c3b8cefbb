import { type NamedJsonOptions, readNamedJson, wrapperOf } from './bodies/named-json.ts'
import type { Envelope } from './dialect.ts'

/**
 * `<｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{…}<｜tool▁call▁end｜>` of DeepSeek V3.1, and V3's `function<｜tool▁sep｜>NAME` with the arguments
 * in a fence. Some servers write the bars in ASCII. https://huggingface.co/deepseek-ai/DeepSeek-V3.1
 */
export const deepseekEnvelopes: readonly Envelope[] = ['｜', '|'].flatMap((bar): Envelope[] => {
  const token = (name: string): string => `<${bar}${name}${bar}>`
  const begin = token('tool▁call▁begin')
  const separator = token('tool▁sep')
  const close = [token('tool▁call▁end'), token('tool▁calls▁end')]
  const named: NamedJsonOptions = { separators: [separator], open: [begin], close, nameOf: (head) => nameIn(head, separator) }
  return [
    {
      open: [begin],
      close: [...close, token('end▁of▁sentence')],
      read: (reading) => readNamedJson(reading, named),
    },
    { open: [token('tool▁calls▁begin')], read: wrapperOf([begin]) },
  ]
})

/** What stands behind the separator, if anything but a fence does; else what is before it. */
function nameIn(head: string, separator: string): string {
  const [before = '', behind = ''] = head.split(separator)
  const name = behind.replace(/```\w*\s*$/, '').trim()
  return name === '' ? before.trim() : name
}
