import { isJsonObject, type Json } from './messages.ts'

/**
 * Returns the SHA-256 digest of a text as base64url. `node:crypto` is loaded on first use, because it would make importing this package
 * much slower.
 */
export function digestOf(text: string): string {
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(text).digest('base64url')
}

/** Returns a hash of a JSON value. The order of object keys does not matter. */
export function hashOf(value: Json): string {
  return digestOf(JSON.stringify(sorted(value)))
}

/**
 * Returns the value with the keys of every object sorted. Copies only objects whose keys are not sorted. A replacer for `JSON.stringify`
 * would be slower, because it is called for each value.
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
