import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import { mapSchemas } from '../conversion/map-schemas.ts'
import { oneOf, type QuirkCheck } from '../quirk-checks.ts'

/** The JSON Schemas that a server accepts for tool parameters: any schema, or only Moonshot's subset. */
export type ToolSchema = 'json-schema' | 'moonshot'

export const isToolSchema: QuirkCheck = oneOf('json-schema', 'moonshot')

/** Keywords that are allowed beside `anyOf` and `$ref`. */
const beside = ['description', 'title', '$defs', 'definitions']
const anyType = ['string', 'number', 'boolean', 'object', 'array', 'null']

/**
 * Maximum number of schemas inside a converted schema. Copying keywords into branches can make a small schema huge, and the schema may come
 * from an untrusted server.
 */
const mostSchemas = 10_000

/**
 * Converts a JSON Schema to the forms that Moonshot's validator accepts. The validator refuses a whole request if one tool's schema has any
 * other form, such as `type` or `properties` beside `anyOf`: https://github.com/MoonshotAI/walle/blob/main/docs/walle.md. Keeps keywords
 * that the validator ignores. A schema that would become huge is returned unchanged.
 */
export function moonshotSchema(schema: JsonObject): JsonObject {
  let left = mostSchemas
  const converted = mapSchemas(schema, (one) => (left-- > 0 ? typed(one) : {}))
  return left < 0 ? schema : converted
}

/** Converts the top level of a schema. The caller converts the schemas inside it afterwards. */
function typed(given: JsonObject): JsonObject {
  const { oneOf: variants, const: value, ...schema } = given
  if (variants !== undefined) schema.anyOf ??= variants
  if (value !== undefined && schema.enum === undefined) schema.enum = [value]
  if (schema.$ref !== undefined) return only(schema, ['$ref', ...beside])
  if (Array.isArray(schema.allOf) && schema.allOf.length === 1) return typed(joined(schema.allOf[0], without(schema, ['allOf'])))
  if (Array.isArray(schema.anyOf)) return withBranches(schema, schema.anyOf)
  const types = typesOf(schema)
  const isPlain = Object.keys(schema).every((key) => key === 'type' || beside.includes(key))
  if (types.length > 1 && !isPlain) return { ...only(schema, beside), anyOf: types.map((type) => branchOf(type, schema)) }
  return types.length > 1 ? { ...schema, type: types } : ofType(types[0] ?? 'object', fieldsOf(schema))
}

/** Moves the keywords beside `anyOf` into its branches. */
function withBranches(schema: JsonObject, branches: readonly Json[]): JsonObject {
  const shared = without(schema, ['anyOf', 'default', ...beside])
  return { ...only(schema, beside), anyOf: branches.map((branch) => joined(branch, shared)) }
}

/** Returns a schema for values that match both schemas. If both have a keyword, the branch's own keyword is used. */
function joined(branch: Json | undefined, shared: JsonObject): JsonObject {
  if (!isJsonObject(branch) || branch.$ref !== undefined) return isJsonObject(branch) ? branch : {}
  const both: JsonObject = { ...shared, ...branch }
  if (isJsonObject(shared.properties) && isJsonObject(branch.properties)) both.properties = { ...shared.properties, ...branch.properties }
  if (Array.isArray(shared.required) && Array.isArray(branch.required))
    both.required = [...new Set([...shared.required, ...branch.required])]
  return both
}

/** From a schema with several types, returns the schema for one of these types. */
function branchOf(type: Json, schema: JsonObject): JsonObject {
  return type === 'null' ? { type } : ofType(type, without(schema, ['default', ...beside]))
}

/** Restricts a schema to one type. Removes the values of other types from its `enum`. */
function ofType(type: Json, { enum: values, ...schema }: JsonObject): JsonObject {
  const own = Array.isArray(values) && type !== 'null' ? values.filter((value) => isOf(type, value)) : []
  return { ...schema, type, ...(own.length === 0 ? {} : { enum: own }) }
}

/** Adds required names to the properties, because the validator refuses a required name that is not a property. */
function fieldsOf({ required, ...schema }: JsonObject): JsonObject {
  const { properties } = schema
  const needed = (Array.isArray(required) ? required : []).filter(
    (name) => isJsonObject(properties) && Object.hasOwn(properties, String(name)),
  )
  return { ...schema, ...(needed.length === 0 ? {} : { required: needed }) }
}

/** Returns the types of the values that a schema matches. */
function typesOf({ type, properties, items, enum: values }: JsonObject): Json[] {
  const told = type ?? (properties !== undefined ? 'object' : items !== undefined ? 'array' : anyType)
  const types = [told].flat()
  const fitting = Array.isArray(values) ? types.filter((one) => values.some((value) => isOf(one, value))) : types
  return fitting.length === 0 ? types : fitting
}

function isOf(type: Json, value: Json): boolean {
  const own = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
  return own === (type === 'integer' ? 'number' : type)
}

function only(schema: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => keys.includes(key)))
}

function without(schema: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => !keys.includes(key)))
}
