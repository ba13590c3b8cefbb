import { isJsonObject, type Json, type JsonObject, setField } from '../../core/messages.ts'

/** Keywords whose value is one schema (`ofOne`), a list of schemas (`ofMany`), or an object of schemas by name (`ofNamed`). */
const ofOne = ['items', 'contains', 'not', 'if', 'then', 'else', 'propertyNames']
const ofMany = ['anyOf', 'oneOf', 'allOf', 'prefixItems']
const ofNamed = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']
/** Keywords whose value may remain `true` or `false`, because every API accepts these values. */
const ofOneOrFlag = ['additionalProperties', 'unevaluatedProperties', 'unevaluatedItems']

/**
 * Applies `change` to a JSON Schema, then to the schemas inside the result, and so on. Schemas that are `true` or `false` are converted to
 * objects before `change` is called.
 */
export function mapSchemas(schema: JsonObject, change: (schema: JsonObject) => JsonObject): JsonObject {
  const mapped: JsonObject = {}
  for (const [keyword, value] of Object.entries(change(schema))) setField(mapped, keyword, mapKeyword(keyword, value, change))
  return mapped
}

function mapKeyword(keyword: string, value: Json, change: (schema: JsonObject) => JsonObject): Json {
  const mapOne = (one: Json): Json => (isJsonObject(one) ? mapSchemas(one, change) : one === true ? {} : one === false ? { not: {} } : one)
  if (ofOne.includes(keyword)) return mapOne(value)
  if (ofMany.includes(keyword)) return Array.isArray(value) ? value.map(mapOne) : value
  if (ofOneOrFlag.includes(keyword)) return isJsonObject(value) ? mapOne(value) : value
  if (!ofNamed.includes(keyword) || !isJsonObject(value)) return value
  const named: JsonObject = {}
  for (const [name, one] of Object.entries(value)) setField(named, name, mapOne(one))
  return named
}
