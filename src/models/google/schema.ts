import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import { mapSchemas } from '../conversion/map-schemas.ts'
import { referredSchema } from '../conversion/schema-reference.ts'

/** The formats that the API accepts. The API refuses a request with any other format. */
const formats = new Set(['enum', 'date-time', 'float', 'double', 'int32', 'int64'])
/** Keywords that have the same meaning in JSON Schema and in the OpenAPI subset. */
const kept = ['title', 'description', 'minimum', 'maximum', 'minItems', 'maxItems', 'minLength', 'maxLength', 'pattern'] as const

/**
 * Converts a JSON Schema to the OpenAPI subset of `FunctionDeclaration.parameters`, for models and servers without `parametersJsonSchema`.
 * Rules that the subset can't express are left out, so the converted schema allows more. Arguments are still checked against the original
 * schema. Undefined for an object without properties, which the API refuses. https://ai.google.dev/api/caching#Schema
 */
export function openAPISchema(schema: JsonObject): JsonObject | undefined {
  const converted = convert(schema, { root: schema, open: new Set() })
  return converted.type === 'OBJECT' && converted.properties === undefined ? undefined : converted
}

/**
 * Adapts a JSON Schema for models that accept JSON Schema. These models refuse other keywords beside a `$ref`:
 * https://github.com/anomalyco/opencode/issues/12295
 */
export function geminiJsonSchema({ $schema: _, ...schema }: JsonObject): JsonObject {
  return mapSchemas(schema, (one) => {
    if (one.$ref === undefined) return one
    return Object.fromEntries(Object.entries(one).filter(([key]) => key.startsWith('$') || key === 'description' || key === 'default'))
  })
}

interface Scope {
  root: JsonObject
  /** The references that are being resolved, to detect recursion. */
  open: ReadonlySet<string>
}

function convert(schema: Json | undefined, scope: Scope): JsonObject {
  if (!isJsonObject(schema)) return { type: 'OBJECT' }
  if (typeof schema.$ref === 'string') return convertReference(schema.$ref, schema, scope)
  if (Array.isArray(schema.allOf)) return convert(joined(schema, schema.allOf), scope)
  const alternatives = [schema.anyOf, schema.oneOf].find((list): list is Json[] => Array.isArray(list))
  if (alternatives !== undefined) return convertAlternatives(alternatives, schema, scope)
  const types = [schema.type ?? typeOf(schema)].flat().filter((type) => typeof type === 'string')
  const nullable = types.includes('null') || schema.nullable === true
  const [type = 'null', ...others] = types.filter((name) => name !== 'null')
  if (others.length > 0) {
    const variants = [type, ...others].map((name) => ({ ...schema, type: name, nullable: false }))
    return { ...convertAlternatives(variants, {}, scope), ...(nullable ? { nullable } : {}) }
  }
  return { type: type.toUpperCase(), ...(nullable ? { nullable } : {}), ...fieldsOf(type, schema, scope) }
}

function fieldsOf(type: string, schema: JsonObject, scope: Scope): JsonObject {
  const fields: JsonObject = {}
  for (const key of kept) if (schema[key] !== undefined) fields[key] = schema[key]
  if (typeof schema.format === 'string' && formats.has(schema.format)) fields.format = schema.format
  const values = schema.const === undefined ? schema.enum : [schema.const]
  if (type === 'string' && Array.isArray(values)) {
    const texts = values.filter((value) => typeof value === 'string' && value !== '')
    if (texts.length > 0) Object.assign(fields, { format: 'enum', enum: texts })
  }
  if (type === 'array') fields.items = convert(itemOf(schema), scope)
  if (type === 'object' && isJsonObject(schema.properties)) Object.assign(fields, propertiesOf(schema.properties, schema.required, scope))
  return fields
}

function propertiesOf(properties: JsonObject, required: Json | undefined, scope: Scope): JsonObject {
  const names = Object.keys(properties)
  if (names.length === 0) return {}
  const needed = (Array.isArray(required) ? required : []).filter((name) => typeof name === 'string' && names.includes(name))
  return {
    properties: Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, convert(one, scope)])),
    ...(needed.length === 0 ? {} : { required: needed }),
  }
}

/** Drops other keywords, because the API accepts hardly any of them beside `anyOf`. */
function convertAlternatives(list: readonly Json[], { description }: JsonObject, scope: Scope): JsonObject {
  const isNull = (one: Json) => isJsonObject(one) && one.type === 'null'
  const others = list.filter((one) => !isNull(one)).map((one) => convert(one, scope))
  const nullable: JsonObject = others.length < list.length ? { nullable: true } : {}
  const [only, ...rest] = others
  if (only === undefined) return { type: 'NULL' }
  const told: JsonObject = typeof description === 'string' ? { description } : {}
  return rest.length === 0 ? { ...only, ...told, ...nullable } : { anyOf: others, ...nullable }
}

function convertReference(ref: string, { $ref: _, ...beside }: JsonObject, { root, open }: Scope): JsonObject {
  const target = open.has(ref) ? undefined : referredSchema(ref, root)
  return convert(target === undefined ? { type: 'object', ...beside } : { ...target, ...beside }, { root, open: new Set(open).add(ref) })
}

/** Merges the schemas in `allOf` into one object with all of their fields. */
function joined({ allOf: _, ...own }: JsonObject, parts: readonly Json[]): JsonObject {
  const all = [own, ...parts.filter(isJsonObject)]
  const properties = Object.assign({}, ...all.map((part) => (isJsonObject(part.properties) ? part.properties : {})))
  const required = all.flatMap((part) => (Array.isArray(part.required) ? part.required : []))
  return { ...Object.assign({}, ...all), ...(Object.keys(properties).length === 0 ? {} : { properties, required }) }
}

function itemOf({ items, prefixItems }: JsonObject): Json {
  if (isJsonObject(items) && Object.keys(items).length > 0) return items
  // The API requires a schema for the items of an array.
  return Array.isArray(prefixItems) && prefixItems.length > 0 ? { anyOf: prefixItems } : { type: 'string' }
}

function typeOf({ properties, items, prefixItems, enum: values, const: value }: JsonObject): string {
  if (properties !== undefined) return 'object'
  if (items !== undefined || prefixItems !== undefined) return 'array'
  const [sample = value] = Array.isArray(values) ? values : []
  if (typeof sample === 'number' || typeof sample === 'boolean') return typeof sample
  return typeof sample === 'string' ? 'string' : 'object'
}
