import { show } from './errors.ts'
import type { Json } from './messages.ts'

/** Any value as plain JSON: what `JSON.stringify` makes of it, or, where that throws (a cycle, a getter), a short text. BigInts become texts. */
export function toJson(value: unknown): Json {
  try {
    return JSON.parse(JSON.stringify(value, (_key, item) => (typeof item === 'bigint' ? String(item) : item)) ?? 'null')
  } catch {
    return show(value)
  }
}
