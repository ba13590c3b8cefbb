import type { Json } from '../core/messages.ts'

/** A result that is the JSON of an object or an array, as that: a tool that returned one is shown as having done so. Any other as its text. */
export function structured(result: string): Json {
  if (!/^[[{]/.test(result)) return result
  try {
    return JSON.parse(result)
  } catch {
    return result
  }
}
