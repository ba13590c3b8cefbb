import { type Content, textOf } from '../core/messages.ts'

/**
 * Returns the recorded content for a tool's return value. A script gets content that is valid JSON as a value, and other content as text. A
 * returned text such as `42` or `true` is therefore recorded as a JSON string, so that it stays text. The text of a JSON object or array is
 * recorded unchanged, because many tools return their data as JSON text.
 */
export function exactText(content: Content, value: unknown): Content {
  const isPlain = value === undefined || value === null || typeof value === 'number' || typeof value === 'boolean'
  return typeof content === 'string' && !isPlain && isMistakable(content, value) ? JSON.stringify(content) : content
}

/** Returns the text that the script gets for a recorded result. */
export function textForScript(content: Content, ok: boolean): string {
  if (typeof content === 'string') return content
  const text = textOf(content)
  return ok && isMistakable(text, undefined) ? JSON.stringify(text) : text
}

/** Placeholders that stand for values without a text form. */
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
