import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import { mapSchemas } from '../conversion/map-schemas.ts'
import { oneOf, type QuirkCheck } from '../quirk-checks.ts'

/** The schemas that a server accepts as a tool's parameters: any, or those of Moonshot's subset. */
export type ToolSchema = 'json-schema' | 'moonshot'

export const isToolSchema: QuirkCheck = oneOf('json-schema', 'moonshot')

/** Keywords that may be beside `anyOf` and `$ref`. */
const beside = ['description', 'title', '$defs', 'definitions']
const anyType = ['string', 'number', 'boolean', 'object', 'array', 'null']

/**
 * Converts a JSON Schema to the forms that Moonshot's validator accepts. It refuses a request if one tool has another, such as a `type` or
 * `properties` beside `anyOf`: https://github.com/MoonshotAI/walle/blob/main/docs/walle.md. Keywords that it only ignores are sent.
 */
export function moonshotSchema(schema: JsonObject): JsonObject {
  return mapSchemas(schema, typed)
}

/** Converts the top of a schema. What is inside it is converted afterwards. */
function typed(given: JsonObject): JsonObject {
  const { oneOf: variants, const: value, ...schema } = given
  if (variants !== undefined) schema.anyOf ??= variants
  if (value !== undefined && schema.enum === undefined) schema.enum = [value]
  if (schema.$ref !== undefined) return only(schema, ['$ref', ...beside])
  if (Array.isArray(schema.allOf) && schema.allOf.length === 1) return typed(joined(schema.allOf[0], without(schema, ['allOf'])))
  if (Array.isArray(schema.anyOf)) return withBranches(schema, schema.anyOf)
  const types = [schema.type ?? typeOf(schema)].flat()
  const isPlain = Object.keys(schema).every((key) => key === 'type' || beside.includes(key))
  if (types.length > 1 && !isPlain) return { ...only(schema, beside), anyOf: types.map((type) => branchOf(type, schema)) }
  return { ...fieldsOf(schema), type: types.length > 1 ? types : (types[0] ?? 'object') }
}

/** Moves the keywords beside `anyOf` into its branches. */
function withBranches(schema: JsonObject, branches: readonly Json[]): JsonObject {
  const shared = without(schema, ['anyOf', 'default', ...beside])
  return { ...only(schema, beside), anyOf: branches.map((branch) => joined(branch, shared)) }
}

/** What matches both schemas. A branch's own keywords win. */
function joined(branch: Json | undefined, shared: JsonObject): JsonObject {
  if (!isJsonObject(branch) || branch.$ref !== undefined) return isJsonObject(branch) ? branch : {}
  const both: JsonObject = { ...shared, ...branch }
  if (isJsonObject(shared.properties) && isJsonObject(branch.properties)) both.properties = { ...shared.properties, ...branch.properties }
  if (Array.isArray(shared.required) && Array.isArray(branch.required))
    both.required = [...new Set([...shared.required, ...branch.required])]
  return both
}

/** The part of a schema with several types that is about one of them. */
function branchOf(type: Json, { enum: values, ...schema }: JsonObject): JsonObject {
  if (type === 'null') return { type }
  const named = type === 'integer' ? 'number' : type
  const own = Array.isArray(values) ? values.filter((value) => typeof value === named) : []
  return { ...without(schema, ['type', 'default', ...beside]), type, ...(own.length === 0 ? {} : { enum: own }) }
}

/** A name that is required must be among the properties. */
function fieldsOf({ required, ...schema }: JsonObject): JsonObject {
  const { properties } = schema
  const needed = (Array.isArray(required) ? required : []).filter(
    (name) => isJsonObject(properties) && Object.hasOwn(properties, String(name)),
  )
  return { ...schema, ...(needed.length === 0 ? {} : { required: needed }) }
}

function typeOf({ properties, items, enum: values }: JsonObject): Json {
  if (properties !== undefined) return 'object'
  if (items !== undefined) return 'array'
  const [sample] = Array.isArray(values) ? values : []
  return sample === undefined || sample === null ? anyType : typeof sample
}

function only(schema: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => keys.includes(key)))
}

function without(schema: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => !keys.includes(key)))
}
