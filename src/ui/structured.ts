import { isDeeperThan, jsonOrText } from '../core/json.ts'
import { isJsonObject, type Json } from '../core/messages.ts'

/** A result that is the JSON of an object or an array, as that: a tool that returned one is shown as having done so. Any other as its text. */
export function structured(result: string): Json {
  return /^[[{]/.test(result) ? sendable(result) : result
}

/** A call's arguments: the object, or the text as the model wrote it if it is none. */
export function structuredArguments(written: string): Json {
  if (written === '') return {}
  const value = sendable(written)
  return isJsonObject(value) ? value : written
}

/** Node.js 26 writes JSON of any depth, earlier versions up to a few thousand levels. */
const maxLevels = 1_000

/** The text itself if its value could not be sent, or would not be the same. */
function sendable(json: string): Json {
  if (losesDigits(json)) return json
  const value = jsonOrText(json)
  return isDeeperThan(maxLevels, value) ? json : value
}

/** Whether a JSON text has a number with more digits than JavaScript keeps, such as a long id. */
function losesDigits(json: string): boolean {
  if (!/\d{16}/.test(json)) return false
  const numbers = json.replace(/"[^"\\]*(?:\\.[^"\\]*)*"?/gs, '""').match(/-?\d[\d.eE+-]{15,}/g) ?? []
  return numbers.some((number) => String(Number(number)) !== number)
}
