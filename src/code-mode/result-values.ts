import { type Content, textOf } from '../core/messages.ts'

/**
 * If the text of a result is JSON, a script gets its value, otherwise the text. So a text that happens to be the JSON of a number, of
 * `true` or of another text is recorded as JSON itself. A text that holds an object or a list is parsed, because many tools return those as
 * text.
 */
export function exactText(content: Content, value: unknown): Content {
  const isPlain = value === undefined || value === null || typeof value === 'number' || typeof value === 'boolean'
  return typeof content === 'string' && !isPlain && isMistakable(content, value) ? JSON.stringify(content) : content
}

/** The text that the script gets for a recorded result. */
export function textForScript(content: Content, ok: boolean): string {
  if (typeof content === 'string') return content
  const text = textOf(content)
  return ok && isMistakable(text, undefined) ? JSON.stringify(text) : text
}

/** The notes that replace values without text. */
const notes: ReadonlyMap<string, unknown> = new Map([
  ['(no result)', undefined],
  ['(empty result)', ''],
])

function isMistakable(text: string, value: unknown): boolean {
  if (notes.has(text)) return notes.get(text) !== value
  if (!/^[\s"\d\-tfn]/.test(text)) return false
  try {
    const read: unknown = JSON.parse(text)
    return typeof read !== 'object' || read === null
  } catch {
    return false
  }
}
