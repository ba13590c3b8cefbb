import { show } from './errors.ts'
import { JsonScanner } from './json/json-scanner.ts'
import { type Json, setField } from './messages.ts'

/**
 * Converts any value to plain JSON. Uses `JSON.stringify`, with BigInts as texts. If that throws (a cycle, a getter), returns a short text.
 */
export function toJson(value: unknown): Json {
  try {
    return JSON.parse(JSON.stringify(value, (_key, item) => (typeof item === 'bigint' ? String(item) : item)) ?? 'null')
  } catch {
    return show(value)
  }
}

/** Parses JSON. Returns any other text unchanged. `reviver` is passed to `JSON.parse`. */
export function jsonOrText(text: string, reviver?: Parameters<typeof JSON.parse>[1]): Json {
  try {
    return JSON.parse(text, reviver)
  } catch {
    return text
  }
}

/** Parses JSON. Returns undefined for any other text. */
export function jsonIn(text: string): Json | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function isLargerThan(characters: number, value: unknown): boolean {
  return sizeUpTo(characters, value) > characters
}

/**
 * The approximate size of a value: the number of characters in its texts and names, plus 1 for each other value. The bytes of binary data
 * don't count. Stops counting as soon as the size exceeds `most`.
 */
export function sizeUpTo(most: number, value: unknown): number {
  const open: unknown[] = [value]
  let size = 0
  while (open.length > 0 && size <= most) {
    const item = open.pop()
    size += typeof item === 'string' ? item.length : 1
    if (typeof item !== 'object' || item === null) continue
    const inside = insideOf(item, most - size)
    if (inside === undefined) return most + 1
    for (const one of inside) open.push(one)
  }
  return size
}

/** The contents of an object. Undefined if there are more than `most`. Empty if the object can't be read. */
function insideOf(item: object, most: number): unknown[] | undefined {
  try {
    if (ArrayBuffer.isView(item) || item instanceof ArrayBuffer) return []
    if (item instanceof Map || item instanceof Set) return item.size > most ? undefined : [...item]
    if (Array.isArray(item)) return item.length > most ? undefined : [...item]
    const keys = Object.keys(item)
    return keys.length > most ? undefined : keys.flatMap((key) => [key, fieldOf(item, key)])
  } catch {
    return []
  }
}

/** Reads a field whose getter may throw. */
function fieldOf(item: object, key: string): unknown {
  try {
    return Reflect.get(item, key)
  } catch {
    return undefined
  }
}

/** The JSON type of a value: `'null'`, `'array'`, `'object'`, `'string'`, `'number'` or `'boolean'`. */
export function jsonType(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

/** Whether a value is nested more deeply than `levels`. Looks no deeper, so it is safe for cyclic values. */
export function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || (Array.isArray(value) ? value : Object.values(value)).some((item) => isDeeperThan(levels - 1, item))
}

/** More deeply nested values are left to `JSON.stringify`, which throws if a value contains itself. */
const mostLevels = 1_000

/** Does the same as `JSON.parse(JSON.stringify(value))`, but shares texts instead of copying them. */
export function copyAsJson<T extends object>(value: T): T {
  return jsonOf(value, 0) as T
}

function jsonOf(value: unknown, level: number): unknown {
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : null
  if (typeof value !== 'object' || value === null) return typeof value === 'bigint' ? JSON.stringify(value) : value
  if (level > mostLevels || !isPlain(value) || 'toJSON' in value) {
    const json: string | undefined = JSON.stringify(value)
    return json === undefined ? undefined : JSON.parse(json)
  }
  if (Array.isArray(value)) {
    const items: unknown[] = []
    for (const item of value) items.push(typeof item === 'string' ? item : hasJson(item) ? (jsonOf(item, level + 1) ?? null) : null)
    return items
  }
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(value)) {
    const item: unknown = Reflect.get(value, key)
    if (!hasJson(item)) continue
    const json = jsonOf(item, level + 1)
    if (json !== undefined) setField(copy, key, json)
  }
  return copy
}

function hasJson(value: unknown): boolean {
  return value !== undefined && typeof value !== 'function' && typeof value !== 'symbol'
}

/**
 * The largest number of values in a copy. Data that is referenced from several places is copied once for each reference, so a small
 * value may have a large copy.
 */
const mostValues = 200_000

/** Copies plain data and shares its texts. Undefined if any part of the data is not plain, or if the data is too large. */
export function copyPlain<T extends object>(value: T): T | undefined {
  const copy = plainCopy(value, 0, { left: mostValues })
  return copy === notPlain ? undefined : (copy as T)
}

const notPlain = Symbol('not plain')

function plainCopy(value: unknown, level: number, values: { left: number }): unknown {
  if (--values.left < 0) return notPlain
  if (typeof value === 'function' || typeof value === 'symbol') return notPlain
  if (typeof value !== 'object' || value === null) return value
  if (level > mostLevels || !isPlain(value)) return notPlain
  if (Array.isArray(value)) {
    const items: unknown[] = []
    for (const item of value) {
      const copy = typeof item === 'string' ? item : plainCopy(item, level + 1, values)
      if (copy === notPlain) return notPlain
      items.push(copy)
    }
    return items
  }
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(value)) {
    const field = plainCopy(Reflect.get(value, key), level + 1, values)
    if (field === notPlain) return notPlain
    setField(copy, key, field)
  }
  return copy
}

/** Like `isDeepStrictEqual` of `node:util`. The module is loaded on first use. */
export function isDeepEqual(a: unknown, b: unknown): boolean {
  return a === b || process.getBuiltinModule('node:util').isDeepStrictEqual(a, b)
}

/** `Array.isArray` with a type guard that works for readonly arrays. */
export function isList<T>(value: T): value is Extract<T, readonly unknown[]> {
  return Array.isArray(value)
}

function isPlain(value: object): boolean {
  if (Array.isArray(value)) return true
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

const [comma, bracket, closingBracket, brace, closingBrace] = [44, 91, 93, 123, 125]

/**
 * Counts the values of JSON that arrives in pieces. Parsing many values would be slow, so the JSON is not parsed. Objects, arrays, strings,
 * numbers, `true`, `false` and `null` are values. Keys are not.
 */
export class ValueCount {
  // JSON strings contain no line breaks. If a string is cut at a line break, a stray quote can't hide the values that follow.
  readonly #json = new JsonScanner({ endsWithLine: true })
  #values = 0
  /** Whether the next character starts a value, unless it is a closing bracket. */
  #mayBegin = true

  /** Reads more of the text, or of its UTF-8 bytes. Returns the number of values so far. */
  add(piece: string | Uint8Array): number {
    for (let at = 0; at < piece.length; at++) this.#read(typeof piece === 'string' ? piece.charCodeAt(at) : (piece[at] ?? 0))
    return this.#values
  }

  #read(code: number): void {
    if (!this.#json.read(code)) return
    if (code === comma || (this.#mayBegin && code !== closingBracket && code !== closingBrace)) this.#values++
    this.#mayBegin = code === bracket || code === brace
  }
}

export function countValues(json: string): number {
  return new ValueCount().add(json)
}

/** Whether a value contains more than `most` values, counting itself. Stops as soon as that is known. */
export function hasMoreValues(most: number, value: unknown): boolean {
  const open: unknown[] = [value]
  let count = 1
  for (let item = open.pop(); item !== undefined && count <= most; item = open.pop()) {
    if (typeof item !== 'object' || item === null) continue
    const inner: unknown[] = Array.isArray(item) ? item : Object.values(item)
    count += inner.length
    if (count <= most) for (const one of inner) if (typeof one === 'object' && one !== null) open.push(one)
  }
  return count > most
}

/** Parses JSON. Returns undefined if the text has more than `most` values. Otherwise throws a `SyntaxError` for a text that is not JSON. */
export function parseUpTo(most: number, json: string): unknown {
  // Each value takes at least two characters, including the comma or bracket before it.
  return json.length > 2 * most && countValues(json) > most ? undefined : JSON.parse(json)
}
