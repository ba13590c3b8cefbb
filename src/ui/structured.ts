import { jsonOrText } from '../core/json.ts'
import { isJsonObject, type Json } from '../core/messages.ts'

/** A result that is the JSON of an object or an array, as that: a tool that returned one is shown as having done so. Any other as its text. */
export function structured(result: string): Json {
  return /^[[{]/.test(result) && !losesDigits(result) ? jsonOrText(result) : result
}

/** A call's arguments: the object, or the text as the model wrote it if it is none. */
export function structuredArguments(written: string): Json {
  if (written === '') return {}
  const value = losesDigits(written) ? written : jsonOrText(written)
  return isJsonObject(value) ? value : written
}

/** Whether a JSON text has a number with more digits than JavaScript keeps, such as a long id. */
function losesDigits(json: string): boolean {
  if (!/\d{16}/.test(json)) return false
  const numbers = json.replace(/"(?:[^"\\]|\\.)*"/gs, '""').match(/-?\d[\d.eE+-]{15,}/g) ?? []
  return numbers.some((number) => String(Number(number)) !== number)
}
