import { isJsonObject, type Json, type JsonObject } from '../../../src/core/messages.ts'

/**
 * The reason why OpenAI's APIs would refuse a format with a schema:
 * https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
 */
export function refuseJsonSchemaFormat({ name, schema, strict }: JsonObject, path: string): string | undefined {
  if (typeof name !== 'string' || !/^[a-zA-Z0-9_-]{1,64}$/.test(name)) {
    return `Invalid '${path}.name': string does not match pattern '^[a-zA-Z0-9_-]+$' of at most 64 characters.`
  }
  if (!isJsonObject(schema)) return `Missing required parameter: '${path}.schema'.`
  if (strict !== true) return undefined
  const problem = schema.type === 'object' ? findOpen(schema, true) : `schema must be a JSON Schema of 'type: "object"'`
  return problem && `Invalid schema for response_format '${name}': ${problem}.`
}

/** The same for Anthropic: https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations */
export function refuseOutputConfig(config: Json | undefined): string | undefined {
  if (config === undefined) return undefined
  if (!isJsonObject(config)) return 'output_config: Input should be a valid dictionary'
  const { format } = config
  if (format === undefined || format === null) return undefined
  if (!isJsonObject(format) || format.type !== 'json_schema') return "output_config.format.type: Input should be 'json_schema'"
  if (!isJsonObject(format.schema)) return 'output_config.format.schema: Field required'
  const problem = findOpen(format.schema, false) ?? findKeyword(format.schema)
  return problem && `output_config.format.schema: ${problem}`
}

/** The same for Gemini: https://ai.google.dev/api/generate-content#generationconfig */
export function refuseResponseSchema(config: JsonObject): string | undefined {
  const { responseMimeType: type, responseSchema, responseJsonSchema } = config
  if (responseSchema === undefined && responseJsonSchema === undefined) return undefined
  if (responseSchema !== undefined && responseJsonSchema !== undefined)
    return 'Only one of response_schema and response_json_schema may be set.'
  if (!isJsonObject(responseSchema ?? responseJsonSchema)) return "Invalid value at 'generation_config.response_json_schema'"
  return type === 'application/json' ? undefined : 'A response schema takes the response mime type application/json.'
}

/** The API's error for an open object in a schema or, with `allRequired`, for an object with an optional property. */
function findOpen(schema: JsonObject, allRequired: boolean): string | undefined {
  for (const one of schemasIn(schema)) {
    if (one.type !== 'object') continue
    if (one.additionalProperties !== false) return "'additionalProperties' is required to be supplied and to be false"
    const names = Object.keys(isJsonObject(one.properties) ? one.properties : {})
    const missing = names.find((name) => !Array.isArray(one.required) || !one.required.includes(name))
    if (allRequired && missing !== undefined) return `'required' is required to include every key in properties. Missing '${missing}'`
  }
  return undefined
}

const refused = ['minimum', 'maximum', 'multipleOf', 'minLength', 'maxLength', 'maxItems', 'oneOf', 'uniqueItems']

function findKeyword(schema: JsonObject): string | undefined {
  for (const one of schemasIn(schema)) {
    const keyword = refused.find((name) => one[name] !== undefined)
    if (keyword !== undefined) return `For '${String(one.type)}' type, property '${keyword}' is not supported`
    if (Object.keys(one).length === 0) return 'Empty schema is not supported'
  }
  return undefined
}

/** The schema and all schemas inside it. */
function schemasIn(schema: JsonObject): JsonObject[] {
  const { properties, $defs, definitions, items, anyOf } = schema
  const groups = [properties, $defs, definitions].flatMap((group) => (isJsonObject(group) ? Object.values(group) : []))
  const inside = [...groups, ...(items === undefined ? [] : [items]), ...(Array.isArray(anyOf) ? anyOf : [])]
  return [schema, ...inside.filter(isJsonObject).flatMap(schemasIn)]
}
