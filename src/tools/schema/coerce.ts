import { clip } from '../../core/errors.ts'
import { jsonIn, jsonType } from '../../core/json.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import type { JsonSchema } from '../tool.ts'

/** A schema may refer to itself. */
const maxDepth = 64

/**
 * A copy of arguments that were written as text, with values converted to the type their schema asks for where exactly one reading is
 * possible: `"5"` for an integer, `"true"` for a boolean, `'["a"]'` for an array, `5` for a text. Other values stay as they are, for the
 * validator to report. Arguments of native calls are never coerced.
 */
export function coerceArguments(args: JsonObject, schema: JsonSchema): JsonObject {
  const coerced = coerce(args, schema, schema, 0)
  return isJsonObject(coerced) ? coerced : args
}

/** How many coerced values are named. */
const maxNamed = 10

/** What coercion has changed, in words. */
export function coercions(before: JsonObject, after: JsonObject): string[] {
  const changed = changedIn(before, after, '')
  const named = changed.slice(0, maxNamed).map(({ path, kind }) => `\`${clip(path)}\` read as ${kind}`)
  return changed.length > maxNamed ? [...named, `${changed.length - maxNamed} more values read by the schema`] : named
}

function changedIn(before: Json, after: Json, path: string): { path: string; kind: string }[] {
  if (isJsonObject(before) && isJsonObject(after)) {
    const earlier = new Map(Object.entries(before))
    return Object.entries(after).flatMap(([key, value]) => changedIn(earlier.get(key) ?? null, value, path === '' ? key : `${path}.${key}`))
  }
  if (Array.isArray(before) && Array.isArray(after))
    return after.flatMap((value, at) => changedIn(before[at] ?? null, value, `${path}[${at}]`))
  return before === after ? [] : [{ path, kind: jsonType(after) }]
}

function coerce(value: Json, given: unknown, root: JsonSchema, depth: number): Json {
  const schema = resolveReference(given, root)
  if (schema === undefined || depth > maxDepth) return value
  const read = readAs(value, typesOf(schema, root, depth), schema)
  if (Array.isArray(read)) return read.map((item) => coerce(item, schema.items, root, depth + 1))
  if (!isJsonObject(read)) return read
  const properties = isJsonObject(schema.properties) ? schema.properties : {}
  // Built from entries, so that `__proto__` is a key like any other.
  return Object.fromEntries(
    Object.entries(read).map(([key, item]) => [
      key,
      coerce(item, Object.hasOwn(properties, key) ? properties[key] : schema.additionalProperties, root, depth + 1),
    ]),
  )
}

/** The value in one of the wanted types; itself when it has one, when any will do, or when it can't be read as one. */
function readAs(value: Json, wanted: ReadonlySet<string> | undefined, schema: JsonSchema): Json {
  if (wanted === undefined || fits(value, wanted)) return value
  if (Array.isArray(schema.enum) && schema.enum.includes(value)) return value
  if (typeof value !== 'string') return wanted.has('string') && isPlain(value) ? String(value) : value
  const text = value.trim()
  if (wanted.has('boolean') && /^(true|false)$/i.test(text)) return text.toLowerCase() === 'true'
  if (wanted.has('null') && /^(null|none)$/i.test(text)) return null
  const read = jsonIn(text)
  return read !== undefined && read !== null && fits(read, wanted) && isExact(read, text) ? read : value
}

function fits(value: Json, wanted: ReadonlySet<string>): boolean {
  if (value === null) return wanted.has('null')
  if (Array.isArray(value)) return wanted.has('array')
  if (typeof value === 'number') return wanted.has('number') || (wanted.has('integer') && Number.isInteger(value))
  return wanted.has(typeof value)
}

function isPlain(value: Json): boolean {
  return typeof value === 'number' || typeof value === 'boolean'
}

/** A long integer that parsing would round stays text. */
function isExact(value: Json, text: string): boolean {
  return typeof value !== 'number' || Number.isSafeInteger(value) || !/^-?\d+$/.test(text)
}

/** The JSON types a schema allows; undefined when it leaves that open. */
function typesOf(schema: JsonSchema, root: JsonSchema, depth: number): ReadonlySet<string> | undefined {
  const { type } = schema
  if (typeof type === 'string') return new Set([type])
  if (Array.isArray(type)) return new Set(type.filter((one) => typeof one === 'string'))
  if ('const' in schema) return new Set([jsonType(schema.const)])
  if (Array.isArray(schema.enum)) return new Set(schema.enum.map(jsonType))
  const branches = schema.anyOf ?? schema.oneOf
  if (!Array.isArray(branches) || depth > maxDepth) return undefined
  const types = new Set<string>()
  for (const given of branches) {
    const branch = resolveReference(given, root)
    const some = branch === undefined ? undefined : typesOf(branch, root, depth + 1)
    if (some === undefined) return undefined
    for (const one of some) types.add(one)
  }
  return types
}

/** The schema itself, or the one of the same document it refers to. */
function resolveReference(given: unknown, root: JsonSchema): JsonSchema | undefined {
  let schema = given
  for (let hops = 0; isJsonObject(schema) && typeof schema.$ref === 'string'; hops++) {
    if (hops > maxDepth || !schema.$ref.startsWith('#')) return undefined
    schema = schema.$ref
      .slice(1)
      .split('/')
      .slice(1)
      .map((raw) => decodeURIComponent(raw).replaceAll('~1', '/').replaceAll('~0', '~'))
      .reduce<unknown>((at, key) => (isJsonObject(at) && Object.hasOwn(at, key) ? at[key] : undefined), root)
  }
  return isJsonObject(schema) ? schema : undefined
}
