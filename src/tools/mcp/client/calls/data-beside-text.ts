import { isDeepStrictEqual } from 'node:util'
import { type ContentPart, isJsonObject, type Json } from '../../../../core/messages.ts'

/**
 * Adds the structured data of a result (`structuredContent`) to the parts that a model sees, unless they already contain it as text.
 * Servers should include the data as text (https://modelcontextprotocol.io/specification/2025-11-25/server/tools#structured-content), but
 * many servers include only a summary, or no text at all. Undefined if the data is nested too deeply to be written.
 */
export function withData(parts: ContentPart[], data: Json): ContentPart[] | undefined {
  const told = parts.filter((part) => part.type !== 'text' || part.text.trim() !== '')
  const texts = told.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  // Empty data adds nothing to a text.
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
 * Maximum length, in characters, of texts and pictures in the data that may be sent twice. Longer texts and pictures are removed from the
 * data.
 */
const longestRepeat = 200

function withoutRepeats(told: readonly ContentPart[]): (key: string, value: unknown) => unknown {
  const said = new Set(told.map((part) => (part.type === 'text' ? part.text : 'data' in part ? part.data : '')))
  return (_key, value) => (typeof value === 'string' && value.length > longestRepeat && said.has(value) ? '(see above)' : value)
}

/**
 * Returns the values that the text of a result may represent. Many servers wrap a value that is not an object in an object with a single
 * field, but write only the value as text.
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

/** Whether a text represents this value, either literally or as JSON with words around it. */
function isSaid(text: string, value: Json): boolean {
  if (typeof value === 'string' && text === value) return true
  try {
    return isDeepStrictEqual(JSON.parse(jsonPart(text, value)), value)
  } catch {
    // The text is not JSON, so it is a summary.
    return false
  }
}

/** Returns the part of a text that may be the JSON of `value`, if `value` is an object or a list. */
function jsonPart(text: string, value: Json): string {
  if (typeof value !== 'object' || value === null) return text
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  return text.slice(Math.max(0, text.indexOf(open)), text.lastIndexOf(close) + 1)
}
