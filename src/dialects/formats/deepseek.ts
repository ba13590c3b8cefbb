import { type NamedJsonOptions, readNamedJson, wrapperOf } from '../bodies/json/named-json.ts'
import type { Envelope } from '../dialect.ts'

/** The characters that DeepSeek's tokens use as bars and between words: the original pair, and replacements that some servers print. */
const spellings = [
  ['｜', '▁'],
  ['｜', ' '],
  ['|', '▁'],
] as const

/**
 * Reads `<｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{…}<｜tool▁call▁end｜>`, as DeepSeek V3.1 writes it. Also reads V3's `function<｜tool▁sep｜>NAME`,
 * which has the arguments in a fence. R1 omits the token before the first call. https://huggingface.co/deepseek-ai/DeepSeek-V3.1
 */
export const deepseekEnvelopes: readonly Envelope[] = spellings.flatMap(([bar, joint]): Envelope[] => {
  const token = (name: string): string => `<${bar}${name.replaceAll(' ', joint)}${bar}>`
  const begin = token('tool call begin')
  const separator = token('tool sep')
  const close = [token('tool call end'), token('tool calls end')]
  const named: NamedJsonOptions = { separators: [separator], open: [begin], close, nameOf: (head) => nameIn(head, separator) }
  const bareFunction = `function${separator}`
  return [
    {
      open: [begin, bareFunction],
      close: [...close, token('end of sentence')],
      read: (reading) => {
        if (reading.opener === bareFunction) reading.cursor.unread(bareFunction)
        return readNamedJson(reading, named)
      },
    },
    { open: [token('tool calls begin')], read: wrapperOf([begin, bareFunction]) },
  ]
})

/** V3 writes the name after the separator, and V3.1 before it. */
function nameIn(head: string, separator: string): string {
  const [before = '', behind = ''] = head.split(separator)
  const name = behind.replace(/```\w*\s*$/, '').trim()
  return name === '' ? before.trim() : name
}
