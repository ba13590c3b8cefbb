import { type Content, textOf } from '../core/messages.ts'

/**
 * If the text of a result is JSON, the script gets the parsed value. Otherwise it gets the text itself. A text that merely looks like JSON,
 * such as a text `42` or `true`, is therefore recorded as a JSON string. The text of a JSON object or array is still parsed, because many
 * tools return those as text.
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

/** Placeholders for values that have no text form. */
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
