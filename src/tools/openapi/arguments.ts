import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import type { JsonSchema } from '../tool.ts'
import type { OpenApiDocument } from './document.ts'
import type { Operation } from './operations.ts'
import { OperationSchemas } from './schemas.ts'
import type { ParameterStyle } from './serialize.ts'

/** The arguments of an operation's tool, and where each argument goes in the request. */
export interface OperationArguments {
  schema: JsonSchema
  /** Parameters by argument name. */
  parameters: [argument: string, parameter: ParameterStyle][]
  /** The argument that is the whole body, or the arguments that are its properties. */
  body: { argument: string } | { properties: [argument: string, property: string][] } | undefined
  /** Names of arguments that contain passwords. */
  secrets: string[]
}

/**
 * Combines parameters and body into one object schema. If the body is a plain object, its properties become arguments. Any other body
 * becomes the argument `body`. If several have the same name, the first in the order path, query, header, cookie, body keeps it, and the
 * others get their location as a prefix (`query_id`). Throws `invalid_option` for an invalid reference.
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
  const addBody = (given: NonNullable<Operation['body']>): OperationArguments['body'] => {
    const resolved = schemas.resolved(given.schema)
    if (!isPlainObject(resolved, given)) {
      return { argument: add('body', 'request', described(schemas.convert(given.schema), given.description), given.isRequired, false) }
    }
    const converted = schemas.convert(resolved) as JsonObject
    const needed = Array.isArray(converted.required) ? converted.required : []
    const own = Object.entries(isJsonObject(converted.properties) ? converted.properties : {})
    return {
      properties: own.map(([property, schema]): [string, string] => {
        const isSecret = isJsonObject(resolved.properties) && schemas.resolved(resolved.properties[property]).format === 'password'
        return [add(property, 'body', schema, needed.includes(property), isSecret), property]
      }),
    }
  }
  const bodyArguments = body && addBody(body)
  return { schema: objectSchema(properties, required, schemas), parameters: named, body: bodyArguments, secrets }
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

/** Whether the properties of a body can become arguments. */
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

/** Converts a name to characters and a length that all providers accept. */
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

/** Returns an argument, but no inherited property such as `constructor`. */
export function own(args: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(args, name) ? args[name] : undefined
}
