import { isJsonObject, type Json, type JsonObject } from '../../../src/core/messages.ts'

/** The reason why OpenAI would refuse a function's parameters. Source: https://github.com/langchain-ai/langchainjs/issues/9804 */
export function refuseFunctionSchema(name: Json | undefined, parameters: Json | undefined): string | undefined {
  const invalid = `Invalid schema for function '${String(name)}':`
  if (!isJsonObject(parameters) || parameters.type !== 'object') return `${invalid} schema must be a JSON Schema of 'type: "object"'.`
  if (parameters.properties === undefined) return `${invalid} object schema missing properties.`
  const combined = ['oneOf', 'anyOf', 'allOf', 'enum', 'not'].find((key) => parameters[key] !== undefined)
  if (combined !== undefined) return `${invalid} schema must not have '${combined}' at the top level.`
  const odd = firstWithin(parameters, (schema) => {
    if (schema.type === 'array' && schema.items === undefined) return 'array schema missing items.'
    if (schema.items !== undefined && !isJsonObject(schema.items)) return `${JSON.stringify(schema.items)} is not of type 'object'.`
    return undefined
  })
  return odd && `${invalid} ${odd}`
}

/** The reason why Anthropic would refuse a tool's input schema. Source: https://github.com/openclaw/openclaw/issues/98588 */
export function refuseInputSchema(schema: Json | undefined): string | undefined {
  if (!isJsonObject(schema)) return 'Field required'
  if (['oneOf', 'anyOf', 'allOf'].some((key) => schema[key] !== undefined))
    return 'input_schema does not support oneOf, allOf, or anyOf at the top level'
  if (schema.type !== 'object') return "type: Input should be 'object'"
  const names = Object.keys(isJsonObject(schema.properties) ? schema.properties : {})
  if (!names.every((name) => /^[a-zA-Z0-9_.-]{1,64}$/.test(name)))
    return "properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'"
  const isDraft7 = firstWithin(schema, ({ items }) => (Array.isArray(items) ? 'a tuple' : undefined)) !== undefined
  return isDraft7 ? 'JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12).' : undefined
}

/** The reason why Gemini would refuse a function's JSON Schema. Source: https://github.com/anomalyco/opencode/issues/12295 */
export function refuseGeminiJsonSchema(schema: JsonObject): string | undefined {
  if (schema.type !== 'object') return 'schema must be of type object'
  return firstWithin(schema, ({ $ref, description: _, default: __, ...beside }) =>
    $ref === undefined || Object.keys(beside).every((key) => key.startsWith('$'))
      ? undefined
      : 'If a schema node has $ref set, then only description and default can be set alongside it',
  )
}

/** The problem of a schema, or of the first schema inside it that has one. */
function firstWithin(schema: Json, find: (schema: JsonObject) => string | undefined): string | undefined {
  if (Array.isArray(schema)) return schema.map((one) => firstWithin(one, find)).find((found) => found !== undefined)
  if (!isJsonObject(schema)) return undefined
  const found = find(schema)
  if (found !== undefined) return found
  for (const [keyword, value] of Object.entries(schema)) {
    const within = ['properties', 'patternProperties', '$defs', 'definitions'].includes(keyword) && isJsonObject(value)
    const inside = firstWithin(within ? Object.values(value) : value, find)
    if (inside !== undefined) return inside
  }
  return undefined
}
