import { show } from './errors.ts'
import { type Json, setField } from './messages.ts'

/** Any value as plain JSON: what `JSON.stringify` makes of it, or, where that throws (a cycle, a getter), a short text. BigInts become texts. */
export function toJson(value: unknown): Json {
  try {
    return JSON.parse(JSON.stringify(value, (_key, item) => (typeof item === 'bigint' ? String(item) : item)) ?? 'null')
  } catch {
    return show(value)
  }
}

/** The value of a JSON text; any other text as it is. `reviver`: as of `JSON.parse`. */
export function jsonOrText(text: string, reviver?: Parameters<typeof JSON.parse>[1]): Json {
  try {
    return JSON.parse(text, reviver)
  } catch {
    return text
  }
}

/** The value of a JSON text; undefined for any other. */
export function jsonIn(text: string): Json | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether there is more in a value than so many characters of texts, names and values, bytes not counted. Looks no further than that. */
export function isLargerThan(characters: number, value: unknown): boolean {
  const open: unknown[] = [value]
  let left = characters
  while (open.length > 0) {
    const item = open.pop()
    left -= typeof item === 'string' ? item.length : 1
    if (left < 0) return true
    if (typeof item !== 'object' || item === null) continue
    const inside = insideOf(item, left)
    if (inside === undefined) return true
    for (const one of inside) open.push(one)
  }
  return false
}

/** What an object holds; undefined where that is more than so much, nothing where it can't be looked into: a revoked proxy. */
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

/** A getter may throw. */
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

/** Whether a value is nested more than so many levels deep. Looks no deeper, so that it can be asked of anything. */
export function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || (Array.isArray(value) ? value : Object.values(value)).some((item) => isDeeperThan(levels - 1, item))
}

/** Deeper than plain data is, or one that holds itself: `JSON.stringify` says which. */
const mostLevels = 1_000

/** What `JSON.parse(JSON.stringify(value))` gives, and throws, but long texts are shared instead of written out and read again. */
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

/** What is referred to from several places is copied for each: past so many values, that is what has happened. */
const mostValues = 200_000

/** A copy of plain data that shares its texts; undefined where something in it is not plain data, or there is too much of it. */
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

/** `isDeepStrictEqual` of `node:util`, which is loaded when it is needed. */
export function isDeepEqual(a: unknown, b: unknown): boolean {
  return a === b || process.getBuiltinModule('node:util').isDeepStrictEqual(a, b)
}

/** `Array.isArray` that knows lists that can't be changed. */
export function isList<T>(value: T): value is Extract<T, readonly unknown[]> {
  return Array.isArray(value)
}

function isPlain(value: object): boolean {
  if (Array.isArray(value)) return true
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
