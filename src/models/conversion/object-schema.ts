import { isDeepEqual } from '../../core/json.ts'
import { isJsonObject, type Json, type JsonObject, setField } from '../../core/messages.ts'
import { referredSchema } from './schema-reference.ts'
import { wellFormedSchema } from './well-formed-schema.ts'

/** The restrictions of an API on the top level of a tool's parameters, which must be an object schema. */
export interface TopRules {
  /** The property names that the API accepts. Default: any name. */
  names?: RegExp
  /** Whether the API accepts `anyOf` and `oneOf` that add no properties. Default: false. */
  takesNarrowing?: boolean
}

export interface ObjectSchema {
  schema: JsonObject
  /** The keywords and property names that the API does not accept. */
  removed: readonly string[]
  /**
   * The rules that `schema` can't express because of the removed keywords and names. Each rule is a schema that the arguments must also
   * match.
   */
  beyond: readonly JsonObject[]
}

/**
 * Converts a tool's parameters to an object schema without `anyOf`, `oneOf`, `allOf`, `not`, `enum`, `const` and `$ref` at its top level.
 * OpenAI and Anthropic refuse a whole request if the schema of one tool has these keywords:
 * https://github.com/langchain-ai/langchainjs/issues/9804. Alternatives become one object that has the properties of all alternatives. The
 * object requires only the properties that all alternatives require.
 */
export function objectSchema(parameters: JsonObject, rules: TopRules = {}): ObjectSchema {
  const root = wellFormedSchema(parameters)
  const scope: Scope = { root, takesNarrowing: rules.takesNarrowing ?? false, removed: new Set(), partsLeft: mostParts }
  const { properties, required, rest, beyond } = flatten(root, scope, new Set())
  const odd = Object.keys(properties).filter((name) => rules.names?.test(name) === false)
  const known = without(properties, odd)
  const schema: JsonObject = { ...rest, type: 'object' }
  if (root.properties !== undefined || Object.keys(known).length > 0) schema.properties = known
  const needed = required.filter((name) => !odd.includes(name))
  if (needed.length > 0) schema.required = needed
  if (odd.length > 0) {
    // The schema must not forbid the removed properties, because the model may still send them.
    delete schema.additionalProperties
    const told = without(properties, Object.keys(known))
    const neededToo = required.filter((name) => odd.includes(name))
    beyond.push({ properties: told, ...(neededToo.length === 0 ? {} : { required: neededToo }) })
  }
  return { schema, removed: [...scope.removed, ...odd], beyond }
}

/**
 * Maximum number of parts and properties to combine. References can make a small schema expand enormously, and the schema may come from an
 * untrusted server.
 */
const mostParts = 3000

interface Scope {
  readonly root: JsonObject
  readonly takesNarrowing: boolean
  readonly removed: Set<string>
  partsLeft: number
}

/** A schema after its `allOf`, `anyOf`, `oneOf` and `$ref` were merged into it. */
interface Flat {
  properties: JsonObject
  required: string[]
  /** The keywords that stay unchanged. */
  rest: JsonObject
  /** Rules that the other fields can't express, as schemas. */
  beyond: JsonObject[]
}

/** `open`: the references that are being resolved, to detect recursion. */
function flatten(schema: JsonObject, scope: Scope, open: ReadonlySet<string>): Flat {
  const { $ref, allOf, anyOf, oneOf, not, enum: values, const: value, type: _, properties, required, ...rest } = schema
  const flat: Flat = { properties: { ...plain(properties) }, required: namesIn(required), rest, beyond: [] }
  for (const [keyword, rule] of Object.entries({ not, enum: values, const: value })) {
    if (rule === undefined) continue
    scope.removed.add(keyword)
    flat.beyond.push({ [keyword]: rule })
  }
  const target = typeof $ref === 'string' && !open.has($ref) ? referredSchema($ref, scope.root) : undefined
  if (target !== undefined) addPart(flat, flattenPart(target, scope, new Set([...open, String($ref)])))
  for (const part of schemasIn(allOf)) addPart(flat, flattenPart(part, scope, open))
  for (const [keyword, list] of Object.entries({ anyOf, oneOf })) {
    const variants = schemasIn(list)
    if (variants.length === 0) continue
    if (scope.takesNarrowing && variants.every(isNarrowing)) flat.rest[keyword] = variants
    else {
      scope.removed.add(keyword)
      addAlternatives(
        flat,
        keyword,
        variants.filter(mayBeObject).map((one) => flattenPart(one, scope, open)),
      )
    }
  }
  return flat
}

function flattenPart(part: JsonObject, scope: Scope, open: ReadonlySet<string>): Flat {
  scope.partsLeft -= 1 + Object.keys(plain(part.properties)).length + namesIn(part.required).length
  if (scope.partsLeft >= 0) return flatten(part, scope, open)
  scope.removed.add('further schemas')
  return { properties: {}, required: [], rest: {}, beyond: [] }
}

/** Merges a schema that values must also match. */
function addPart(flat: Flat, { properties, required, rest, beyond }: Flat): void {
  for (const [name, given] of Object.entries(properties)) {
    const [own, schema] = [fieldOf(flat.properties, name), plain(given)]
    setField(flat.properties, name, own === undefined ? schema : all([own, schema]))
  }
  flat.required = union([flat.required, required])
  flat.rest = { ...rest, ...flat.rest }
  flat.beyond.push(...beyond)
}

/** Merges alternatives. A value must match at least one of them. */
function addAlternatives(flat: Flat, keyword: string, variants: readonly Flat[]): void {
  for (const name of union(variants.map(({ properties }) => Object.keys(properties)))) {
    const schemas = variants.map(({ properties }) => fieldOf(properties, name)).filter(isJsonObject)
    const own = fieldOf(flat.properties, name)
    // A variant without the property allows any value, so the property is not restricted.
    if (own !== undefined && schemas.length < variants.length) continue
    setField(flat.properties, name, own === undefined ? any(schemas) : all([own, any(schemas)]))
  }
  const inAll = union(variants.map(({ required }) => required)).filter((name) => variants.every(({ required }) => required.includes(name)))
  flat.required = union([flat.required, inAll])
  const rules = variants.map((variant) => beyondOf(variant, flat))
  const areEmpty = rules.map((rule) => Object.keys(rule).length === 0)
  if (areEmpty.every(Boolean) || (keyword === 'anyOf' && areEmpty.includes(true))) return
  flat.beyond.push({ [keyword]: rules })
}

/** Returns the rules of a variant that the joined object does not state. */
function beyondOf({ properties, required, rest, beyond }: Flat, joined: Flat): JsonObject {
  const { title: _, ...others } = rest
  const isClosed = rest.additionalProperties === false
  const told: JsonObject = {}
  for (const [name, schema] of Object.entries(properties)) {
    const isSaid = isDeepEqual(fieldOf(joined.properties, name), schema)
    if (!isSaid || isClosed) setField(told, name, isSaid ? {} : schema)
  }
  const needed = required.filter((name) => !joined.required.includes(name))
  const own: JsonObject = {
    ...others,
    ...(Object.keys(told).length === 0 ? {} : { properties: told }),
    ...(needed.length === 0 ? {} : { required: needed }),
  }
  return beyond.length === 0 ? own : all([...(Object.keys(own).length === 0 ? [] : [own]), ...beyond])
}

/** Whether a schema only says which properties are required. */
function isNarrowing(schema: JsonObject): boolean {
  return Object.keys(schema).every((keyword) => ['required', 'title', 'description'].includes(keyword))
}

function mayBeObject({ type }: JsonObject): boolean {
  return type === undefined || [type].flat().includes('object')
}

function all(schemas: readonly JsonObject[]): JsonObject {
  return oneOrMany('allOf', schemas)
}

function any(schemas: readonly JsonObject[]): JsonObject {
  return oneOrMany('anyOf', schemas)
}

function oneOrMany(keyword: string, schemas: readonly JsonObject[]): JsonObject {
  const distinct = [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()]
  const [only = {}, ...others] = distinct
  return others.length === 0 ? only : { [keyword]: distinct }
}

function union(lists: readonly (readonly string[])[]): string[] {
  return [...new Set(lists.flat())]
}

function without(properties: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !names.includes(name)))
}

function fieldOf(properties: JsonObject, name: string): JsonObject | undefined {
  return Object.hasOwn(properties, name) ? plain(properties[name]) : undefined
}

function schemasIn(list: Json | undefined): JsonObject[] {
  return Array.isArray(list) ? list.filter(isJsonObject) : []
}

function namesIn(required: Json | undefined): string[] {
  return Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []
}

function plain(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}
