import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'

/** https://platform.openai.com/docs/guides/structured-outputs#supported-schemas */
const texts = ['title', 'description']
const anywhere = ['type', 'enum', 'const', ...texts]
const atTheRoot = ['$defs', 'definitions']
const keywordsOf: Readonly<Record<string, readonly string[]>> = {
  object: ['properties', 'required', 'additionalProperties'],
  array: ['items', 'minItems', 'maxItems'],
  string: ['pattern', 'format'],
  number: ['multipleOf', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
  integer: ['multipleOf', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
  boolean: [],
  null: [],
}
const formats = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid']
const most = { levels: 10, properties: 5000, enumValues: 1000, characters: 120_000, longEnumValues: 250, longEnumCharacters: 15_000 }

/**
 * Whether OpenAI's API accepts a schema with `strict: true`. For any other schema, the API refuses the whole request. The root must be an
 * object. Every object must set `additionalProperties: false` and require all of its properties. All keywords and sizes must be within the
 * documented subset. Features that the documentation does not mention count as unsupported.
 * https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
 */
export function isStrictSchema(schema: JsonObject): boolean {
  if (schema.type !== 'object') return false
  const counts: Counts = { properties: 0, enumValues: 0, characters: 0 }
  if (!isStrict(schema, schema, 1, counts)) return false
  const { properties, enumValues, characters } = counts
  return properties <= most.properties && enumValues <= most.enumValues && characters <= most.characters
}

interface Counts {
  properties: number
  enumValues: number
  /** The total number of characters in names and values. */
  characters: number
}

function isStrict(schema: Json | undefined, root: JsonObject, level: number, counts: Counts): boolean {
  if (!isJsonObject(schema) || level > most.levels) return false
  if (schema.$ref !== undefined) return Object.keys(schema).length === 1 && isKnown(schema.$ref, root)
  const isInside = (one: Json | undefined): boolean => isStrict(one, root, level + 1, counts)
  const { anyOf } = schema
  if (anyOf !== undefined)
    return knowsOnly(schema, ['anyOf', ...texts]) && Array.isArray(anyOf) && anyOf.length > 0 && anyOf.every(isInside)
  const types = typesOf(schema.type)
  const keywords = [...anywhere, ...types.flatMap((type) => keywordsOf[type] ?? []), ...(level === 1 ? atTheRoot : [])]
  if (schema.const !== undefined) counts.characters += String(schema.const).length
  return (
    types.length > 0 &&
    knowsOnly(schema, keywords) &&
    (schema.format === undefined || formats.includes(String(schema.format))) &&
    isStrictEnum(schema.enum, counts) &&
    (!types.includes('object') || isClosed(schema, counts)) &&
    (!types.includes('array') || isInside(schema.items)) &&
    [schema.properties, schema.$defs, schema.definitions].every((group) => isGroup(group, isInside, counts))
  )
}

function knowsOnly(schema: JsonObject, keywords: readonly string[]): boolean {
  return Object.keys(schema).every((keyword) => keywords.includes(keyword))
}

/** The types in `type`, or `[]` if one of them is unknown. */
function typesOf(type: Json | undefined): string[] {
  const names = (Array.isArray(type) ? type : [type]).map(String)
  return names.every((name) => Object.hasOwn(keywordsOf, name)) ? names : []
}

function isClosed({ properties, required, additionalProperties }: JsonObject, counts: Counts): boolean {
  if (additionalProperties !== false || !isJsonObject(properties) || !Array.isArray(required)) return false
  const names = Object.keys(properties)
  counts.properties += names.length
  const needed = new Set(required)
  return names.length === required.length && names.every((name) => needed.has(name))
}

function isStrictEnum(values: Json | undefined, counts: Counts): boolean {
  if (values === undefined) return true
  if (!Array.isArray(values) || values.length === 0) return false
  const { length } = values.join('')
  counts.enumValues += values.length
  counts.characters += length
  return values.length <= most.longEnumValues || length <= most.longEnumCharacters
}

function isGroup(group: Json | undefined, isInside: (one: Json | undefined) => boolean, counts: Counts): boolean {
  if (group === undefined) return true
  if (!isJsonObject(group)) return false
  counts.characters += Object.keys(group).join('').length
  return Object.values(group).every(isInside)
}

/** Whether a reference leads to the root (allowed for recursion) or to one of the root's definitions. */
function isKnown(ref: Json, root: JsonObject): boolean {
  if (ref === '#') return true
  const [, group, name] = /^#\/(\$defs|definitions)\/([^/~%]+)$/.exec(String(ref)) ?? []
  const definitions = group === undefined ? undefined : root[group]
  return name !== undefined && isJsonObject(definitions) && Object.hasOwn(definitions, name)
}
