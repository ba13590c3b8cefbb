import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import type { JsonSchema } from '../tool.ts'
import type { OpenApiDocument } from './document.ts'
import type { Operation } from './operations.ts'
import { OperationSchemas } from './schemas.ts'
import type { ParameterStyle } from './serialise.ts'

/** What the model is asked for, and where each argument goes. */
export interface OperationArguments {
  schema: JsonSchema
  /** Parameters by the names of their arguments. */
  parameters: [argument: string, parameter: ParameterStyle][]
  /** The body: one argument, or properties of it by the names of their arguments. */
  body: { argument: string } | { properties: [argument: string, property: string][] } | undefined
  /** Arguments that are passwords. */
  secrets: string[]
}

/**
 * Parameters and body as one object schema. A name that comes twice stays with the first of path, query, header, cookie and body; the others have
 * their place in front (`query_id`). The properties of a body that is a plain object are arguments of their own; any other body is `body`.
 * Throws `invalid_option` for a bad reference.
 */
export function operationArguments(document: OpenApiDocument, { parameters, body }: Operation): OperationArguments {
  const schemas = new OperationSchemas(document)
  const properties = new Map<string, Json>()
  const required: string[] = []
  const secrets: string[] = []
  const add = (name: string, place: string, schema: Json, isRequired: boolean, isSecret: boolean): string => {
    const argument = argumentName(name, place, properties)
    properties.set(argument, schema)
    if (isRequired) required.push(argument)
    if (isSecret) secrets.push(argument)
    return argument
  }
  const placed = places.flatMap((place) => parameters.filter((parameter) => parameter.place === place))
  const named = placed.map((parameter): [string, ParameterStyle] => {
    const schema = described(schemas.convert(parameter.schema), parameter.description)
    const isSecret = schemas.resolved(parameter.schema).format === 'password'
    return [add(parameter.name, parameter.place, schema, parameter.isRequired, isSecret), parameter]
  })
  const result = { parameters: named, secrets }
  if (body === undefined) return { ...result, body, schema: objectSchema(properties, required, schemas) }
  const resolved = schemas.resolved(body.schema)
  if (!isPlainObject(resolved, body)) {
    const argument = add('body', 'request', described(schemas.convert(body.schema), body.description), body.isRequired, false)
    return { ...result, body: { argument }, schema: objectSchema(properties, required, schemas) }
  }
  const converted = schemas.convert(resolved) as JsonObject
  const needed = Array.isArray(converted.required) ? converted.required : []
  const ofBody = Object.entries(isJsonObject(converted.properties) ? converted.properties : {}).map(
    ([property, schema]): [string, string] => {
      const isSecret = isJsonObject(resolved.properties) && schemas.resolved(resolved.properties[property]).format === 'password'
      return [add(property, 'body', schema, needed.includes(property), isSecret), property]
    },
  )
  return { ...result, body: { properties: ofBody }, schema: objectSchema(properties, required, schemas) }
}

const places = ['path', 'query', 'header', 'cookie'] as const

function objectSchema(properties: ReadonlyMap<string, Json>, required: string[], { defs }: OperationSchemas): JsonSchema {
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
    ...(Object.keys(defs).length === 0 ? {} : { $defs: defs }),
  }
}

/** Its properties can be asked for one by one: nothing but them is allowed, and leaving all out means that there is no body, where that is allowed. */
function isPlainObject(schema: JsonObject, { isRequired, form }: { isRequired: boolean; form: string }): boolean {
  if (form === 'text' || !isJsonObject(schema.properties) || (schema.type !== undefined && schema.type !== 'object')) return false
  if (schema.nullable === true || (schema.additionalProperties !== undefined && schema.additionalProperties !== false)) return false
  if (!isRequired && Array.isArray(schema.required) && schema.required.length > 0) return false
  return !Object.keys(schema).some((key) => !simpleKeywords.has(key) && !key.startsWith('x-'))
}

const simpleKeywords = new Set([
  ...['type', 'properties', 'required', 'additionalProperties', 'title', 'description', 'example', 'examples', 'xml', 'externalDocs'],
  ...['nullable', 'deprecated', '$schema', 'default', 'readOnly', 'writeOnly'],
])

function described(schema: Json, description: string): Json {
  if (description === '' || !isJsonObject(schema) || typeof schema.description === 'string') return schema
  return { ...schema, description }
}

/** Not every provider takes other characters in the name of an argument, or longer ones. */
function argumentName(name: string, place: string, taken: ReadonlyMap<string, unknown>): string {
  const legal =
    name
      .replace(/[^a-zA-Z0-9_.-]+/g, '_')
      .replace(/^_+(?=[a-zA-Z0-9])|(?<=[a-zA-Z0-9])_+$/g, '')
      .slice(0, 50) || place
  const wanted = /^[a-zA-Z0-9_.-]{1,64}$/.test(name) ? name : legal
  if (!taken.has(wanted)) return wanted
  const base = `${place}_${wanted}`.slice(0, 60)
  let other = base
  for (let turn = 2; taken.has(other); turn++) other = `${base}_${turn}`
  return other
}

/** An argument that was given: every object has a `constructor`. */
export function own(args: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(args, name) ? args[name] : undefined
}
