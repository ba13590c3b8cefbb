import { isJsonObject, type Json, type JsonObject, withoutUndefined } from '../../core/messages.ts'

/** https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations */
const formats = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid']
/** https://platform.claude.com/docs/en/build-with-claude/structured-outputs#explicit-limits */
const most = { optionals: 24, unions: 16 }

/** A schema that the API accepts, or the reason why no equivalent schema exists. */
export type FittedSchema = { schema: JsonObject } | { problem: string }

/**
 * Converts a JSON Schema to the subset that the Messages API accepts for responses. Objects get `additionalProperties: false`. Unsupported
 * keywords are moved to the description, where the model can read them. The answer must therefore still be checked against the original
 * schema. Returns a problem if the subset can't express the schema, such as a recursive schema.
 */
export function anthropicSchema(schema: JsonObject): FittedSchema {
  const scope: Scope = { root: schema, open: new Set(), definitions: new Map(), optionals: 0, unions: 0, problem: undefined }
  const converted = convert(schema, scope)
  if (scope.optionals > most.optionals) scope.problem ??= `has ${scope.optionals} optional properties, more than ${most.optionals}`
  if (scope.unions > most.unions) scope.problem ??= `has ${scope.unions} alternatives of types, more than ${most.unions}`
  if (scope.problem !== undefined) return { problem: scope.problem }
  return { schema: scope.definitions.size === 0 ? converted : { ...converted, $defs: Object.fromEntries(scope.definitions) } }
}

interface Scope {
  root: JsonObject
  /** The references that are being resolved, to detect recursion. */
  open: Set<string>
  /** The converted definitions, keyed by their name in the converted schema. */
  definitions: Map<string, JsonObject>
  optionals: number
  unions: number
  /** The first problem found. */
  problem: string | undefined
}

function convert(given: Json | undefined, scope: Scope): JsonObject {
  if (!isJsonObject(given)) return fail(scope, 'has a schema that is true, false or missing')
  if (typeof given.$ref === 'string') return convertReference(given.$ref, scope)
  const { type, title, description, enum: values, const: value, anyOf, oneOf, allOf, $defs: _, definitions: __, ...rest } = given
  if (allOf !== undefined) return fail(scope, 'has `allOf`')
  const texts: JsonObject = typeof title === 'string' ? { title } : {}
  const done = (fields: JsonObject, told: JsonObject): JsonObject => ({ ...fields, ...texts, ...described(description, told) })

  if (value !== undefined && isPrimitive(value)) return done({ const: value }, {})
  if (Array.isArray(values) && values.length > 0 && values.every(isPrimitive)) return done({ enum: values }, {})
  const told: JsonObject = {
    ...rest,
    ...withoutUndefined({ const: value, enum: values }),
  }
  const alternatives = anyOf ?? oneOf
  if (Array.isArray(alternatives)) {
    if (isJsonObject(rest.properties)) return fail(scope, 'has properties beside alternatives')
    scope.unions++
    return done({ anyOf: alternatives.map((one) => convert(one, scope)) }, told)
  }
  if (Array.isArray(type) && type.length > 1) {
    scope.unions++
    return done({ anyOf: type.map((name) => convert(name === 'null' ? { type: name } : { ...told, type: name }, scope)) }, {})
  }
  const [name = rest.properties === undefined ? undefined : 'object'] = [type].flat()
  if (typeof name !== 'string') return fail(scope, 'has a schema without a type')
  const { fields, others } = fieldsOf(name, told, scope)
  return done({ type: name, ...fields }, others)
}

/** Separates the keywords that the API supports for this type (`fields`) from all other keywords. */
function fieldsOf(type: string, schema: JsonObject, scope: Scope): { fields: JsonObject; others: JsonObject } {
  if (type === 'object') return objectFields(schema, scope)
  if (type === 'array') {
    const { items, minItems, ...others } = schema
    if (!isJsonObject(items)) fail(scope, 'has an array without a schema for its items')
    const isTaken = minItems === 0 || minItems === 1
    const fields = { items: convert(items, scope), ...(isTaken ? { minItems } : {}) }
    return { fields, others: minItems === undefined || isTaken ? others : { minItems, ...others } }
  }
  const { format, ...others } = schema
  if (type !== 'string' || format === undefined) return { fields: {}, others }
  return formats.includes(String(format)) ? { fields: { format }, others } : { fields: {}, others: { format, ...others } }
}

function objectFields({ properties, required, additionalProperties, ...others }: JsonObject, scope: Scope) {
  const entries = Object.entries(isJsonObject(properties) ? properties : {})
  if (entries.length === 0 && additionalProperties !== false) fail(scope, 'has an object that allows any properties')
  const names = entries.map(([name]) => name)
  const needed = Array.isArray(required) ? required : []
  if (!needed.every((name) => names.includes(String(name)))) fail(scope, 'requires a property that it does not define')
  scope.optionals += names.filter((name) => !needed.includes(name)).length
  const converted = Object.fromEntries(entries.map(([name, one]) => [name, convert(one, scope)]))
  const fields: JsonObject = { properties: converted, additionalProperties: false, ...(needed.length === 0 ? {} : { required: needed }) }
  return { fields, others }
}

function convertReference(ref: string, scope: Scope): JsonObject {
  const [, group = '', name = ''] = /^#\/(\$defs|definitions)\/([^/~%]+)$/.exec(ref) ?? []
  const definitions = scope.root[group]
  const target = isJsonObject(definitions) && Object.hasOwn(definitions, name) ? definitions[name] : undefined
  if (scope.open.has(ref) || ref === '#') return fail(scope, 'refers to itself')
  if (target === undefined) return fail(scope, `refers to \`${ref}\`, which is not among its definitions`)
  const sent = group === '$defs' ? name : `${group}_${name}`
  if (!scope.definitions.has(sent)) {
    scope.open.add(ref)
    scope.definitions.set(sent, convert(target, scope))
    scope.open.delete(ref)
  }
  return { $ref: `#/$defs/${sent}` }
}

/**
 * Returns the description, extended by the keywords that the API doesn't support. Keywords that start with `$` are left out, because they
 * don't restrict the value.
 */
function described(description: Json | undefined, told: JsonObject): JsonObject {
  const words = Object.entries(told).flatMap(([key, value]) =>
    key.startsWith('$') || value === undefined ? [] : [`${key}: ${JSON.stringify(value)}`],
  )
  const text = [typeof description === 'string' ? description : '', words.length === 0 ? '' : `(${words.join(', ')})`]
  const joined = text.filter((part) => part !== '').join(' ')
  return joined === '' ? {} : { description: joined }
}

function isPrimitive(value: Json): boolean {
  return typeof value !== 'object' || value === null
}

function fail(scope: Scope, problem: string): JsonObject {
  scope.problem ??= problem
  return {}
}
