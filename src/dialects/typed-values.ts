import { isJsonObject } from '../core/messages.ts'
import type { JsonSchema } from '../tools/tool.ts'
import { readJsonText } from './bodies/json/json-text.ts'

/**
 * Converts a value that was written as plain text to a type that its schema allows. If the text is not a value of an allowed type, it stays
 * text, and validation reports the error. Without a schema, the value stays text.
 */
export function readTypedValue(text: string, schema: JsonSchema | undefined): unknown {
  if (schema === undefined) return text
  if (Array.isArray(schema.enum) && schema.enum.includes(text)) return text
  if (schema.type === 'string') return text
  const types = typesOf(schema)
  if (types === undefined) return readStrictly(text)
  const wanted = (value: unknown): boolean => types.has(typeOf(value)) || (types.has('number') && typeof value === 'number')
  if (types.has('string')) {
    const value = types.size > 1 ? readStrictly(text) : text
    return wanted(value) ? value : text
  }
  const read = readJsonText(text.trim())
  if (!read.ok || !wanted(read.value)) return text
  // A number that would lose precision stays text. The validator decides whether the text is allowed.
  return typeof read.value === 'number' && !Number.isSafeInteger(read.value) && /^\s*-?\d+\s*$/.test(text) ? text : read.value
}

function readStrictly(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const knownTypes = new WeakMap<JsonSchema, Set<string> | undefined>()

/** The JSON types that a schema names. Undefined if the schema leaves the type open. */
function typesOf(schema: JsonSchema): Set<string> | undefined {
  if (knownTypes.has(schema)) return knownTypes.get(schema)
  const types = findTypes(schema)
  knownTypes.set(schema, types)
  return types
}

function findTypes(schema: JsonSchema): Set<string> | undefined {
  const { type } = schema
  if (typeof type === 'string') return new Set([type])
  if (Array.isArray(type)) return new Set(type.filter((one): one is string => typeof one === 'string'))
  if (Array.isArray(schema.enum)) return new Set(schema.enum.map(typeOf))
  const branches = Array.isArray(schema.anyOf) ? schema.anyOf : schema.oneOf
  if (!Array.isArray(branches)) return undefined
  const types = new Set<string>()
  for (const branch of branches) {
    const some = isJsonObject(branch) ? typesOf(branch) : undefined
    if (some === undefined) return undefined
    for (const one of some) types.add(one)
  }
  return types
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value
}
