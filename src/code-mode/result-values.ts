import { type Content, textOf } from '../core/messages.ts'

/**
 * A script is given the value that the text of a result is the JSON of, or the text if it is none. So a text that happens to be the JSON of a number, of
 * `true` or of another text is recorded as JSON itself. Texts that are an object or a list are read: that is how many tools return those.
 */
export function exactText(content: Content, value: unknown): Content {
  const isPlain = value === undefined || value === null || typeof value === 'number' || typeof value === 'boolean'
  return typeof content === 'string' && !isPlain && isMistakable(content, value) ? JSON.stringify(content) : content
}

/** What is sent to the script of a result as it is recorded. */
export function textForScript(content: Content, ok: boolean): string {
  if (typeof content === 'string') return content
  const text = textOf(content)
  return ok && isMistakable(text, undefined) ? JSON.stringify(text) : text
}

/** Notes for values that have no text. */
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
