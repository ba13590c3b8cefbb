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

/** The JSON type of a value: `'null'`, `'array'`, `'object'`, `'string'`, `'number'` or `'boolean'`. */
export function jsonType(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

/** Whether a value is nested more than so many levels deep. Looks no deeper, so that it can be asked of anything. */
export function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((item) => isDeeperThan(levels - 1, item))
}
