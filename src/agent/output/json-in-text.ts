import { jsonIn } from '../../core/json.ts'
import type { Json } from '../../core/messages.ts'
import { maxDepth } from '../../tools/arguments.ts'
import { PartialJson } from './partial-json.ts'

/** A position where an object or an array can begin. */
const starts = /\{(?=\s*["}])|\[(?=\s*[\]{["\-\dtfn])/g

/** The maximum number of characters to read, as a multiple of the text's length. Text that only looks like JSON is read more than once. */
const mostReadings = 4

/**
 * The objects and arrays in a text, in order. Nested objects and arrays are not listed separately. Stops after reading `mostReadings` times
 * the length of the text.
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
    // `PartialJson` accepts some invalid JSON, such as control characters in strings, so `JSON.parse` decides.
    const value = json.isWhole ? jsonIn(text.slice(start, start + length)) : undefined
    from = start + (value === undefined ? 1 : length)
    if (value !== undefined) yield value
  }
}
