import { isDeepStrictEqual } from 'node:util'
import { type ContentPart, isJsonObject, type Json } from '../../../../core/messages.ts'

/**
 * Appends the structured data of a result (`structuredContent`) as JSON, unless the text already contains it. Servers should include the
 * data as text (https://modelcontextprotocol.io/specification/2025-11-25/server/tools#structured-content), but many servers include only a
 * summary, or no text at all. Undefined if the data is nested too deeply to be written.
 */
export function withData(parts: ContentPart[], data: Json): ContentPart[] | undefined {
  const told = parts.filter((part) => part.type !== 'text' || part.text.trim() !== '')
  const texts = told.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  const isEmpty = typeof data === 'object' && data !== null && Object.keys(data).length === 0
  if (formsOf(data).some((form) => isSaidBy(texts, form)) || (isEmpty && told.length > 0)) return parts
  try {
    return [...told, { type: 'text', text: JSON.stringify(data, withoutRepeats(told)) }]
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/**
 * Maximum length of texts and pictures to repeat in the appended data, in characters. Longer texts and pictures are replaced by `(see
 * above)`.
 */
const longestRepeat = 200

function withoutRepeats(told: readonly ContentPart[]): (key: string, value: unknown) => unknown {
  const said = new Set(told.map((part) => (part.type === 'text' ? part.text : 'data' in part ? part.data : '')))
  return (_key, value) => (typeof value === 'string' && value.length > longestRepeat && said.has(value) ? '(see above)' : value)
}

/**
 * Returns the data itself, and its value if the data is an object with a single field. Many servers wrap a value in such an object, but
 * write only the value as text.
 */
function formsOf(data: Json): Json[] {
  const [only, ...others] = isJsonObject(data) ? Object.values(data) : []
  return only === undefined || others.length > 0 ? [data] : [data, only as Json]
}

function isSaidBy(texts: readonly string[], data: Json): boolean {
  if (texts.some((text) => isSaid(text, data))) return true
  // The Python SDK creates one text for each item of a list.
  return Array.isArray(data) && data.length > 0 && data.length === texts.length && data.every((item, at) => isSaid(texts[at] ?? '', item))
}

/** Whether the text is this value, or contains it as JSON. */
function isSaid(text: string, value: Json): boolean {
  if (typeof value === 'string' && text === value) return true
  try {
    return isDeepStrictEqual(JSON.parse(jsonPart(text, value)), value)
  } catch {
    return false
  }
}

/** Returns the part of a text that may be the JSON of `value`, if `value` is an object or a list. */
function jsonPart(text: string, value: Json): string {
  if (typeof value !== 'object' || value === null) return text
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  return text.slice(Math.max(0, text.indexOf(open)), text.lastIndexOf(close) + 1)
}
