import { jsonIn } from '../../core/json.ts'
import type { Json } from '../../core/messages.ts'
import { maxDepth } from '../../tools/arguments.ts'
import { PartialJson } from './partial-json.ts'

/** Where an object or an array can begin. */
const starts = /\{(?=\s*["}])|\[(?=\s*[\]{["\-\dtfn])/g

/** How often a text is read if its parts that begin like JSON are not JSON. */
const mostReadings = 4

/**
 * The objects and arrays in a text, each as a whole, in order, without those inside others. Reads the text at most a few times: if too many
 * parts begin like JSON and are not, the rest is skipped.
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
    // `JSON.parse` alone knows all rules, such as which characters a text may hold.
    const value = json.isWhole ? jsonIn(text.slice(start, start + length)) : undefined
    from = start + (value === undefined ? 1 : length)
    if (value !== undefined) yield value
  }
}
