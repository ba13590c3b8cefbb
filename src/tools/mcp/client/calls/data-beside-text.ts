import { isDeepStrictEqual } from 'node:util'
import { type ContentPart, isJsonObject, type Json } from '../../../../core/messages.ts'

/**
 * Adds the data of a result (`structuredContent`) to the parts that a model sees, unless they have it as text already. Servers should say it as text
 * too (https://modelcontextprotocol.io/specification/2025-11-25/server/tools#structured-content). Many have only a summary there, or nothing. Undefined
 * for data that is nested too deeply to be written.
 */
export function withData(parts: ContentPart[], data: Json): ContentPart[] | undefined {
  const texts = parts.flatMap((part) => (part.type === 'text' && part.text.trim() !== '' ? [part.text] : []))
  if (formsOf(data).some((form) => isSaidBy(texts, form))) return parts
  const told = parts.filter((part) => part.type !== 'text' || part.text.trim() !== '')
  // What is empty says nothing that a text does not.
  if (told.length > 0 && typeof data === 'object' && data !== null && Object.keys(data).length === 0) return told
  try {
    return [...told, { type: 'text', text: JSON.stringify(data) }]
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** SDKs put what is no object into one, in the field `result`; its text is that of the value itself. */
function formsOf(data: Json): Json[] {
  const isWrapped = isJsonObject(data) && Object.keys(data).length === 1 && data.result !== undefined
  return isWrapped ? [data, data.result as Json] : [data]
}

function isSaidBy(texts: readonly string[], data: Json): boolean {
  if (texts.some((text) => isSaid(text, data))) return true
  // The Python SDK makes a text of each item of a list.
  return Array.isArray(data) && data.length > 0 && data.length === texts.length && data.every((item, at) => isSaid(texts[at] ?? '', item))
}

/** Whether a text is this value: as it is, or as JSON with words around it. */
function isSaid(text: string, value: Json): boolean {
  if (typeof value === 'string' && text === value) return true
  try {
    return isDeepStrictEqual(JSON.parse(jsonPart(text, value)), value)
  } catch {
    // Not JSON: a summary.
    return false
  }
}

/** The part of a text that can be an object or a list as `value` is one. */
function jsonPart(text: string, value: Json): string {
  if (typeof value !== 'object' || value === null) return text
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  return text.slice(Math.max(0, text.indexOf(open)), text.lastIndexOf(close) + 1)
}
