import { clip } from '../../core/errors.ts'
import { jsonIn, jsonType } from '../../core/json.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import { hasType, readArguments, type Schemas } from './read-values.ts'
import type { JsonSchema } from './schema.ts'

/** Maximum depth, because a schema may refer to itself. */
const maxDepth = 64

/**
 * Converts arguments that a model wrote as text: `"5"` becomes an integer if the schema requires one, `'["a"]'` an array, `5` a text. Only
 * unambiguous values are converted. Returns a copy.
 */
export function coerceArguments(args: JsonObject, schema: JsonSchema): JsonObject {
  return readArguments(args, schema, readAsText)
}

/**
 * Parses a text in the arguments of a native call as JSON if the parsed value fits the schema and the text itself does not: `"10"` becomes
 * an integer, `"[1]"` an array. `parse` returns undefined for a text that is not JSON. Returns a copy.
 */
export function decodeArguments(args: JsonObject, schema: JsonSchema, parse: (text: string) => Json | undefined): JsonObject {
  return readArguments(args, schema, (value, part, schemas) => {
    if (typeof value !== 'string' || /^\s|\s$/.test(value) || schemas.admit(value, part)) return value
    const decoded = parse(value)
    return decoded !== undefined && isExact(decoded, value) && schemas.admit(decoded, part) ? decoded : value
  })
}

/** Maximum number of changed values to name. */
const maxNamed = 10

/** Describes the values that `coerceArguments` or `decodeArguments` has changed. */
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

/** Converts a value to a type that the schema allows. Returns the value unchanged if it has such a type or can't be converted. */
function readAsText(value: Json, schema: JsonSchema, schemas: Schemas): Json {
  const wanted = typesOf(schema, schemas, 0)
  if (wanted === undefined || hasType(value, [...wanted])) return value
  if (Array.isArray(schema.enum) && schema.enum.includes(value)) return value
  if (typeof value !== 'string') return wanted.has('string') && isPlain(value) ? String(value) : value
  const text = value.trim()
  if (wanted.has('boolean') && /^(true|false)$/i.test(text)) return text.toLowerCase() === 'true'
  if (wanted.has('null') && /^(null|none)$/i.test(text)) return null
  const read = jsonIn(text)
  return read !== undefined && read !== null && hasType(read, [...wanted]) && isExact(read, text) ? read : value
}

function isPlain(value: Json): boolean {
  return typeof value === 'number' || typeof value === 'boolean'
}

/** Whether `value` is exactly the number in `text`. Parsing rounds long integers. */
function isExact(value: Json, text: string): boolean {
  return typeof value !== 'number' || Number.isSafeInteger(value) || !/^-?\d+$/.test(text)
}

/** Returns the JSON types that a schema allows. Undefined if the schema allows every type. */
function typesOf(schema: JsonSchema, schemas: Schemas, depth: number): ReadonlySet<string> | undefined {
  const { type } = schema
  if (typeof type === 'string') return new Set([type])
  if (Array.isArray(type)) return new Set(type.filter((one) => typeof one === 'string'))
  if ('const' in schema) return new Set([jsonType(schema.const)])
  if (Array.isArray(schema.enum)) return new Set(schema.enum.map(jsonType))
  const branches = schema.anyOf ?? schema.oneOf
  if (!Array.isArray(branches) || depth > maxDepth) return undefined
  const types = new Set<string>()
  for (const given of branches) {
    const branch = schemas.resolve(given)
    const some = branch === undefined ? undefined : typesOf(branch, schemas, depth + 1)
    if (some === undefined) return undefined
    for (const one of some) types.add(one)
  }
  return types
}
