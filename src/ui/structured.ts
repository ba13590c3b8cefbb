import { jsonOrText } from '../core/json.ts'
import type { Json } from '../core/messages.ts'

/** A result that is the JSON of an object or an array, as that: a tool that returned one is shown as having done so. Any other as its text. */
export function structured(result: string): Json {
  return /^[[{]/.test(result) ? jsonOrText(result) : result
}
