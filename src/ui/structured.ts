import { isDeeperThan, jsonOrText } from '../core/json.ts'
import { isJsonObject, type Json } from '../core/messages.ts'

/**
 * Parses a result that is a JSON object or array, so that the page shows the value that the tool returned. Returns any other result as
 * text.
 */
export function structured(result: string): Json {
  return /^[[{]/.test(result) ? sendable(result) : result
}

/** Returns the arguments of a call as an object. If they are not an object, returns the text that the model wrote. */
export function structuredArguments(written: string): Json {
  if (written === '') return {}
  const value = sendable(written)
  return isJsonObject(value) ? value : written
}

/** Maximum depth of the JSON. Node.js before version 26 supports only a few thousand levels. */
const maxLevels = 1_000

/** Parses JSON. Returns the JSON text itself if the parsed value can't be sent or if parsing loses digits of a number. */
function sendable(json: string): Json {
  if (losesDigits(json)) return json
  const value = jsonOrText(json)
  return isDeeperThan(maxLevels, value) ? json : value
}

/** Whether a JSON text contains a number with more digits than a JavaScript number holds, such as a long id. */
function losesDigits(json: string): boolean {
  if (!/\d{16}/.test(json)) return false
  const numbers = json.replace(/"[^"\\]*(?:\\.[^"\\]*)*"?/gs, '""').match(/-?\d[\d.eE+-]{15,}/g) ?? []
  return numbers.some((number) => String(Number(number)) !== number)
}
