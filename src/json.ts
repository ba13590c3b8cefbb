import { show } from './errors.ts'
import type { Json } from './messages.ts'

/** Any value as plain JSON: what `JSON.stringify` makes of it, or, where that throws (a cycle, a BigInt, a getter), a short text. */
export function toJson(value: unknown): Json {
  try {
    return JSON.parse(JSON.stringify(value) ?? 'null')
  } catch {
    return show(value)
  }
}
