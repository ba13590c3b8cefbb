import { isJsonObject, type Json } from './messages.ts'

/**
 * Returns the SHA-256 digest of a text as base64url. Loads `node:crypto` on first use, because it would make importing this package much
 * slower.
 */
export function digestOf(text: string): string {
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(text).digest('base64url')
}

/** The same hash for the same value, regardless of the order of its keys. */
export function hashOf(value: Json): string {
  return digestOf(JSON.stringify(sorted(value)))
}

/**
 * The value with the keys of every object in order. Copies only objects whose keys are not sorted. A replacer for `JSON.stringify` would be
 * called for each value and take several times as long.
 */
export function sorted(value: Json): Json {
  if (Array.isArray(value)) {
    if (value.every((item) => typeof item !== 'object')) return value
    const items = value.map(sorted)
    return items.every((item, at) => item === value[at]) ? value : items
  }
  if (!isJsonObject(value)) return value
  const fields = Object.entries(value)
  let isSorted = true
  for (const [at, field] of fields.entries()) {
    const [key, item] = field
    field[1] = sorted(item as Json)
    isSorted &&= field[1] === item && (at === 0 || String(fields[at - 1]?.[0]) < key)
  }
  return isSorted ? value : (Object.fromEntries(fields.sort(([a], [b]) => (a < b ? -1 : 1))) as Json)
}
