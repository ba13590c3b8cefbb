import { jsonIn } from '../../core/json.ts'
import type { Json } from '../../core/messages.ts'
import { maxDepth } from '../../tools/arguments.ts'
import { PartialJson } from './partial-json.ts'

/** A position where an object or an array can begin. */
const starts = /\{(?=\s*["}])|\[(?=\s*[\]{["\-\dtfn])/g

/** The maximum number of characters to read, in multiples of the text's length. A part that only looks like JSON is read more than once. */
const mostReadings = 4

/**
 * The objects and arrays in a text, in order. Nested objects and arrays are not listed separately. Reads the text only a few times: if too
 * many parts begin like JSON and are not valid, skips the rest.
 */
export function* jsonInText(text: string): Iterable<Json> {
  let left = mostReadings * text.length
  let from = 0
  while (left > 0) {
    starts.lastIndex = from
    const start = starts.exec(text)?.index
    if (start === undefined) return
    const json = new PartialJson(maxDepth)
    const length = json.add(text.slice(start))
    left -= length
    // Only `JSON.parse` knows every rule, such as which characters a text may contain.
    const value = json.isWhole ? jsonIn(text.slice(start, start + length)) : undefined
    from = start + (value === undefined ? 1 : length)
    if (value !== undefined) yield value
  }
}
